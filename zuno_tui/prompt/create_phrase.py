"""`0.5 WETH with USDC, conservative, stay long, 0.05%`: what a person wants to open, in words.

Order and case are free. What is not understood is named, and nothing is guessed in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import ExposureBias
from chain.base.units import Numeral, write_amount
from chain.contracts.networks import NATIVE, Address, Network
from zuno_tui.intents.phrase_error import PhraseError
from zuno_tui.intents.pieces import LONGEST_PHRASE, choose_one, cut_phrase, list_names, list_unknown
from zuno_tui.present.words import fee_text
from zuno_tui.prompt.create_parts import (
    Exposure,
    Fee,
    KnownToken,
    Mention,
    NamedPair,
    OnProtocol,
    PhrasePart,
    PriceBounds,
    UnknownToken,
    UnknownWord,
    Wrong,
    known_symbols,
    read_parts,
    vocabulary,
)
from zuno_tui.prompt.named_networks import take_networks

if TYPE_CHECKING:
    from agents.lp.facts import CreateGoal
    from agents.lp.plan import OwnRange

_MOST_SENTENCES = 4
MOST_UNITS = 2**127 - 1
"""What a pool can owe or be owed at once: it counts in an int128."""


class NamedHolding(Struct, frozen=True):
    token: KnownToken
    units: int

    @property
    def text(self) -> str:
        return f"{write_amount(self.units, self.token.decimals)} {self.token.symbol}"


class FoundCapital(Struct, frozen=True):
    holdings: tuple[NamedHolding, ...]
    problems: tuple[str, ...]
    places: frozenset[int]
    """Where in the phrase the tokens stand that were given an amount."""


def find_capital(parts: Sequence[PhrasePart]) -> FoundCapital:
    """Gives each number the token beside it; a number that could have two is not guessed at."""
    numerals = {place: part for place, part in enumerate(parts) if isinstance(part, Numeral)}
    choices = {place: _beside(parts, place) for place in numerals}
    owners: dict[int, tuple[Numeral, KnownToken]] = {}
    # Whoever has a single choice takes it, which may leave the next one a single choice.
    while (certain := _with_one_choice(choices)) is not None:
        place, token = choices.pop(certain).popitem()
        owners[place] = numerals[certain], token
        for others in choices.values():
            others.pop(place, None)
    problems = [_unowned(numerals[place], left) for place, left in choices.items()]

    holdings: dict[str, NamedHolding] = {}
    for _, (numeral, token) in sorted(owners.items()):
        holding = _holding(numeral, token)
        if isinstance(holding, Wrong):
            problems.append(holding.sentence)
        elif token.address in holdings:
            problems.append(f"{token.symbol} has two amounts: write their sum once.")
        else:
            holdings[token.address] = holding
    return FoundCapital(tuple(holdings.values()), tuple(problems), frozenset(owners))


def _beside(parts: Sequence[PhrasePart], place: int) -> dict[int, KnownToken]:
    """The tokens a number can belong to, by their places: `0.5 WETH`, `WETH 0.5`, `0.5 WETH/…`."""
    before = parts[place - 1] if place else None
    after = parts[place + 1] if place + 1 < len(parts) else None
    found: dict[int, KnownToken] = {}
    if isinstance(after, Mention):
        found[place + 1] = after.token
    elif isinstance(after, NamedPair):
        found[place + 1] = after.first
    # In `with USDC 0.5 WETH` the token before is spoken for, unless the number has no other.
    if isinstance(before, Mention) and not (before.partner and found):
        found[place - 1] = before.token
    return found


def _with_one_choice(choices: Mapping[int, Mapping[int, KnownToken]]) -> int | None:
    return next((place for place, tokens in choices.items() if len(tokens) == 1), None)


def _unowned(numeral: Numeral, choices: Mapping[int, KnownToken]) -> str:
    symbols = [choices[place].symbol for place in sorted(choices)]
    if symbols:
        return (
            f"{numeral.text} could be {' or '.join(symbols)}: "
            f"write the amount first, like {numeral.text} {symbols[0]}."
        )
    return (
        f"{numeral.text} stands alone: put its token beside it, like 0.5 WETH, "
        "or % or bps if it is a fee."
    )


def _holding(numeral: Numeral, token: KnownToken) -> NamedHolding | Wrong:
    units = numeral.scale(token.decimals)
    amount = f"{numeral.text} {token.symbol}"
    if numeral.digits <= 0:
        return Wrong(f"{amount} is too little: an amount must be above zero.")
    if units is None:
        return Wrong(f"{amount} cannot be: {token.symbol} has {token.decimals} decimals.")
    if units > MOST_UNITS:
        return Wrong(f"{amount} is more than any pool can take.")
    return NamedHolding(token, units)


T = TypeVar("T")

_STAY_LONG = "stay long"
_EXPOSURES = {ExposureBias.NEUTRAL: "neutral", ExposureBias.LONG_TOKEN: _STAY_LONG}


class Draft(Struct, frozen=True):
    capital: tuple[NamedHolding, ...]
    tokens: tuple[KnownToken, ...]
    """All that the pool must hold, the capital's first."""
    profile: RiskProfile | None
    exposure: ExposureBias | None
    long_in: KnownToken | None
    fee: int | None
    protocol: str | None
    """None is the one that positions are opened in where nobody says otherwise."""
    bounds: PriceBounds | None
    faults: tuple[str, ...]
    """Sentences; with any of them this draft is no goal."""

    @property
    def pair(self) -> tuple[Address, Address] | None:
        """Both tokens as a pool sorts them, when both are known."""
        if len(self.tokens) != 2:
            return None
        low, high = sorted(token.address for token in self.tokens)
        return low, high

    def text(self, network: Network | None) -> str:
        """What is understood, in plain words."""
        orders = (
            self._capital_text(),
            self.profile.value if self.profile else "",
            self._exposure_text(),
            "" if self.fee is None else f"fee {fee_text(self.fee)}",
            self.protocol or "",
            "" if self.bounds is None else _bounds_text(self.bounds),
            "" if network is None else f"on {network.title}",
        )
        return " · ".join(order for order in orders if order)

    def _capital_text(self) -> str:
        held = [holding.token for holding in self.capital]
        others = [token.symbol for token in self.tokens if token not in held]
        if not held:
            return "/".join(others)
        amounts = " and ".join(holding.text for holding in self.capital)
        return f"{amounts} with {list_names(others)}" if others else amounts

    def _exposure_text(self) -> str:
        if self.exposure is None:
            return ""
        obvious = len(self.capital) == 1 and not self.capital[0].token.stable
        text = _EXPOSURES[self.exposure]
        return f"{text} {self.long_in.symbol}" if self.long_in and not obvious else text


