"""What candidates foretell, against what the real contracts pay out, swap and take, to the unit."""

import sys

import pytest

from agents.lp.facts import Capital, CreateContext, CreateGoal
from agents.lp.payloads import FlowCreateStart, FlowStart
from agents.lp.plan import Candidate, PrepAction
from agents.numbers.rules import RiskProfile
from agents.numbers.shapes import ExposureBias
from chain.contracts.networks import NATIVE
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import ARBITRAGEUR
from chain.devnet.world.deployment import USDC, WETH
from chain.math.liquidity import Amounts
from chain.protocols.reference import v4_position
from tests.agents.conftest import positions_by_state
from tests.agents.lp.debating import Argued, argue, watching
from tests.agents.lp.on_fork import Executed, Fork

STATES = (
    *("healthy", "near the edge", "below its range", "above its range", "stable"),
    *("native", "dynamic fee", "hooked", "underpaid", "transferred in"),
)
ETHER, DOLLAR = 10**18, 10**6
CAPITALS = {
    "half a WETH": ((WETH.address, ETHER // 2),),
    "300 WETH": ((WETH.address, 300 * ETHER),),
    "3,000 USDC": ((USDC.address, 3_000 * DOLLAR),),
    "a WETH and 2,000 USDC": ((WETH.address, ETHER), (USDC.address, 2_000 * DOLLAR)),
    "2 ETH": ((NATIVE, 2 * ETHER),),
    "half an ETH and 2,000 USDC": ((NATIVE, ETHER // 2), (USDC.address, 2_000 * DOLLAR)),
}
"""300 WETH cross many ticks on the way into proportion."""


async def test_moves_take_what_they_foretold(
    devnet: DevnetReady, capsys: pytest.CaptureFixture[str]
) -> None:
    positions = positions_by_state(devnet.url)
    rows, plain, swapping = [], 0, 0
    async with watching(devnet.url) as eyes:
        for place, state in enumerate(STATES):
            profile = list(RiskProfile)[place % 3]
            start = FlowStart(token_id=v4_position(positions[state]), profile=profile, max_rounds=2)
            argued = await argue(start, eyes)
            assert argued.plan.candidates
            for move in argued.plan.candidates:
                executed = _executed(devnet.url, argued, move)
                _check(argued, move, executed)
                plain += move.prep_action is None
                swapping += move.prep_action is not None
                rows.append(_row(state, move, executed))
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(rows) + "\n")
    assert plain >= 5
    assert swapping >= 15


@pytest.mark.parametrize("capital", CAPITALS)
async def test_openings_take_what_they_foretold(
    devnet: DevnetReady, capital: str, capsys: pytest.CaptureFixture[str]
) -> None:
    amounts = tuple(Capital(token=token, amount=amount) for token, amount in CAPITALS[capital])
    goal = CreateGoal(capital=amounts, pair=None, exposure=ExposureBias.LONG_TOKEN, fee=None)
    start = FlowCreateStart(
        goal=goal, owner=ARBITRAGEUR.address, profile=RiskProfile.CONSERVATIVE, max_rounds=1
    )
    async with watching(devnet.url) as eyes:
        argued = await argue(start, eyes)
    assert isinstance(argued.seen, CreateContext)
    pools = {observed.pool.pool_id: observed.pool for observed in argued.seen.surveyed_pools}
    rows = []
    for move in argued.plan.candidates:
        pool = pools[move.pool_id]
        wraps = pool.currency0 != NATIVE
        put_in = {
            WETH.address if one.token == NATIVE and wraps else one.token: one.amount
            for one in amounts
        }
        available = Amounts(put_in.get(pool.currency0, 0), put_in.get(pool.currency1, 0))
        others = (*pools.values(), *argued.seen.swap_pools)
        fork = Fork(devnet.url, argued.seen.block, ARBITRAGEUR.address, pool, others)
        wrapping = sum(one.amount for one in amounts if one.token == NATIVE) if wraps else 0
        executed = fork.execute(move, burning=None, wrapping=wrapping)
        assert sum(available) > 0
        _check_entry(move, executed, available)
        assert (move.prep_action is None) == (len(amounts) == 2)
        rows.append(_row(capital, move, executed))
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(rows) + "\n")
    assert len(rows) >= 2


def _executed(url: str, argued: Argued, move: Candidate) -> Executed:
    context = argued.market
    pool, others = context.observed.pool, context.swap_pools
    fork = Fork(url, context.block, context.position.owner, pool, others)
    return fork.execute(move, burning=context.position.token_id.token_id)


def _check(argued: Argued, move: Candidate, executed: Executed) -> None:
    position = argued.market.position
    available = Amounts(position.amount0 + position.fees0, position.amount1 + position.fees1)
    assert executed.burned == available
    _check_entry(move, executed, available)
    assert argued.plan.exit is not None
    assert executed.burned == (argued.plan.exit.amount0, argued.plan.exit.amount1)


def _check_entry(move: Candidate, executed: Executed, available: Amounts) -> None:
    swap = move.prep_action
    assert executed.swapped == _change_by(swap)
    assert executed.quoted == (None if swap is None else swap.amount_out)
    assert executed.minted == (-move.amount0, -move.amount1)
    for place in (0, 1):
        left = available[place] + executed.swapped[place] + executed.minted[place]
        assert left == (move.residual0, move.residual1)[place] >= 0


def _change_by(swap: PrepAction | None) -> Amounts:
    if swap is None:
        return Amounts(0, 0)
    if swap.zero_for_one:
        return Amounts(-swap.amount_in, swap.amount_out)
    return Amounts(swap.amount_out, -swap.amount_in)


def _row(state: str, move: Candidate, executed: Executed) -> str:
    swap = "no swap" if move.prep_action is None else f"swap paid {executed.quoted}"
    return (
        f"{state:15} {move.kind:7} {move.tick_lower} … {move.tick_upper}: {swap}; mint took "
        f"{-executed.minted.amount0} and {-executed.minted.amount1}, as foretold"
    )
