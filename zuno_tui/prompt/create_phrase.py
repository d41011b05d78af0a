"""`0.5 WETH with USDC, conservative, stay long, 0.05%`: what a person wants to open, in words.

Order and case are free. What is not understood is named, and nothing is guessed in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from agents.numbers.shapes import ExposureBias
from zuno_tui.prompt.create_draft import read_draft
from zuno_tui.prompt.create_grammar import read_parts
from zuno_tui.prompt.create_parts import UnknownToken, UnknownWord, Wrong
from zuno_tui.prompt.create_words import known_symbols, vocabulary
from zuno_tui.prompt.named_networks import take_networks
from zuno_tui.prompt.phrase_error import PhraseError
from zuno_tui.prompt.pieces import LONGEST_PHRASE, choose_one, cut, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agents.lp.facts import CreateGoal
    from agents.lp.plan import OwnRange
    from agents.numbers.profiles import RiskProfile
    from chain.contracts.networks import Network
    from zuno_tui.prompt.create_draft import Draft
    from zuno_tui.prompt.create_parts import PhrasePart

__all__ = ["CreatePhrase", "PhraseError", "parse_create"]

_MOST_SENTENCES = 4


class CreatePhrase(Struct, frozen=True):
    goal: CreateGoal
    """Of two tokens as capital, the one to stay long in comes first."""
    profile: RiskProfile | None
    network: Network
    """The one the phrase names, else the one it was read on."""
    own_range: OwnRange | None
    """Where the person named the prices."""
    understood: str
    """The phrase in zuno's own words; read again, it means the same."""


def parse_create(text: str, network: Network) -> CreatePhrase:
    """What a phrase asks for on a network, or PhraseError with what keeps it from being asked."""
    if len(text) > LONGEST_PHRASE:
        raise PhraseError(f"A phrase has at most {LONGEST_PHRASE} characters.", "")
    named = take_networks(cut(text))
    read_on = named.networks[0] if named.networks else network
    parts = read_parts(named.rest, read_on)
    draft = read_draft(parts, read_on)

    # What is not understood comes first: the rest may only be wrong because of it.
    faults = [*named.wrong, *_not_understood(parts, read_on)]
    if len(named.networks) > 1:
        faults.append(choose_one("networks", (one.title for one in named.networks)))
    sentences = faults or draft.faults
    if sentences:
        single = named.networks[0] if len(named.networks) == 1 else None
        said = " ".join(list(dict.fromkeys(sentences))[:_MOST_SENTENCES])
        raise PhraseError(said, draft.told(single))
    own = own_range(draft)
    return CreatePhrase(_goal(draft), draft.profile, read_on, own, draft.told(read_on))


def _not_understood(parts: Sequence[PhrasePart], network: Network) -> Iterable[str]:
    yield from (part.sentence for part in parts if isinstance(part, Wrong))
    symbols = known_symbols(network)
    tokens = [part.text for part in parts if isinstance(part, UnknownToken)]
    if tokens:
        yield f"zuno knows no token {unknown(tokens, symbols)} on {network.title}."
        yield f"Known there: {', '.join(symbols)}."
    words = [part.text for part in parts if isinstance(part, UnknownWord)]
    if words:
        yield f"zuno does not understand {unknown(words, vocabulary(network))}."


def own_range(draft: Draft) -> OwnRange | None:
    """The prices that were named, for the two tokens: of the first in the other, or in dollars."""
    if draft.bounds is None:
        return None
    from agents.lp.plan import OwnRange, PricedToken

    base, quote = draft.tokens
    if base.stable and not quote.stable:
        base, quote = quote, base
    return OwnRange.of_prices(
        PricedToken(base.address, base.decimals),
        PricedToken(quote.address, quote.decimals),
        draft.bounds.low.value,
        draft.bounds.high.value,
    )


def _goal(draft: Draft) -> CreateGoal:
    # pydantic takes a tenth of a second to import; a phrase that is refused does without.
    from agents.lp.facts import Capital, CreateGoal

    # False sorts first: the token to stay long in, then as they were named.
    holdings = sorted(draft.capital, key=lambda holding: holding.token != draft.long_in)
    return CreateGoal(
        capital=tuple(Capital(token=one.token.address, amount=one.units) for one in holdings),
        pair=draft.pair,
        exposure=draft.exposure or ExposureBias.NEUTRAL,
        fee=draft.fee,
    )
