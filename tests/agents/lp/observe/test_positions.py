"""Positions and pools observed, against the contracts and a second reading, in few requests."""

import pytest
from eth_abi.abi import decode

from agents.bus.envelope import MOST_BYTES
from agents.lp.facts import Capital, CreateContext, CreateGoal, MarketContext, depth_of
from agents.lp.observe import NoFittingPoolError, NoSuchPositionError
from agents.lp.observe.pool_facts import REACH
from agents.numbers.regime import Regime
from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import MAX_SURVEYED_POOLS, ExposureBias
from chain.contracts.abi import encode_call
from chain.contracts.calldata import initialize_pool
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey
from chain.devnet.world.accounts import DEMO_WALLET, NEIGHBOUR
from chain.devnet.world.deployment import FAKE_USDC, USDC, USDT, WBTC, WETH
from chain.devnet.world.pools import DYNAMIC, ETH_USDC, GUARDED, SLEEPY, WETH_USDC, WETH_USDC_LOW
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import identify
from tests.agents.lp.observe.conftest import Chain
from tests.chain.pools.quoting import quote_exact_input

CONTRACTS = network_named("devnet").contracts
STATES = (
    "healthy",
    "near the edge",
    "below its range",
    "above its range",
    "stable",
    "native",
    "dynamic fee",
    "hooked",
    "underpaid",
    "emptied",
    "handed on",
    "transferred in",
)
QUOTE = "quoteExactInputSingle(((address,address,uint24,int24,address),bool,uint128,bytes))"


_observed: dict[str, MarketContext] = {}
"""The chain stands still while these tests look at it."""


async def observed(chain: Chain, state: str) -> MarketContext:
    if state not in _observed:
        async with chain.opened() as scouting:
            token_id = chain.positions[state]
            context = await scouting.observer.observe_position(
                v4_position(token_id), RiskProfile.BALANCED
            )
        _observed[state] = context
    return _observed[state]


def asked(
    chain: Chain, to: str, signature: str, answer: str, *values: object
) -> tuple[object, ...]:
    kinds = answer.split(",")
    return decode(kinds, chain.call(to, encode_call(signature, *values)))


@pytest.mark.parametrize("state", STATES)
async def test_position_and_pool_are_what_the_contracts_say(chain: Chain, state: str) -> None:
    context = await observed(chain, state)
    position, pool = context.position, context.observed.pool
    pool_id = bytes.fromhex(pool.pool_id[2:])
    view, manager = CONTRACTS.state_view, CONTRACTS.position_manager

    assert asked(chain, view, "getSlot0(bytes32)", "uint160,int24,uint24,uint24", pool_id) == (
        pool.sqrt_price_x96,
        pool.tick,
        pool.protocol_fee,
        pool.lp_fee,
    )
    token_id = position.token_id.token_id
    assert asked(chain, view, "getLiquidity(bytes32)", "uint128", pool_id) == (pool.liquidity,)
    assert asked(chain, manager, "getPositionLiquidity(uint256)", "uint128", token_id) == (
        position.liquidity,
    )
    assert asked(chain, manager, "ownerOf(uint256)", "address", token_id) == (position.owner,)
    head = chain.moves.rpc("eth_getBlockByNumber", "latest", False)
    assert (hex(context.block), context.block_hash, hex(context.time)) == (
        head["number"],
        head["hash"],
        head["timestamp"],
    )
    assert context.chain_id == 31337
    assert context.summary == ""


@pytest.mark.parametrize("state", STATES)
async def test_amounts_and_fees_are_what_burning_would_pay(chain: Chain, state: str) -> None:
    context = await observed(chain, state)
    position, pool = context.position, context.observed.pool
    key = PoolKey(pool.currency0, pool.currency1, pool.fee, pool.tick_spacing, pool.hooks)
    identity = identify(position.token_id, key, position.tick_lower, position.tick_upper)
    [paid] = chain.moves.burn_payouts([(identity, position.owner)], context.block)
    assert paid == (position.amount0 + position.fees0, position.amount1 + position.fees1)


