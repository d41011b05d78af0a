"""A range a person names: the same prices whichever way round the pool counts them."""

from __future__ import annotations

import pytest
from msgspec import Struct

from agents.lp.evaluation_context import own_ticks
from agents.lp.plan import OwnRange
from agents.numbers.shapes import ShapeError
from chain.contracts.networks import NATIVE, network_named
from chain.math.ticks import sqrt_price_at_tick
from chain.tokens import Token
from chain.tokens.pair import Pair
from zuno_tui.app.range import range_of_pair
from zuno_tui.prompt.create_phrase import parse_create
from zuno_tui.prompt.phrase_error import PhraseError
from zuno_tui.settings import SettingsError

WETH, USDC = "0x" + "11" * 20, "0x" + "22" * 20
ETHEREUM = network_named("ethereum")


class _Pool(Struct, frozen=True):
    currency0: str
    currency1: str
    tick_spacing: int = 60


def _pair(*, inverted: bool) -> Pair:
    weth = Token(WETH, "WETH", 18, verified=True, suspicious=False)
    usdc = Token(USDC, "USDC", 6, verified=True, suspicious=False)
    return Pair(usdc, weth, inverted=True) if inverted else Pair(weth, usdc, inverted=False)


@pytest.mark.parametrize("inverted", [False, True])
def test_the_edges_lie_where_the_prices_were_named(inverted: bool) -> None:
    pair = _pair(inverted=inverted)
    pool = _Pool(pair.token0.address, pair.token1.address)

    ticks = own_ticks(range_of_pair(pair, ("3,300", "$2.9k")), pool)  # type: ignore[arg-type]

    edges = sorted(
        float(pair.price_text(sqrt_price_at_tick(tick)).replace(",", ""))
        for tick in (ticks.lower, ticks.upper)
    )
    assert ticks.lower < ticks.upper
    assert ticks.lower % pool.tick_spacing == ticks.upper % pool.tick_spacing == 0
    assert edges == pytest.approx([2900, 3300], rel=0.004)


def test_a_range_within_one_tick_is_none() -> None:
    own = OwnRange(token=WETH, quote=USDC, low=2.9e-9, high=2.9001e-9)

    with pytest.raises(ShapeError):
        own_ticks(own, _Pool(WETH, USDC))  # type: ignore[arg-type]


def test_a_coin_stands_for_what_wraps_it() -> None:
    own = OwnRange(token=NATIVE, quote=USDC, low=2.9e-9, high=3.3e-9)
    wrapped = OwnRange(token=WETH, quote=USDC, low=2.9e-9, high=3.3e-9)
    pools = (_Pool(WETH, USDC), _Pool(USDC, WETH))

    for pool in pools:
        assert own_ticks(own, pool) == own_ticks(wrapped, pool)  # type: ignore[arg-type]


@pytest.mark.parametrize("prices", [("2900", "2900"), ("0", "3300"), ("-5", "3300"), ("x", "1")])
def test_what_is_no_range_is_refused(prices: tuple[str, str]) -> None:
    with pytest.raises(SettingsError):
        range_of_pair(_pair(inverted=False), prices)


@pytest.mark.parametrize(
    "phrase",
    [
        "0.5 WETH/USDC between 2900 and 3300",
        "0.5 WETH with USDC from 2.9k to 3.3k",
        "1,000 USDC with WETH, between $3,300-$2,900",
    ],
)
def test_create_takes_a_range_of_ones_own(phrase: str) -> None:
    read = parse_create(phrase, ETHEREUM)

    assert read.own_range is not None
    assert (read.own_range.low, read.own_range.high) == (2.9e-9, 3.3e-9)
    assert parse_create(read.understood, ETHEREUM).own_range == read.own_range


@pytest.mark.parametrize(
    "phrase", ["0.5 WETH between 1 and 2", "0.5 WETH/USDC between 2900", "1 WETH/USDC from cheap"]
)
def test_half_a_range_is_refused(phrase: str) -> None:
    with pytest.raises(PhraseError):
        parse_create(phrase, ETHEREUM)
