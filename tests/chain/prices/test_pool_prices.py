"""Prices told by pools: the deepest, at most two in a row, none that can be kept wrong."""

from fractions import Fraction
from math import isqrt

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import Known, Quantity, Unknown
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey
from chain.math.fees import ProtocolFee
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick, tick_at_sqrt_price
from chain.pools.depth import Depth
from chain.prices.pool_prices import DepthMemory, ask_pool_prices, prices_from_pools
from chain.protocols.pool import PoolState
from chain.protocols.v4.storage import (
    candidate_pools,
    plain_pools,
    pool_state_slots,
    pool_states,
)
from chain.rpc.records import Block
from chain.tokens import listed_tokens
from tests.chain.pools.quoting import virtual_depth

ETHEREUM = network_named("ethereum")
LISTED = {item.token.symbol: item.token for item in listed_tokens(ETHEREUM).tokens}
USDC, WETH, WBTC, DAI, UNI = (
    LISTED[symbol].address for symbol in ("USDC", "WETH", "WBTC", "DAI", "UNI")
)
STRANGER = "0x" + "5a" * 20
DECIMALS = {token.address: token.decimals for token in LISTED.values()} | {STRANGER: 6}
BLOCK = Block(100, "0x" + "11" * 32, "0x" + "22" * 32, 1_760_000_000, 10**9, 0, 30_000_000)


def pool(
    one: str,
    other: str,
    price: Fraction | int,
    *,
    depth: int = 10**6,
    fee: int = 500,
    hooks: str = NO_HOOK,
    lp_fee: int | None = None,
) -> PoolState:
    """A pool where one whole `one` costs `price` whole `other`, `depth` of `other` deep by 2 %."""
    worth = Fraction(price) * 10 ** decimals(other) / 10 ** decimals(one)
    currency0, currency1 = sorted((one, other))
    ratio = worth if currency0 == one else 1 / worth
    sqrt_price = isqrt(int(ratio * 2**192))
    key = PoolKey(currency0, currency1, fee, 10, hooks)
    tick = tick_at_sqrt_price(sqrt_price)
    protocol = ProtocolFee(0, 0)
    shallow = PoolState(key, key.pool_id, sqrt_price, tick, lp_fee or fee, protocol, 10**18)
    amounts = virtual_depth(shallow)
    unit = amounts.amount1 if currency1 == other else amounts.amount0
    liquidity = 10**18 * depth * 10 ** decimals(other) // unit
    return PoolState(key, key.pool_id, sqrt_price, tick, lp_fee or fee, protocol, liquidity)


def decimals(address: str) -> int:
    known = DECIMALS[address]
    assert known is not None
    return known


def asked(address: str, *states: PoolState) -> dict[str, Quantity[Fraction]]:
    """As if the active liquidity of every pool reached as far as depth is counted."""
    nearby = {state.pool_id: virtual_depth(state) for state in states}
    return prices_from_pools(ETHEREUM, [address], states, nearby, BLOCK)


def priced(address: str, *states: PoolState) -> float:
    price = asked(address, *states)[address]
    assert isinstance(price, Known)
    assert (price.block, price.time) == (BLOCK.number, float(BLOCK.timestamp))
    return float(price.value)


def unpriced(address: str, *states: PoolState) -> str:
    price = asked(address, *states)[address]
    assert isinstance(price, Unknown)
    return price.reason


def test_the_price_of_a_pool_is_exact() -> None:
    state = pool(WETH, USDC, 3000)
    price = state.price(6, 18)
    assert state.key.currency0 == USDC
    assert price == Fraction(state.sqrt_price_x96**2 * 10**6, 2**192 * 10**18)
    assert float(1 / price) == pytest.approx(3000, rel=1e-15)


def test_a_token_is_priced_against_the_stable_in_either_order() -> None:
    assert priced(WETH, pool(WETH, USDC, 3000)) == pytest.approx(3000)
    assert priced(WBTC, pool(WBTC, USDC, 90_000)) == pytest.approx(90_000)
    assert priced(DAI, pool(USDC, DAI, Fraction(1001, 1000))) == pytest.approx(1 / 1.001)


def test_the_stable_is_a_dollar_by_declaration() -> None:
    price = asked(USDC)[USDC]
    assert price == Known(Fraction(1), "USDC counts as one dollar", 100, float(BLOCK.timestamp))


