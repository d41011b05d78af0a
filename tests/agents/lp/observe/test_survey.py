"""The pools for a new position: which are offered, in which order, and what is known of each."""

import pytest

from agents.bus.envelope import MOST_BYTES
from agents.lp.facts import Capital, CreateContext, CreateGoal
from agents.lp.observe import NoFittingPoolError
from agents.numbers.regime import Regime
from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import MAX_SURVEYED_POOLS, ExposureBias
from chain.contracts.calldata import initialize_pool
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import FAKE_USDC, USDC, USDT, WBTC, WETH
from chain.devnet.world.pools import DYNAMIC, ETH_USDC, GUARDED, SLEEPY, WETH_USDC, WETH_USDC_LOW
from chain.protocols.reference import v4_position
from tests.agents.lp.observe.conftest import Chain

POSITION_MANAGER = network_named("devnet").contracts.position_manager


def goal(*capital: str, pair: tuple[str, str] | None = None, fee: int | None = None) -> CreateGoal:
    return CreateGoal(
        capital=tuple(Capital(token=token, amount=10**6) for token in capital),
        pair=pair,
        exposure=ExposureBias.NEUTRAL,
        fee=fee,
    )


async def surveyed(chain: Chain, order: CreateGoal) -> CreateContext:
    async with chain.opened() as scouting:
        return await scouting.observer.survey(order, DEMO_WALLET.address, RiskProfile.BALANCED)


def pool_ids(context: CreateContext) -> list[str]:
    return [observed.pool.pool_id for observed in context.surveyed_pools]


async def test_who_says_weth_is_offered_every_pool_of_weth_and_none_of_ether(chain: Chain) -> None:
    context = await surveyed(chain, goal(WETH.address))
    pools = (WETH_USDC_LOW, WETH_USDC, DYNAMIC, GUARDED, SLEEPY)
    assert set(pool_ids(context)) == {pool.key.pool_id for pool in pools}
    assert context.goal == goal(WETH.address)
    assert context.owner == DEMO_WALLET.address
    assert context.summary == ""


async def test_who_says_ether_is_offered_both_and_the_coins_own_first(chain: Chain) -> None:
    context = await surveyed(chain, goal(NATIVE))
    assert pool_ids(context)[0] == ETH_USDC.key.pool_id
    pools = (ETH_USDC, WETH_USDC_LOW, WETH_USDC, DYNAMIC, GUARDED, SLEEPY)
    assert set(pool_ids(context)) == {pool.key.pool_id for pool in pools}
    assert context.wrapped_native == WETH.address


async def test_the_pair_and_the_fee_that_were_named_are_kept(chain: Chain) -> None:
    paired = await surveyed(chain, goal(WETH.address, pair=(WBTC.address, WETH.address)))
    assert pool_ids(paired) == [SLEEPY.key.pool_id]
    low = await surveyed(chain, goal(NATIVE, pair=(NATIVE, USDC.address), fee=500))
    assert pool_ids(low) == [WETH_USDC_LOW.key.pool_id]
    dynamic = await surveyed(chain, goal(WETH.address, fee=DYNAMIC_FEE))
    assert pool_ids(dynamic) == [DYNAMIC.key.pool_id]
    both = await surveyed(chain, goal(WETH.address, USDC.address, fee=3000))
    assert pool_ids(both) == [WETH_USDC.key.pool_id, GUARDED.key.pool_id]


async def test_the_deepest_comes_first_and_hooked_ones_come_with_their_passport(
    chain: Chain,
) -> None:
    context = await surveyed(chain, goal(USDC.address, WETH.address))
    dangers = {one.pool.pool_id: one.pool.hook_danger for one in context.surveyed_pools}
    assert dangers[DYNAMIC.key.pool_id] == "caution"
    assert dangers[GUARDED.key.pool_id] == "dangerous"
    assert dangers[WETH_USDC.key.pool_id] == "none"
    assert pool_ids(context)[-1] == GUARDED.key.pool_id