def read_draft(parts: Sequence[PhrasePart], network: Network) -> Draft:
    faults: list[str] = []
    exposures = [part for part in parts if isinstance(part, Exposure)]
    profiles = (part for part in parts if isinstance(part, RiskProfile))
    profile = _only("risk profiles", profiles, str, faults)
    exposure = _only("exposures", (part.bias for part in exposures), _EXPOSURES.__getitem__, faults)
    named = (part.kept for part in exposures if part.kept)
    kept = _only("tokens to keep", named, lambda token: token.symbol, faults)
    fees = (part.pips for part in parts if isinstance(part, Fee))
    fee = _only("fees", fees, fee_text, faults)
    protocols = (part.name for part in parts if isinstance(part, OnProtocol))
    protocol = _only("protocols", protocols, str, faults)
    ranges = (part for part in parts if isinstance(part, PriceBounds))
    bounds = _only("ranges", ranges, _bounds_text, faults)
    capital = find_capital(parts)
    tokens = _tokens(parts, capital)
    faults += capital.problems
    faults += _pair_faults(parts, capital, tokens, network)
    if not capital.holdings and not capital.problems:
        example = tokens[0].symbol if tokens else next(iter(known_symbols(network)), "WETH")
        faults.append(f"How much? Name an amount and its token, like 0.5 {example}.")
    long_in = None
    if exposure is ExposureBias.LONG_TOKEN and not faults:
        long_in = _long_in(capital.holdings, kept, faults)
    if bounds is not None and len(tokens) != 2 and not faults:
        faults.append("A range of your own needs both tokens, like 0.5 WETH/USDC.")
    return Draft(
        capital.holdings,
        tokens,
        profile,
        exposure,
        long_in,
        fee=fee,
        protocol=protocol,
        bounds=bounds,
        faults=tuple(faults),
    )


def _bounds_text(bounds: PriceBounds) -> str:
    return f"between {bounds.low.text} and {bounds.high.text}"


def _only(kind: str, named: Iterable[T], text: Callable[[T], str], faults: list[str]) -> T | None:
    """The one thing of its kind; naming it twice is no fault, naming two is."""
    different = list(dict.fromkeys(named))
    if len(different) > 1:
        faults.append(choose_one(kind, map(text, different)))
        return None
    return different[0] if different else None