@pytest.mark.parametrize("state", ["healthy", "stable", "native", "dynamic fee", "hooked"])
async def test_swaps_replay_offline_as_the_quoter_quotes_them(chain: Chain, state: str) -> None:
    context = await observed(chain, state)
    pool, position = context.observed.pool, context.position
    assert pool.lowest <= pool.tick - REACH
    assert pool.highest >= pool.tick + REACH
    key = (pool.currency0, pool.currency1, pool.fee, pool.tick_spacing, pool.hooks)
    for zero_for_one, held in ((True, position.amount0), (False, position.amount1)):
        # From a part of the position to far more than any candidate would swap.
        for amount in (held // 1000 + 1, held // 2 + 1, held + 1, 50 * held + 1):
            ours = quote_exact_input(depth_of(pool), amount, zero_for_one=zero_for_one)
            theirs, _ = asked(
                chain, CONTRACTS.quoter, QUOTE, "uint256,uint256", (key, zero_for_one, amount, b"")
            )
            assert ours.amount_out == theirs


async def test_every_state_is_told_apart(chain: Chain) -> None:
    contexts = {state: await observed(chain, state) for state in STATES}

    def inside(state: str) -> bool:
        position, pool = contexts[state].position, contexts[state].observed.pool
        return position.tick_lower <= pool.tick < position.tick_upper

    assert inside("healthy")
    assert not inside("below its range")
    assert not inside("above its range")
    empty = contexts["emptied"].position
    assert (empty.liquidity, empty.amount0, empty.amount1) == (0, 0, 0)
    assert contexts["handed on"].position.owner == NEIGHBOUR.address
    assert contexts["stable"].position.has_subscriber
    assert not contexts["healthy"].position.has_subscriber
    assert contexts["native"].observed.pool.protocol_fee > 0
    assert contexts["stable"].observed.regime is Regime.RANGING
    kinds = {s: (c.observed.token0.kind, c.observed.token1.kind) for s, c in contexts.items()}
    assert kinds["stable"] == ("dollar", "dollar")
    assert kinds["native"] == ("ether", "dollar")
    assert kinds["underpaid"] == ("ether", "bitcoin")


async def test_the_hooks_passport_is_in_words_of_our_own(chain: Chain) -> None:
    hooked = (await observed(chain, "hooked")).observed.pool
    dynamic = (await observed(chain, "dynamic fee")).observed.pool
    plain = (await observed(chain, "healthy")).observed.pool
    assert hooked.hook_danger == "dangerous"
    assert "It can stop you from taking liquidity out." in hooked.hook_powers
    assert dynamic.hook_danger == "caution"
    assert "It can change the fee of this pool at any time." in dynamic.hook_powers
    assert (plain.hook_danger, plain.hook_powers) == ("none", ())


async def test_prices_and_gas_are_of_the_same_block(chain: Chain) -> None:
    context = await observed(chain, "healthy")
    token0, token1 = context.observed.token0, context.observed.token1
    assert token1.address == USDC.address
    assert token1.usd_per_unit == 1e-6
    assert token0.usd_per_unit is not None
    assert context.gas.usd_per_wei == token0.usd_per_unit
    pool_price = context.observed.pool.sqrt_price_x96**2 / 2**192
    assert token0.usd_per_unit == pytest.approx(pool_price * 1e-6, rel=0.005)
    history = chain.moves.rpc("eth_feeHistory", "0xa", "latest", [50])
    tips = sorted(
        int(tip, 16)
        for (tip,), used in zip(history["reward"], history["gasUsedRatio"], strict=True)
        if used
    )
    expected = int(history["baseFeePerGas"][-1], 16) + tips[(len(tips) - 1) // 2]
    assert context.gas.wei_per_gas == expected
    assert context.gas.l1_data_fee_wei == 0


async def test_every_group_of_numbers_has_a_source_at_the_block(chain: Chain) -> None:
    context = await observed(chain, "native")
    market = context.observed.market
    block = f"block {context.block}"
    for group, value in {
        "position": 0,
        "pool": 0,
        "price of token0": context.observed.token0.usd_per_unit,
        "price of token1": context.observed.token1.usd_per_unit,
        "price of the coin": context.gas.usd_per_wei,
        "volatility of 24 h": market.sigma_24h,
        "volatility of 7 d": market.sigma_7d,
        "path efficiency": market.path_efficiency,
        "fees of 24 h": market.fees_24h_usd,
        "implied volatility of 24 h": market.implied_sigma_24h,
        "implied volatility of 7 d": market.implied_sigma_7d,
        "gas": 0,
    }.items():
        said = context.sources[group]
        assert said.startswith("unknown: ") if value is None else said.endswith(block), group
    assert context.sources["volatility"].endswith("(market data is switched off)")
    assert context.sources["hook"] == "no hook"


@pytest.mark.parametrize("token_id", [10**6, 0, 2**256 - 1, 2**256])
async def test_a_position_that_does_not_exist_is_said_to(chain: Chain, token_id: int) -> None:
    async with chain.opened() as scouting:
        with pytest.raises(NoSuchPositionError, match="There is no position") as caught:
            await scouting.observer.observe_position(v4_position(token_id), RiskProfile.BALANCED)
    assert "zuno positions" in str(caught.value)


async def test_a_burned_position_is_no_position(chain: Chain) -> None:
    with pytest.raises(NoSuchPositionError, match="burned"):
        await observed(chain, "burned")


async def test_the_past_of_a_position_is_what_its_logs_add_up_to(chain: Chain) -> None:
    token_id = chain.positions["healthy"]
    async with chain.opened() as scouting:
        past = await scouting.observer.position_past(v4_position(token_id))
    seen = await observed(chain, "healthy")
    assert sum(change.liquidity_delta for change in past.changes) == seen.position.liquidity
    assert past.changes_in_all == len(past.changes)
    assert past.age_seconds == past.changes[0].age_seconds
    assert None not in (past.deposited, past.fees_earned, past.against_holding)
    async with chain.opened() as scouting:
        with pytest.raises(NoSuchPositionError):
            await scouting.observer.position_past(v4_position(10**6))


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


GOAL = CreateGoal(
    capital=(Capital(token=WETH.address, amount=10**18),),
    pair=None,
    exposure=ExposureBias.NEUTRAL,
    fee=None,
)


async def test_a_position_takes_few_requests_and_fewer_the_second_time(chain: Chain) -> None:
    token_id = chain.positions["hooked"]
    async with chain.opened() as scouting:
        counts = []
        for _ in range(3):
            before = scouting.client.round_trips
            await scouting.observer.observe_position(v4_position(token_id), RiskProfile.BALANCED)
            counts.append(scouting.client.round_trips - before)
    # Position 2, week's start 1, headers 1, swaps 1, their times 1, the pool's beginning and the
    # proof that they are all 2, depth 2, gas 1, the account's code 1, prices 2.
    assert counts == [15, 8, 8]


async def test_a_survey_takes_no_more_for_many_pools_than_for_one(chain: Chain) -> None:
    async with chain.opened() as scouting:
        counts = []
        for fee in (None, None, 500):
            before = scouting.client.round_trips
            order = GOAL.model_copy(update={"fee": fee})
            await scouting.observer.survey(order, DEMO_WALLET.address, RiskProfile.BALANCED)
            counts.append(scouting.client.round_trips - before)
    # The list of pools 2, their states 1, depth for the order 2, hooks 1; then as above without
    # the position.
    assert counts == [17, 9, 9]
