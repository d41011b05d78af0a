"""The same verb for every position that is meant, or the question which of them is."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from zuno_tui.phrases.pieces import listed
from zuno_tui.phrases.spoken.meaning import AskedBack, Rephrased
from zuno_tui.phrases.spoken.targets import held_as

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning
    from zuno_tui.phrases.spoken.sentence import Sentence
    from zuno_tui.phrases.spoken.targets import PositionsMeant

    SentenceRule: TypeAlias = Callable[[Sentence, PhraseContext], SpokenMeaning | None]
    """Reads a sentence about one thing; None where it is not about that."""


def for_each(
    verb: str, meant: PositionsMeant, context: PhraseContext, *, after: str = ""
) -> SpokenMeaning:
    if not meant.ids:
        return AskedBack(f"I understood `{verb}`, but no position of yours is like that. Which?")
    phrases = tuple(f"{verb} {token_id}{after}" for token_id in meant.ids)
    return Rephrased(phrases) if meant.sure else AskedBack(_which(verb, meant, context), phrases)


def one_position(
    verb: str, meant: PositionsMeant, context: PhraseContext, after: str = ""
) -> int | AskedBack:
    if meant.sure and len(meant.ids) == 1:
        return meant.ids[0]
    phrases = tuple(f"{verb} {token_id}{after}" for token_id in meant.ids)
    return AskedBack(_which(verb, meant, context), phrases)


def no_such_position(token_ids: Iterable[int], context: PhraseContext) -> AskedBack | None:
    """What to say of numbers that no position of the wallet has; None where all are held."""
    if context.held is None and not context.positions:
        return None
    missing = [f"#{one}" for one in token_ids if one not in context.positions]
    if not missing:
        return None
    held = listed(f"#{one}" for one in context.positions) if context.positions else "none"
    return AskedBack(f"You have no position {listed(missing)}. You hold {held}. Which is meant?")


def _which(verb: str, meant: PositionsMeant, context: PhraseContext) -> str:
    named = [
        f"#{token_id}" if (held := held_as(token_id, context)) is None else held.words
        for token_id in meant.ids
    ]
    told = f" You hold {listed(named)}." if named else ""
    return f"I understood `{verb}`, but not which position.{told}"