def _tokens(parts: Sequence[PhrasePart], capital: FoundCapital) -> tuple[KnownToken, ...]:
    tokens = [holding.token for holding in capital.holdings]
    for part in parts:
        if isinstance(part, NamedPair):
            tokens += (part.first, part.second)
        elif isinstance(part, Mention):
            tokens.append(part.token)
    return tuple(dict.fromkeys(tokens))


def _pair_faults(
    parts: Sequence[PhrasePart],
    capital: FoundCapital,
    tokens: Sequence[KnownToken],
    network: Network,
) -> Iterable[str]:
    pairs = {
        frozenset((part.first, part.second)): part for part in parts if isinstance(part, NamedPair)
    }
    for both, pair in pairs.items():
        if len(both) == 1:
            yield f"{pair.name} is not a pair: a pool holds two different tokens."
    named_as_partner = any(
        isinstance(part, Mention) and part.partner and place not in capital.places
        for place, part in enumerate(parts)
    )
    if named_as_partner and len(tokens) == 1:
        symbol = tokens[0].symbol
        yield f"{symbol} with {symbol} is not a pair: a pool holds two different tokens."
    if len(pairs) > 1:
        yield choose_one("pairs", (pair.name for pair in pairs.values()))
    elif len(tokens) > 2:
        yield _too_many(tokens, next(iter(pairs.values()), None)) + _wrapping(tokens, network)


def _too_many(tokens: Sequence[KnownToken], pair: NamedPair | None) -> str:
    if pair is None:
        named = list_names(token.symbol for token in tokens)
        return f"A pool holds two tokens, but {named} are named."
    outside = (token.symbol for token in tokens if token not in (pair.first, pair.second))
    return f"The pair {pair.name} does not hold {list_names(outside)}."


def _wrapping(tokens: Iterable[KnownToken], network: Network) -> str:
    symbols = {token.address: token.symbol for token in tokens}
    coin, wrapped = symbols.get(NATIVE), symbols.get(network.wrapped_native or NATIVE)
    if coin is None or wrapped is None or coin == wrapped:
        return ""
    return f" {coin} is the network's own coin and {wrapped} wraps it: name only one of them."


def _long_in(
    capital: Sequence[NamedHolding], kept: KnownToken | None, faults: list[str]
) -> KnownToken | None:
    """Which token of the capital to stay long in: the named one, else the one that moves."""
    held = [holding.token for holding in capital]
    if kept is not None:
        if kept in held:
            return kept
        symbols = list_names(token.symbol for token in held)
        faults.append(f"{kept.symbol} cannot be kept: the capital is {symbols}.")
        return None
    moving = [token for token in held if not token.stable]
    if len(held) == 1 or len(moving) == 1:
        return moving[0] if moving else held[0]
    offers = list_names(f"'{_STAY_LONG} {token.symbol}'" for token in held)
    faults.append(f"Stay long in which token? {offers} say it.")
    return None


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
        raise PhraseError(f"That is too long: at most {LONGEST_PHRASE} characters.", "")
    named = take_networks(cut_phrase(text))
    read_on = named.networks[0] if named.networks else network
    parts = read_parts(named.rest, read_on)
    draft = read_draft(parts, read_on)

    # What is not understood comes first: the rest may only be wrong because of it.
    faults = [*named.wrong, *_not_understood(parts, read_on)]
    if len(named.networks) > 1:
        faults.append(choose_one("networks", (known.title for known in named.networks)))
    sentences = faults or draft.faults
    if sentences:
        single = named.networks[0] if len(named.networks) == 1 else None
        problem = " ".join(list(dict.fromkeys(sentences))[:_MOST_SENTENCES])
        raise PhraseError(problem, draft.text(single))
    own = own_range(draft)
    return CreatePhrase(_goal(draft), draft.profile, read_on, own, draft.text(read_on))


def _not_understood(parts: Sequence[PhrasePart], network: Network) -> Iterable[str]:
    yield from (part.sentence for part in parts if isinstance(part, Wrong))
    symbols = known_symbols(network)
    tokens = [part.text for part in parts if isinstance(part, UnknownToken)]
    if tokens:
        yield f"zuno knows no token {list_unknown(tokens, symbols)} on {network.title}."
        yield f"Known there: {', '.join(symbols)}."
    words = [part.text for part in parts if isinstance(part, UnknownWord)]
    if words:
        yield f"zuno does not understand {list_unknown(words, vocabulary(network))}."


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
        capital=tuple(Capital(token=part.token.address, amount=part.units) for part in holdings),
        pair=draft.pair,
        exposure=draft.exposure or ExposureBias.NEUTRAL,
        fee=draft.fee,
        protocol=draft.protocol,
    )
