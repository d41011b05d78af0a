"""What a move costs in all: the swap, and minting at the price one's own swap moved."""

import pytest
from msgspec.structs import replace

from agents.lp.evaluation import evaluate
from agents.lp.evaluation_context import evaluation_of
from agents.lp.facts import Capital, CreateContext, CreateGoal, ObservedPoolFacts, depth_of
from agents.lp.payloads import FlowCreateStart
from agents.lp.plan import Candidate, ShapeChoice
from agents.numbers.rules import (
    PROFILES,
    JudgmentVerdict,
    RiskProfile,
    Rule,
    RuleJudgment,
    deserves_caution,
    judge_move,
)
from agents.numbers.shapes import ExposureBias
from chain.contracts import abi
from chain.contracts.calldata import SwapExactIn
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import ARBITRAGEUR, CROWD
from chain.devnet.world.deployment import USDC, WETH
from chain.math.ticks import tick_at_sqrt_price
from chain.pools.depth import Depth, quote_at_most
from tests import node_rpc
from tests.agents.lp.debating import DEVNET, argue, watching
from tests.agents.lp.made_up import ETHER_DOLLAR, TOKEN1, Market
from tests.agents.lp.on_fork import Fork

DOLLAR = 10**6


@pytest.mark.parametrize("dollars", [20_000, 300_000, 3_000_000])
async def test_a_chain_that_is_arbitraged_back_pays_what_the_card_says(
    devnet: DevnetReady, dollars: int
) -> None:
    goal = CreateGoal(
        capital=(Capital(token=USDC.address, amount=dollars * DOLLAR),),
        pair=(USDC.address, WETH.address),
        exposure=ExposureBias.NEUTRAL,
        fee=500,
    )
    start = FlowCreateStart(
        goal=goal, owner=CROWD[0].address, profile=RiskProfile.BALANCED, max_rounds=1
    )
    async with watching(devnet.url) as eyes:
        argued = await argue(start, eyes)
    assert isinstance(argued.seen, CreateContext)
    (observed,) = argued.seen.surveyed_pools
    for move in argued.plan.candidates:
        assert move.prep_action is not None
        assert move.cost_usd is not None
        assert move.gas_usd is not None
        fork = Fork(devnet.url, argued.seen.block, CROWD[0].address, observed.pool)
        changed = fork.there_and_back(
            move, ARBITRAGEUR.address, _back(fork, move), _next_token(devnet.url)
        )
        price = observed.pool.sqrt_price_x96**2 / 2**192
        lost = -(changed.amount0 * price + changed.amount1) / DOLLAR
        shown = move.cost_usd - move.gas_usd
        if move.prep_action.minting_loss_usd:
            assert lost == pytest.approx(shown, rel=1e-4)
        else:
            # So small a move earns more of the arbitrageurs' fee than it loses: not counted on.
            assert 0.99 * shown < lost <= shown


def test_twenty_thousand_dollars_in_a_small_pool() -> None:
    """Once only $133 of these were shown: fee and slippage."""
    market = Market(sigma=0.03, pool_dollars=200_000, half_width=0.122, off_centre=1.05, gwei=0.0)
    evaluation = evaluation_of(market.position())
    move = evaluate(evaluation, ShapeChoice(width_multiplier=1.0, center_offset_ticks=0), 0)
    prep = move.candidate.prep_action
    assert prep is not None
    assert prep.cost_usd == pytest.approx(133, rel=0.03)
    assert move.cost == pytest.approx(362, rel=0.03)


def test_the_loss_is_the_closed_form_less_the_arbitrageurs_fee() -> None:
    market = Market(sigma=0.03, pool_dollars=200_000, half_width=0.1, off_centre=0.3, gwei=0.0)
    evaluation = evaluation_of(market.position())
    move = evaluate(evaluation, ShapeChoice(width_multiplier=1.0, center_offset_ticks=0), 0)
    prep = move.candidate.prep_action
    assert prep is not None
    before = evaluation.sqrt_price / 2**96
    after = before * (1 + (-1 if prep.zero_for_one else 1) * prep.price_moved) ** 0.5
    liquidity = move.stake.liquidity
    closed = liquidity * (after - before) ** 2 / after
    brought = liquidity * (
        before - after if before > after else (1 / before - 1 / after) * before**2
    )
    fee = brought * ETHER_DOLLAR.fee / (1_000_000 - ETHER_DOLLAR.fee)
    assert prep.minting_loss_usd == pytest.approx((closed - fee) / DOLLAR, rel=1e-3)


def _judged(dollars: int, pool_dollars: int = 5_000_000) -> RuleJudgment:
    context = Market(sigma=0.02, pool_dollars=pool_dollars).opening((TOKEN1, dollars * DOLLAR))
    shape = ShapeChoice(width_multiplier=1.0, center_offset_ticks=0)
    return judge_move(
        evaluate(evaluation_of(context), shape, 0).numbers, PROFILES[RiskProfile.BALANCED]
    )


@pytest.mark.parametrize(
    ("dollars", "verdict", "warned"),
    [
        (1_000, JudgmentVerdict.ACCEPT, False),
        (20_000, JudgmentVerdict.ACCEPT, True),
        (200_000, JudgmentVerdict.VETO, True),
    ],
)
def test_an_own_swap_beyond_the_fee_is_warned_of_and_beyond_a_percent_refused(
    dollars: int, verdict: JudgmentVerdict, *, warned: bool
) -> None:
    judged = _judged(dollars)
    (finding,) = [one for one in judged.findings if one.rule is Rule.OWN_SWAP]
    assert finding.verdict is verdict
    assert deserves_caution(judged.findings) is warned


def _back(fork: Fork, move: Candidate) -> SwapExactIn:
    """The largest swap that does not carry the price beyond where it was."""
    assert move.prep_action is not None
    one_way = move.prep_action.zero_for_one
    start = fork.pool.sqrt_price_x96
    depth = _minted(fork.pool, move)
    low, high = 0, 10**30
    while high - low > 1:
        middle = (low + high) // 2
        reached = quote_at_most(depth, middle, zero_for_one=not one_way).sqrt_price_after
        beyond = reached > start if one_way else reached < start
        low, high = (low, middle) if beyond else (middle, high)
    return SwapExactIn(fork.key, not one_way, low, 0)


def _minted(pool: ObservedPoolFacts, move: Candidate) -> Depth:
    """The pool after the move's swap and its mint."""
    swap, lower, upper = move.prep_action, move.tick_lower, move.tick_upper
    assert swap is not None
    assert lower is not None
    assert upper is not None
    depth = depth_of(pool)
    after = quote_at_most(depth, swap.amount_in, zero_for_one=swap.zero_for_one).sqrt_price_after
    tick = tick_at_sqrt_price(after)
    crossed = sum(
        net for at, net in pool.changes if min(pool.tick, tick) < at <= max(pool.tick, tick)
    )
    active = pool.liquidity + (crossed if tick > pool.tick else -crossed)
    changes = dict(pool.changes)
    changes[lower] = changes.get(lower, 0) + move.liquidity
    changes[upper] = changes.get(upper, 0) - move.liquidity
    state = replace(depth.state, sqrt_price_x96=after, tick=tick, liquidity=active + move.liquidity)
    return Depth(state, tuple(sorted(changes.items())), pool.lowest, pool.highest)


def _next_token(url: str) -> int:
    call = {
        "to": DEVNET.contracts.position_manager,
        "data": "0x" + abi.encode_call("nextTokenId()").hex(),
    }
    return int(node_rpc.ask(url, "eth_call", call, "latest"), 16)
