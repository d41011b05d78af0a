"""A limit order: its words, the step of ticks it stands on, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from tests.zuno_tui.gate.desk import REFUSED
from zuno_tui.gate.actions.limit import limit_words

if TYPE_CHECKING:
    from tests.zuno_tui.gate.desk import Desk

USDC = "0x" + "22" * 20
KEY = PoolKey(NATIVE, USDC, 500, 10, NATIVE)


@pytest.mark.parametrize(
    ("phrase", "sold", "bought", "price"),
    [
        ("1 ETH sell at 3500", "ETH", None, 3_500),
        ("1 ETH sell at $3,500.", "ETH", None, 3_500),
        ("1 ETH sold at 3500 for DAI", "ETH", "DAI", 3_500),
        ("2,800 USDC buy ETH at 2800", "USDC", "ETH", 2_800),
        ("2,800 usdc BUY eth at 2800 with usdc", "usdc", "eth", 2_800),
    ],
)
def test_a_limit_is_said_in_these_ways(
    phrase: str, sold: str, bought: str | None, price: int
) -> None:
    words = limit_words(phrase)
    assert words is not None
    assert (words.sold, words.bought, words.price) == (sold, bought, Fraction(price))


@pytest.mark.parametrize(
    "phrase", ["0.5 WETH/USDC conservative", "one ETH sell at 3500", "1 ETH sell at noon", ""]
)
def test_other_words_are_no_limit(phrase: str) -> None:
    assert limit_words(phrase) is None


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (("0.5", "WETH", "sell", "at", "5"), "The price is there already"),
        ((str(2**127), "USDC", "buy", "WETH", "at", "5"), "Name an amount"),
        (("0", "WETH", "sell", "at", "9000"), "Name an amount"),
        (("1", "USDC", "sell", "at", "9000"), "Name an amount"),
    ],
)
def test_what_cannot_be_a_limit_is_refused_in_words(
    desk: Desk, words: tuple[str, ...], refusal: str
) -> None:
    told = desk.here("create", *words, "--json")
    assert told.code == REFUSED
    assert refusal in told.words
