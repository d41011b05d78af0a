"""What an order counts a token at when the sources of its price disagree."""

from __future__ import annotations

from fractions import Fraction

from chain.base.quantity import Known, Unknown
from chain.contracts.networks import NATIVE
from chain.prices.price import DollarPrice, PriceBook
from chain.tokens import Token
from zuno_tui.gate.worth import order_worth

TOKEN = "0x" + "5a" * 20
TOKENS = {
    NATIVE: Token(NATIVE, "ETH", 18, verified=True, suspicious=False),
    TOKEN: Token(TOKEN, "APPLE", 0, verified=True, suspicious=False),
}


def _book(first: int, second: int) -> PriceBook:
    price = DollarPrice(Known(Fraction(first), "CoinGecko"), Known(Fraction(second), "pool X"))
    return PriceBook({TOKEN: price}, Unknown("nobody asked"))


def test_a_disputed_price_counts_at_its_highest_and_is_told() -> None:
    for first, second in ((100, 150), (150, 100)):
        worth = order_worth(TOKENS, _book(first, second))

        assert worth.usd_per_unit == {TOKEN: 150.0}
        [told] = worth.disputes
        assert all(word in told for word in ("APPLE", "CoinGecko", "pool X", "$100", "$150"))


def test_an_agreed_price_is_the_better_sources_and_needs_no_word() -> None:
    worth = order_worth(TOKENS, _book(100, 101))

    assert worth.usd_per_unit == {TOKEN: 100.0}
    assert worth.disputes == ()
