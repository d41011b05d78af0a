"""Every fact of a Scout elsewhere that is not what is read here is found, and nothing else is."""

from typing import Any

import pytest

from agents.lp.facts import CreateContext, MarketContext
from agents.lp.rebuild import MOST_SECONDS_APART, differing_fact
from agents.numbers.regime import Regime
from chain.math.liquidity import amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from tests.agents.lp.made_up import TOKEN1, Market

HELD = Market(0.01, 2.0).position()
OPENING = Market(0.01, 2.0).opening((TOKEN1, 10_000 * 10**6))
[POOL] = {one.pool.pool_id for one in OPENING.surveyed_pools}
OTHER = "0x" + "bb" * 20
LATER = {"block": 1_003, "block_hash": "0x" + "cd" * 32, "time": HELD.time + 6}


def changed(payload: Any, path: str, value: Any) -> Any:
    """The same with one field changed, by a function of its value where one is given."""
    first, _, rest = path.partition(".")
    now = getattr(payload, first)
    if rest and isinstance(now, tuple):
        return payload.model_copy(update={first: tuple(changed(one, rest, value) for one in now)})
    new = changed(now, rest, value) if rest else value(now) if callable(value) else value
    return payload.model_copy(update={first: new})


def times(factor: float) -> Any:
    return lambda now: type(now)(now * factor)


POOL_LIES: dict[str, Any] = {
    "pool.pool_id": "0x" + "00" * 32,
    "pool.currency0": OTHER,
    "pool.currency1": OTHER,
    "pool.fee": 3_000,
    "pool.tick_spacing": 60,
    "pool.hooks": OTHER,
    "pool.hook_danger": "caution",
    "pool.hook_powers": ("It can do much.",),
    "pool.protocol_fee": 100,
    "pool.lp_fee": 400,
    "pool.tick": lambda tick: tick + 600,
    "pool.sqrt_price_x96": times(1.2),
    "token0.address": OTHER,
    "token0.decimals": 6,
    "token0.kind": "dollar",
    "token0.usd_per_unit": times(1.2),
    "token1.usd_per_unit": times(0.8),
    "market.sigma": times(0.4),
    "market.sigma_24h": times(2.1),
    "market.sigma_7d": times(0.4),
    "market.fees_24h_usd": times(3),
    "market.implied_sigma_24h": times(3),
    "market.implied_sigma_7d": times(3),
    "market.fee_rate_24h": times(3),
    "market.fee_rate_7d": times(3),
    "market.edge_7d": times(3),
    "market.fee_low_factor": times(3),
    "market.fee_high_factor": times(3),
    "regime": Regime.STRESSED,
}
COMMON_LIES: dict[str, Any] = {
    "time": lambda now: now - 2 * MOST_SECONDS_APART,
    "gas.wei_per_gas": times(0.2),
    "gas.usd_per_wei": times(0.5),
}
POSITION_LIES: dict[str, Any] = {
    **COMMON_LIES,
    "position.token_id": 8,
    "position.owner": OTHER,
    "position.tick_lower": lambda tick: tick - 10,
    "position.tick_upper": lambda tick: tick + 10,
    "position.liquidity": times(2),
    "position.has_subscriber": True,
    "position.amount0": lambda amount: amount + 1,
    "position.amount1": lambda amount: amount + 1,
    "position.fees0": times(40),
    "position.fees1": lambda fees: fees + HELD.position.amount1 // 2,
    **{f"observed.{path}": lie for path, lie in POOL_LIES.items()},
}
SURVEY_LIES: dict[str, Any] = {
    **COMMON_LIES,
    "wrapped_native": OTHER,
    **{f"surveyed_pools.{path}": lie for path, lie in POOL_LIES.items()},
}


def test_a_lie_about_a_position_is_found_at_another_block() -> None:
    for path, lie in POSITION_LIES.items():
        told = changed(HELD.model_copy(update=LATER), path, lie)
        assert differing_fact(told, HELD, {POOL}) is not None, path


def test_a_lie_about_a_pool_for_a_new_position_is_found() -> None:
    for path, lie in SURVEY_LIES.items():
        told = changed(OPENING.model_copy(update=LATER), path, lie)
        spoken_of = {POOL, *(pool.pool.pool_id for pool in told.surveyed_pools)}
        assert differing_fact(told, OPENING, spoken_of) is not None, path


@pytest.mark.parametrize(
    ("path", "lie"),
    [
        ("block_hash", LATER["block_hash"]),
        ("time", LATER["time"]),
        ("position.fees0", lambda fees: fees + 1),
        ("observed.pool.liquidity", lambda liquidity: liquidity + 1),
        ("observed.pool.changes", ()),
    ],
)
def test_at_one_block_nothing_of_the_chain_has_any_room(path: str, lie: Any) -> None:
    assert differing_fact(changed(HELD, path, lie), HELD, {POOL}) is not None


@pytest.mark.parametrize("honest", [HELD, OPENING], ids=["position", "new position"])
def test_what_is_the_same_is_alike(honest: MarketContext | CreateContext) -> None:
    assert differing_fact(honest, honest, {POOL}) is None


def test_three_blocks_later_the_price_and_fees_may_have_moved() -> None:
    position, pool = HELD.position, HELD.observed.pool
    tick = pool.tick + 40
    price = sqrt_price_at_tick(tick) + 1
    edges = (sqrt_price_at_tick(position.tick_lower), sqrt_price_at_tick(position.tick_upper))
    held = amounts_for_liquidity(price, *edges, position.liquidity, round_up=False)
    told = HELD.model_copy(update=LATER)
    for path, value in {
        "observed.pool.tick": tick,
        "observed.pool.sqrt_price_x96": price,
        "observed.market.sigma": times(1.1),
        "observed.token0.usd_per_unit": times(1.004),
        "gas.wei_per_gas": times(1.6),
        "position.amount0": held.amount0,
        "position.amount1": held.amount1,
        "position.fees0": times(1.1),
    }.items():
        told = changed(told, path, value)
    assert differing_fact(told, HELD, {POOL}) is None


def test_what_one_side_does_not_know_is_not_held_against_the_other() -> None:
    told = changed(HELD, "observed.market.edge_7d", None)
    assert differing_fact(told, HELD, {POOL}) is None
    assert differing_fact(HELD, told, {POOL}) is None


def test_a_pool_that_nobody_speaks_of_is_not_looked_at() -> None:
    told = changed(OPENING, "surveyed_pools.market.sigma", times(9))
    assert differing_fact(told, OPENING, set()) is None


def test_a_new_position_is_not_an_old_one() -> None:
    assert differing_fact(HELD, OPENING, {POOL}) is not None
