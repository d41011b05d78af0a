"""What an order counts a token at when the sources of its price disagree."""

from fractions import Fraction

from chain.base.units import Known, Unknown
from chain.contracts.networks import NATIVE
from chain.prices.price import DollarPrice, PriceBook
from chain.tokens import Token
from zuno_tui.gate.worth import ActionWorth, order_worth

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


def test_a_unit_is_worth_its_part_of_a_whole_token_disputed_or_not() -> None:
    for decimals, unit in ((0, 150.0), (2, 1.5), (3, 0.15)):
        tokens = {TOKEN: Token(TOKEN, "APPLE", decimals, verified=True, suspicious=False)}
        assert order_worth(tokens, _book(100, 150)).usd_per_unit == {TOKEN: unit}
        assert order_worth(tokens, _book(150, 150)).usd_per_unit == {TOKEN: unit}
    nameless = {TOKEN: Token(TOKEN, "APPLE", None, verified=True, suspicious=False)}
    for book in (_book(100, 150), _book(150, 150)):
        assert order_worth(nameless, book).usd_per_unit == {}


def test_gas_is_worth_what_its_coin_is() -> None:
    coin = DollarPrice(Known(Fraction(2_000), "CoinGecko"), None)
    worth = order_worth(TOKENS, PriceBook({NATIVE: coin}, Unknown("nobody asked")))

    assert worth == ActionWorth(TOKENS, {NATIVE: 2_000 / 10**18}, 2_000 / 10**18, ())
    assert order_worth(TOKENS, _book(1, 1)).usd_per_wei is None
    half = ActionWorth({}, {TOKEN: 0.5, NATIVE: 3.0}, None)
    assert half.micro_dollars == {TOKEN: Fraction(500_000), NATIVE: Fraction(3_000_000)}
