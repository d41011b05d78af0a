"""How a range is named by its prices, and what a token counts at when sources disagree."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import Known, Unknown
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey
from chain.devnet.world.pools import WETH_USDC
from chain.execution.plan.facts import PoolFacts
from chain.math.drift import Span
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.overview import Sources
from chain.prices.price import DollarPrice, PriceBook
from chain.rpc.client import RpcClient
from chain.tokens import Token
from zuno_tui.gate.actions.range_prices import pool_name, range_prices
from zuno_tui.gate.worth import ActionWorth, order_worth

SPAN = Span(-120, 240)
KEY = WETH_USDC.key
DYNAMIC = replace(KEY, fee=DYNAMIC_FEE)
STRANGERS = (
    replace(KEY, currency0="0x" + "00" * 19 + "11"),
    replace(KEY, currency1="0x" + "ee" * 20),
)
WETH_USDC_PRICE = sqrt_price_at_tick(-196_000)
DEVNET = network_named("devnet")


@contextmanager
def sources() -> Iterator[Sources]:
    """With nobody to ask: a token is known by the network's own list or not at all."""
    with Store.in_memory() as store:
        client = RpcClient(DEVNET, ["http://127.0.0.1:9"])
        yield Sources(client, DEVNET, store, None, lambda: 0.0)


def named(key: PoolKey) -> str:
    with sources() as known:
        return range_prices(known, PoolFacts(key, sqrt_price_at_tick(0), 3_000), SPAN)


def test_a_range_is_named_by_its_lower_and_its_upper_price() -> None:
    assert named(WETH_USDC.key) == "988,072,305,666 – 1,024,289,088,825"
    low, high = (float(price.replace(",", "")) for price in named(WETH_USDC.key).split(" – "))
    assert 0 < low < high
    assert abs(high / low - 1.0001**360) < 0.001


def test_where_a_token_is_unknown_a_range_is_named_by_its_ticks() -> None:
    for stranger in STRANGERS:
        assert named(stranger) == "ticks -120 to 240"


@pytest.mark.parametrize(
    ("key", "fee", "name"),
    [
        (WETH_USDC.key, 3_000, "WETH/USDC 0.3%"),
        (WETH_USDC.key, 500, "WETH/USDC 0.05%"),
        (DYNAMIC, 2_500, "WETH/USDC 0.25% dynamic"),
        *(
            (stranger, 3_000, f"a position in pool {stranger.pool_id[:10]}…")
            for stranger in STRANGERS
        ),
    ],
)
def test_a_pool_is_named_by_its_pair_and_its_fee_now(key: PoolKey, fee: int, name: str) -> None:
    # At some 3,000 USDC for a WETH, which is what people quote the pair in.
    with sources() as known:
        assert pool_name(known, PoolFacts(key, WETH_USDC_PRICE, fee)) == name


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
