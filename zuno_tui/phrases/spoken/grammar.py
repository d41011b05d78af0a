"""The forms of sentences in the order in which they are tried; the whole of one must fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.phrases.spoken.advice import ADVICE_RULES
from zuno_tui.phrases.spoken.alerts import ALERT_RULES
from zuno_tui.phrases.spoken.moves import MOVE_RULES
from zuno_tui.phrases.spoken.plain import plain_words
from zuno_tui.phrases.spoken.questions import QUESTION_RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from zuno_tui.phrases.context import PhraseContext
    from zuno_tui.phrases.spoken.meaning import SpokenMeaning

_RULES = (*ALERT_RULES, *QUESTION_RULES, *MOVE_RULES, *ADVICE_RULES)


def spoken_meaning(words: Iterable[str], context: PhraseContext) -> SpokenMeaning | None:
    """What a sentence comes to; None where no form fits it whole."""
    sentence = plain_words(words)
    for pattern, rule in _RULES:
        match = pattern.fullmatch(sentence)
        if match is not None and (meaning := rule(match, context)) is not None:
            return meaning
    return None
