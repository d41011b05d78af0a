"""Which positions a sentence means: by number, pair, state, pointing at one, or all of them."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.networks import all_networks
from zuno_tui.phrases.create_words import known_symbols
from zuno_tui.phrases.spoken.meaning import NotReadYetError

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext, SpokenPosition

_IDS = re.compile(r"#?[0-9]{1,77}(?:(?: and| &|,| or|)\s#?[0-9]{1,77})*", re.ASCII)
_ID = re.compile(r"[0-9]+", re.ASCII)
_ALL = re.compile(
    r"(?:all|everything|every|each|all of (?:them|it)|every (?:one|single one)|them all|whole lot)"
)
_OUT_OF_RANGE = re.compile(
    r"(?P<every>all |every )?(?:(?:positions?|ones?|everything) )?(?:(?:that|which) )?"
    r"(?P<are>is |are )?out of range(?P<kind> ones?| positions?)?"
)
_POINTING = re.compile(r"(?:it|this|that|selected|current|this one|that one|selected one)")
_PAIR = re.compile(r"(?P<first>[a-z][a-z0-9.]*)(?:(?:\s?[/-]\s?|\s)(?P<second>[a-z][a-z0-9.]*))?")
_FEE = re.compile(r"\s?(?P<fee>[0-9.]+%)\s?")
_ABOUT = re.compile(r"\b(?:positions?|lp|nft|pool|pair|stable|liquidity|number|range in)\b")
_ALIASES = {
    "ETH": ("ETH", "WETH"),
    "ETHER": ("ETH", "WETH"),
    "ETHEREUM": ("ETH", "WETH"),
    "BTC": ("BTC", "WBTC", "CBBTC", "TBTC"),
    "BITCOIN": ("BTC", "WBTC", "CBBTC", "TBTC"),
    "USD": ("USDC", "USDT", "DAI"),
}


class PositionsMeant(Struct, frozen=True):
    ids: tuple[int, ...]
    sure: bool = True
    """Whether all of them are meant; otherwise one of them is, and it must be asked which."""


def positions_meant(text: str, context: PhraseContext) -> PositionsMeant | None:
    """None where the words name no position at all."""
    named = re.sub(r"^(?:of|in|on|for|from|with|about|to)\b", "", text.strip()).strip()
    if not named:
        return _any_of(context)
    if found := _out_of_range(named, context):
        return found
    about = " ".join(_ABOUT.sub(" ", named).split())
    if not about or _ALL.fullmatch(about):
        every = bool(about) or named.endswith("positions")
        return PositionsMeant(_known(context), sure=every)
    if _IDS.fullmatch(about):
        ids = dict.fromkeys(int(found) for found in _ID.findall(about))
        # "26 or 27" names two of which one is meant.
        return PositionsMeant(tuple(ids), sure=" or " not in about)
    if _POINTING.fullmatch(about):
        return _any_of(context) if context.it is None else PositionsMeant((context.it,))
    return _by_pair(about, context)


def held_as(token_id: int, context: PhraseContext) -> SpokenPosition | None:
    return next((one for one in context.held or () if one.token_id == token_id), None)


def names_symbol(word: str, symbol: str) -> bool:
    """Whether people call a token so: ETH is also said of WETH, but WETH not of ETH."""
    return symbol.upper() in _ALIASES.get(word.upper(), (word.upper(),))


def _any_of(context: PhraseContext) -> PositionsMeant:
    return PositionsMeant(_known(context), sure=False)


def _known(context: PhraseContext) -> tuple[int, ...]:
    if context.held is None and not context.positions:
        raise NotReadYetError("positions")
    return context.positions


def _out_of_range(named: str, context: PhraseContext) -> PositionsMeant | None:
    match = _OUT_OF_RANGE.fullmatch(named)
    if match is None:
        return None
    ids = tuple(one.token_id for one in _held(context) if one.standing == "out of range")
    said = f"{match['every'] or ''}{match['are'] or ''}{match['kind'] or ''} {named}"
    plural = bool(re.search(r"\b(?:all|every|everything|are|ones|positions)\b", said))
    return PositionsMeant(ids, sure=plural or len(ids) == 1)


def _by_pair(about: str, context: PhraseContext) -> PositionsMeant | None:
    fee = _FEE.search(about)
    every = re.match(r"(?:all|every|both) ", about)
    bare = re.sub(r"^(?:all|every|both) | one$| ones$", "", _FEE.sub(" ", about).strip())
    match = _PAIR.fullmatch(bare)
    if match is None:
        return None
    symbols = [symbol for symbol in match.groups() if symbol is not None]
    if not all(symbol.upper() in _symbols() for symbol in symbols) and context.held is None:
        return None
    held = [one for one in _held(context) if _fits(one, symbols)]
    if not held and not all(symbol.upper() in _symbols() for symbol in symbols):
        return None
    if fee is not None:
        held = [one for one in held if one.fee.rstrip("*") == fee["fee"]]
    return PositionsMeant(tuple(one.token_id for one in held), sure=bool(every) or len(held) == 1)


def _fits(one: SpokenPosition, symbols: list[str]) -> bool:
    return all(any(names_symbol(said, symbol) for symbol in one.symbols) for said in symbols)


def _held(context: PhraseContext) -> tuple[SpokenPosition, ...]:
    if context.held is None:
        raise NotReadYetError("positions")
    return context.held


@cache
def _symbols() -> frozenset[str]:
    known = (symbol.upper() for network in all_networks() for symbol in known_symbols(network))
    return frozenset((*known, *_ALIASES))