async def test_a_position_and_a_survey_say_the_same_of_a_pool(chain: Chain) -> None:
    context = await surveyed(chain, goal(WETH.address))
    async with chain.opened() as scouting:
        healthy = await scouting.observer.observe_position(
            v4_position(chain.positions["healthy"]), RiskProfile.BALANCED
        )
    index = pool_ids(context).index(WETH_USDC_LOW.key.pool_id)
    assert context.surveyed_pools[index] == healthy.observed
    assert context.gas == healthy.gas
    assert context.block_hash == healthy.block_hash
    for group, words in healthy.sources.items():
        assert group == "position" or words in (
            context.sources.get(f"pool {index}: {group}"),
            context.sources.get(group),
        )


async def test_a_pool_nobody_traded_in_is_offered_with_what_is_unknown(chain: Chain) -> None:
    key = PoolKey(WETH.address, USDC.address, 10_000, 200, NO_HOOK)
    with chain.moves.undone():
        data = initialize_pool(key, 2**96)
        chain.moves.send(DEMO_WALLET, POSITION_MANAGER, data)
        context = await surveyed(chain, goal(WETH.address, fee=10_000))
        (found,) = context.surveyed_pools
    market = found.market
    assert found.pool.pool_id == key.pool_id
    assert (found.pool.liquidity, found.pool.changes) == (0, ())
    assert market.sigma_assumed
    assert market.sigma == 0.03
    assert market.sigma_source == "assumed for ether or bitcoin against a currency"
    assert (market.sigma_24h, market.sigma_7d, market.path_efficiency) == (None, None, None)
    assert market.fees_24h_usd == 0
    assert (market.implied_sigma_24h, market.implied_sigma_7d) == (None, None)
    assert found.regime is Regime.VOLATILE
    assert found.regime_reason.startswith("By an assumption, nothing was measured: ")
    sources = context.sources
    assert sources["pool 0: volatility of 24 h"].startswith("unknown: the pool's swaps reach back")
    assert sources["pool 0: implied volatility of 24 h"] == (
        "unknown: the pool has no active liquidity"
    )


async def test_at_most_twelve_pools_are_offered_in_an_envelope_that_can_be_sent(
    chain: Chain,
) -> None:
    with chain.moves.undone():
        for fee in range(700, 712):
            key = PoolKey(WETH.address, USDC.address, fee, 10, NO_HOOK)
            data = initialize_pool(key, WETH_USDC_LOW_PRICE)
            chain.moves.send(DEMO_WALLET, POSITION_MANAGER, data)
        context = await surveyed(chain, goal(WETH.address))
    assert len(context.surveyed_pools) == MAX_SURVEYED_POOLS
    # Depth decides: the pools with liquidity are all among the twelve.
    real = (WETH_USDC_LOW, WETH_USDC, DYNAMIC, GUARDED, SLEEPY)
    assert {pool.key.pool_id for pool in real} <= set(pool_ids(context))
    assert context.sources["pools"] == "20 pools of the network found, 12 observed"
    assert len(context.model_dump_json()) < MOST_BYTES // 4


WETH_USDC_LOW_PRICE = 4_390_298_316_957_708_944_524_072


async def test_a_strangers_token_is_offered_only_to_who_names_it(chain: Chain) -> None:
    context = await surveyed(chain, goal(FAKE_USDC.address))
    (found,) = context.surveyed_pools
    other, fake = found.token0, found.token1
    if fake.address != FAKE_USDC.address:
        other, fake = fake, other
    assert (fake.kind, fake.decimals, fake.usd_per_unit) == ("other", 6, None)
    assert other.usd_per_unit is not None
    assert found.market.sigma_assumed
    assert (
        "pools price only listed tokens"
        in context.sources[f"pool 0: price of token{int(found.token1 is fake)}"]
    )


@pytest.mark.parametrize(
    "order",
    [
        goal(USDT.address, fee=3000),
        goal(USDT.address, pair=(WETH.address, USDT.address)),
        goal(USDT.address, WBTC.address),
        goal(WBTC.address, pair=(WETH.address, USDC.address)),
        goal("0x" + "5a" * 20),
    ],
)
async def test_where_no_pool_fits_the_person_hears_what_to_do(
    chain: Chain, order: CreateGoal
) -> None:
    with pytest.raises(NoFittingPoolError, match="can hold this capital") as caught:
        await surveyed(chain, order)
    assert str(caught.value).endswith("zuno pools")
