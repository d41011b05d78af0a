"""How an order's headline names a range: by its two prices, or by ticks."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey
from chain.devnet.world.pools import WETH_USDC
from chain.execution.plan.facts import PoolFacts
from chain.math.drift import Span
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.overview import Sources
from chain.rpc.client import RpcClient
from zuno_tui.gate.actions.range_prices import pool_name, range_prices

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
