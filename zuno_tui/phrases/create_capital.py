"""Which amount belongs to which token, and whether that can be capital."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zuno_tui.phrases.amounts import Numeral, written
from zuno_tui.phrases.create_parts import Mention, NamedPair, Wrong

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from zuno_tui.phrases.create_parts import PhrasePart
    from zuno_tui.phrases.create_words import KnownToken

MOST_UNITS = 2**127 - 1
"""What a pool can owe or be owed at once: it counts in an int128."""


@dataclass(frozen=True, slots=True)
class Holding:
    token: KnownToken
    units: int

    @property
    def text(self) -> str:
        return f"{written(self.units, self.token.decimals)} {self.token.symbol}"


@dataclass(frozen=True, slots=True)
class FoundCapital:
    holdings: tuple[Holding, ...]
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

    holdings: dict[str, Holding] = {}
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


def _holding(numeral: Numeral, token: KnownToken) -> Holding | Wrong:
    units = numeral.scaled(token.decimals)
    told = f"{numeral.text} {token.symbol}"
    if numeral.digits <= 0:
        return Wrong(f"{told} is no capital: an amount must be more than zero.")
    if units is None:
        return Wrong(f"{told} cannot be: {token.symbol} has {token.decimals} decimals.")
    if units > MOST_UNITS:
        return Wrong(f"{told} is more than any pool can take.")
    return Holding(token, units)
