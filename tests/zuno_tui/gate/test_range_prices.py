"""How an order's headline names a range: by its two prices, or by ticks."""

from __future__ import annotations

from chain.base.store import Store
from chain.contracts.networks import network_named
from chain.contracts.pool_key import PoolKey
from chain.devnet.world.pools import WETH_USDC
from chain.execution.build.facts import PoolFacts, Span
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.overview import Sources
from chain.rpc.client import RpcClient
from zuno_tui.gate.actions.range_prices import range_prices

SPAN = Span(-120, 240)
DEVNET = network_named("devnet")


def named(key: PoolKey) -> str:
    """With nobody to ask: a token is known by the network's own list or not at all."""
    pool = PoolFacts(key, sqrt_price_at_tick(0), 3_000)
    with Store.in_memory() as store:
        client = RpcClient(DEVNET, ["http://127.0.0.1:9"])
        return range_prices(Sources(client, DEVNET, store, None, lambda: 0.0), pool, SPAN)


def test_a_range_is_named_by_its_lower_and_its_upper_price() -> None:
    assert named(WETH_USDC.key) == "988,072,305,666 – 1,024,289,088,825"
    low, high = (float(price.replace(",", "")) for price in named(WETH_USDC.key).split(" – "))
    assert 0 < low < high
    assert abs(high / low - 1.0001**360) < 0.001


def test_where_a_token_is_unknown_a_range_is_named_by_its_ticks() -> None:
    stranger = PoolKey("0x" + "11" * 20, WETH_USDC.key.currency1, 3_000, 60, "0x" + "00" * 20)
    assert named(stranger) == "ticks -120 to 240"