def test_the_coin_and_its_wrapped_form_are_one() -> None:
    wrapped, native = pool(WETH, USDC, 3000), pool(NATIVE, USDC, 3010, depth=2 * 10**6)
    assert priced(NATIVE, wrapped) == pytest.approx(3000)
    assert priced(WETH, native) == pytest.approx(3010)
    assert priced(WETH, wrapped, native) == pytest.approx(3010), "the deeper one"
    assert priced(NATIVE, wrapped, native) == pytest.approx(3010)


def test_the_deepest_pool_tells_the_price() -> None:
    deep, shallow = (
        pool(WETH, USDC, 3000, depth=10**6),
        pool(WETH, USDC, 9000, depth=10**4, fee=3000),
    )
    assert priced(WETH, shallow, deep) == pytest.approx(3000)


def test_two_pools_in_a_row_go_through_the_coin() -> None:
    foo, ether = (
        pool(UNI, WETH, Fraction(1, 1000), depth=100),
        pool(NATIVE, USDC, 3000),
    )
    price = asked(UNI, foo, ether)
    known = price[UNI]
    assert isinstance(known, Known)
    assert float(known.value) == pytest.approx(3)
    assert known.source == "pool UNI/WETH 0.05% and ETH/USDC 0.05%"


def test_a_long_way_is_only_as_deep_as_its_shallowest_pool() -> None:
    through = pool(UNI, WETH, Fraction(1, 1000), depth=10**6)
    thin_ether = pool(NATIVE, USDC, 3000, depth=5_000)
    direct = pool(UNI, USDC, 4, depth=6_000)
    assert priced(UNI, through, thin_ether, direct) == pytest.approx(4)


def test_three_pools_in_a_row_are_not_followed() -> None:
    foo, bitcoin = pool(UNI, WBTC, 1, depth=100), pool(WBTC, WETH, 30, depth=1000)
    assert "no plain pool" in unpriced(UNI, foo, bitcoin, pool(WETH, USDC, 3000))


def test_depth_is_counted_in_what_is_traded() -> None:
    assert "deep enough" in unpriced(WETH, pool(WETH, USDC, 3000, depth=50))
    assert priced(WETH, pool(WETH, USDC, 3000, depth=200)) == pytest.approx(3000)


@pytest.mark.parametrize(
    "state",
    [
        pool(WETH, USDC, 9000, hooks="0x" + "00" * 18 + "0080"),
        pool(WETH, USDC, 9000, hooks="0x" + "00" * 18 + "0008"),
        pool(WETH, USDC, 9000, fee=1_000_000),
        pool(WETH, USDC, 9000, fee=DYNAMIC_FEE, lp_fee=20_000, hooks="0x" + "ab" * 18 + "c000"),
        pool(WETH, USDC, 9000, depth=0),
    ],
    ids=["refuses swaps", "holds swaps", "takes all", "dear dynamic fee", "empty"],
)
def test_a_pool_that_can_stay_wrong_tells_no_price(state: PoolState) -> None:
    unpriced(WETH, state)
    assert priced(WETH, state, pool(WETH, USDC, 3000, depth=1000)) == pytest.approx(3000)


def test_a_token_that_is_not_listed_is_never_priced_by_pools() -> None:
    reason = unpriced(STRANGER, pool(STRANGER, USDC, 1, depth=10**9), pool(NATIVE, USDC, 3000))
    assert reason == "pools price only listed tokens"


def test_a_pool_with_a_stranger_prices_nothing() -> None:
    unpriced(WETH, pool(WETH, STRANGER, 3000))


def test_the_question_covers_stable_coin_and_wrapped_coin() -> None:
    question = ask_pool_prices(ETHEREUM, [UNI, USDC])
    expected = {
        *candidate_pools((USDC, NATIVE, WETH)),
        *(key for anchor in (USDC, NATIVE, WETH) for key in plain_pools(UNI, anchor)),
    }
    assert set(question.keys) == expected
    assert len(question.keys) == 24
    assert len(question.slots) == 48
    known = pool(UNI, USDC, 2, hooks="0x" + "ab" * 18 + "c200").key
    assert known in ask_pool_prices(ETHEREUM, [UNI], also=[known]).keys


def test_pools_are_read_back_from_storage_words() -> None:
    state = pool(WETH, USDC, 3000, lp_fee=777)
    absent = pool(WBTC, USDC, 1)
    keys = [absent.key, state.key]
    slots = pool_state_slots(keys)
    words = dict.fromkeys(slots, 0)
    words[slots[2]] = state.sqrt_price_x96 | (state.tick % 2**24) << 160 | 777 << 208 | 3 << 184
    words[slots[3]] = state.liquidity
    [read] = pool_states(keys, words)
    assert read.pool_id == state.key.pool_id
    assert (read.tick, read.lp_fee, read.protocol_fee) == (state.tick, 777, ProtocolFee(3, 0))
    assert read.liquidity == state.liquidity


BASE = network_named("base")
AERO, BASE_USDC = (
    next(item.token.address for item in listed_tokens(BASE).tokens if item.token.symbol == symbol)
    for symbol in ("AERO", "USDC")
)


def aero_pool(price: Fraction, fee: int, spacing: int, liquidity: int, ticks: int) -> Depth:
    """Dollars for one AERO, liquidity from that price on upwards alone, or around it."""
    currency0, currency1 = sorted((AERO, BASE_USDC))
    key = PoolKey(currency0, currency1, fee, spacing, NO_HOOK)
    worth = price * 10**6 / 10**18
    ratio = worth if key.currency0 == AERO else 1 / worth
    edge = tick_at_sqrt_price(isqrt(int(ratio * 2**192))) // spacing * spacing
    one_sided = ticks == 1
    # Where AERO is currency1, what is only AERO lies below the price.
    below = key.currency1 == AERO
    tick = edge - 1 if one_sided and below else edge
    sqrt_price = sqrt_price_at_tick(edge) - (1 if one_sided and below else 0)
    lower, upper = edge - spacing * ticks, edge + spacing * ticks
    if one_sided:
        lower, upper = (lower, edge) if below else (edge, upper)
    state = PoolState(key, key.pool_id, sqrt_price, tick, fee, ProtocolFee(0, 0), liquidity)
    return Depth(state, ((lower, liquidity), (upper, -liquidity)), lower - 9999, upper + 9999)


def test_one_tick_of_one_token_is_no_price() -> None:
    """Ten AERO for sale at a thousand dollars, and nobody who buys."""
    honest = aero_pool(Fraction(1), 3000, 60, 10**20, ticks=100)
    fake = aero_pool(Fraction(1000), 100, 1, 7 * 10**18, ticks=1)
    nearby = {depth.state.pool_id: depth.nearby() for depth in (honest, fake)}
    states = [honest.state, fake.state]
    held = sorted(fake.nearby())
    virtual = {state.pool_id: virtual_depth(state) for state in states}

    believed = prices_from_pools(BASE, [AERO], states, virtual, BLOCK)[AERO]
    price = prices_from_pools(BASE, [AERO], states, nearby, BLOCK)[AERO]
    alone = prices_from_pools(BASE, [AERO], [fake.state], nearby, BLOCK)[AERO]

    assert held[0] == 0
    assert 5 * 10**18 < held[1] < 20 * 10**18
    assert isinstance(believed, Known)
    assert float(believed.value) == pytest.approx(1000, rel=0.01)
    assert isinstance(price, Known)
    assert float(price.value) == pytest.approx(1, rel=0.01)
    assert isinstance(alone, Unknown)


@pytest.mark.parametrize("side", [0, 1])
def test_a_pool_that_trades_one_way_alone_tells_no_price(side: int) -> None:
    state = pool(WETH, USDC, 3000)
    both = virtual_depth(state)
    nearby = {state.pool_id: both._replace(**{f"amount{side}": 0})}
    assert isinstance(prices_from_pools(ETHEREUM, [WETH], [state], nearby, BLOCK)[WETH], Unknown)


@pytest.mark.parametrize(
    ("later", "ticks", "share", "known"),
    [
        (599.0, 0, 1.0, True),
        (0.0, 100, 0.6, True),
        (600.0, 0, 1.0, False),
        (-1.0, 0, 1.0, False),
        (0.0, 101, 1.0, False),
        (0.0, -101, 1.0, False),
        (0.0, 0, 0.4, False),
    ],
)
def test_a_depth_is_remembered_while_the_pool_is_as_it_was(
    later: float, ticks: int, share: float, known: bool
) -> None:
    state = pool(WETH, USDC, 3000)
    depth = Amounts(7, 10**30)
    now = replace(state, tick=state.tick + ticks, liquidity=int(state.liquidity * share))
    with Store.in_memory() as store:
        DepthMemory(store, ETHEREUM, 1000.0).remember([state], {state.pool_id: depth})
        found = DepthMemory(store, ETHEREUM, 1000.0 + later).read_depths([now])
        elsewhere = DepthMemory(store, BASE, 1000.0).read_depths([state])

    assert found == ({state.pool_id: depth} if known else {})
    assert elsewhere == {}
