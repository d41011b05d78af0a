"""What the agents may ask while they think."""

from itertools import pairwise
from math import exp, log, sqrt

import pytest

from agents.lp.evaluation import evaluate
from agents.lp.evaluation_context import evaluation_of
from agents.lp.facts import (
    AdviceRecord,
    DeskMemory,
    ObservedPool,
    PricePathFacts,
    depth_of,
    path_steps,
)
from agents.lp.plan import ShapeChoice
from agents.lp.propose import candidates_of, shapes_by_rules
from agents.lp.role_tools import (
    ArbiterTools,
    CriticTools,
    RangeArguments,
    StrategistTools,
    Stress,
    StressArguments,
)
from agents.lp.scout_tools import (
    NO_SWAPS,
    DepthArguments,
    LastSwapsArguments,
    NoArguments,
    VolatilityArguments,
    band_depth,
    depth_answer,
    hook_answer,
    last_swaps_answer,
    volatility_answer,
    window_moves,
)
from agents.model.claims import Unit
from agents.model.speaking import Brief
from agents.model.tools import ToolError
from chain.base.strict_json import canonical
from chain.base.units import usd
from tests.agents.lp.made_up import Market
from tests.agents.lp.made_up_markets import COIN, market_context
from tests.chain.pools.quoting import quote_exact_input

HOUR = 3_600
ROOT = 10**12


def path(*closes: float, hours: int = 1) -> PricePathFacts:
    """A step every so many hours, the last one now; prices against the present one."""
    roots = [round((sqrt(price) - 1) * ROOT) for price in closes]
    steps = tuple(
        (
            (len(roots) - 2 - place) * hours * HOUR,
            after,
            min(before, after),
            max(before, after),
            2 * 10**12,
            10**6,
        )
        for place, (before, after) in enumerate(pairwise(roots))
    )
    return PricePathFacts(opening=roots[0], liquidity_unit=10**12, swaps=len(steps), steps=steps)


def pool(**paths: PricePathFacts | None) -> ObservedPool:
    return market_context("outside").observed.model_copy(update=paths)


def test_a_window_counts_its_own_hours_and_no_others() -> None:
    closes = [1.0, 1.1, 1.0, 1.02, 1.01, 1.0]
    steps = path_steps(path(*closes), 1 << 96)
    moved = window_moves(steps, 3)
    assert moved is not None
    returns = [log(1.02), log(1.01 / 1.02), log(1 / 1.01)]
    assert moved.daily_sigma == pytest.approx(sqrt(24 / 3 * sum(one * one for one in returns)))
    assert (moved.hours, moved.busy_hours) == (3, 3)
    assert [moved.lowest, moved.highest] == pytest.approx([0, 0.02])
    assert moved.net == pytest.approx(0, abs=1e-9)
    assert moved.efficiency == pytest.approx(0, abs=1e-9)


def test_hours_without_a_swap_count_as_hours_and_unknown_ones_do_not() -> None:
    steps = path_steps(path(1.0, 1.05, 1.0, hours=10), 1 << 96)
    quiet, short = window_moves(steps, 8), window_moves(steps, 100)
    assert quiet is not None
    assert short is not None
    assert (quiet.hours, quiet.busy_hours) == (8, 1)
    assert quiet.daily_sigma == pytest.approx(sqrt(24 / 8) * log(1.05))
    # The first swap ended its hour ten hours ago: eleven hours are known, not a hundred.
    assert (short.hours, short.busy_hours) == (11, 2)


def test_where_no_swap_is_known_nothing_is_made_up() -> None:
    brief = Brief("")
    assert volatility_answer(brief, pool(), VolatilityArguments(hours=48)) == NO_SWAPS
    assert not brief.ledger.quantities
    assert "known" in last_swaps_answer(brief, pool(), LastSwapsArguments())


def test_what_lies_above_the_price_is_what_a_swap_to_there_would_take() -> None:
    """The depth up to a price against the exact replay of the swap that moves the pool there."""
    observed = pool()
    found = band_depth(observed.pool, 0.0, 0.01)
    assert found is not None
    assert found.whole
    assert found.mean == pytest.approx(1)
    root, liquidity = observed.pool.sqrt_price_x96 / (1 << 96), observed.pool.liquidity
    assert found.amount1 == pytest.approx(liquidity * root * (1 - sqrt(0.99)))
    put_in = liquidity * root * (sqrt(1.01) - 1) / (1 - observed.pool.lp_fee / 1e6)
    paid = quote_exact_input(depth_of(observed.pool), round(put_in), zero_for_one=False)
    assert found.amount0 == pytest.approx(paid.amount_out, rel=1e-4)


def test_depth_beside_the_price_is_of_one_token_and_beyond_what_was_read_it_is_said() -> None:
    facts = pool().pool
    above = band_depth(facts, 0.2, 0.05)
    assert above is not None
    assert above.amount1 == 0 < above.amount0
    far = band_depth(facts, exp(3.1) - 1, 0.3)
    assert far is not None
    assert not far.whole
    assert band_depth(facts, exp(5) - 1, 0.1) is None
    for center, numbers, side in ((0, 4, "present price"), (-2, 5, "below"), (3, 5, "above")):
        asked = DepthArguments(width_percent=1, center_percent=center)
        words = depth_answer(Brief(""), pool(), asked)
        assert words.count("[n") == numbers
        assert side in words


def test_each_swap_is_told_with_what_it_paid() -> None:
    observed = pool(day_path=path(1.0, 1.01, 1.0))
    brief = Brief("")
    words = last_swaps_answer(brief, observed, LastSwapsArguments(count=1))
    count, age, moved, fees, volume = (one.value for one in brief.ledger.quantities.values())
    assert [float(count), float(age)] == [2, 0]
    assert float(moved) == pytest.approx(1 / 1.01 - 1, rel=1e-6)
    root = observed.pool.sqrt_price_x96 / (1 << 96)
    # 2·10⁻⁶ of the full-range worth of 10¹⁸ of liquidity, in currency1 at a millionth of a dollar.
    assert float(fees) == pytest.approx(2e-6 * 2 * 1e18 * root * 1e-6, rel=1e-6)
    assert float(volume) == pytest.approx(float(fees) / 0.0005)
    assert brief.ledger.check(words).flags == ()


def test_a_hook_is_told_by_what_it_can_do_and_whether_it_is_trusted() -> None:
    plain = pool()
    assert hook_answer(plain, ()) == "The pool has no hook."
    hooks = {"hooks": COIN, "hook_danger": "dangerous", "hook_powers": ("It can keep it.",)}
    hooked = plain.model_copy(update={"pool": plain.pool.model_copy(update=hooks)})
    assert "dangerous. It can keep it." in hook_answer(hooked, ())
    assert len(hook_answer(hooked, (COIN,))) > len(hook_answer(hooked, ()))


def test_the_same_facts_give_the_same_bytes() -> None:
    observed = pool(week_path=path(1.0, 1.01, 1.02), day_path=path(1.0, 1.01))
    texts = set()
    for _ in range(2):
        brief = Brief("")
        texts.add(
            canonical(
                [
                    volatility_answer(brief, observed, VolatilityArguments(hours=2)),
                    last_swaps_answer(brief, observed, LastSwapsArguments()),
                ]
            )
        )
    assert len(texts) == 1


CONTEXT = Market(0.03, 1.3, half_width=0.1, off_centre=2.5, gwei=0.05).position()


async def test_the_strategist_is_told_the_very_figures_of_a_candidate() -> None:
    brief = Brief("")
    told = await StrategistTools(CONTEXT, brief).answer(
        "range_figures", RangeArguments(width_multiplier=1.1)
    )
    shape = ShapeChoice(width_multiplier=1.1, center_offset_ticks=0)
    found = evaluate(evaluation_of(CONTEXT), shape, 0).candidate
    ledger = Brief("").ledger
    assert f"nets [n5] {ledger.cite(found.net_7d or 0.0, Unit.USD).partition(' ')[2]}" in told
    assert f"cost [n4] {ledger.cite(found.cost_usd or 0.0, Unit.USD).partition(' ')[2]}" in told
    assert brief.ledger.check(told).flags == ()
    with pytest.raises(ToolError):
        await StrategistTools(CONTEXT, brief).answer(
            "range_figures", RangeArguments(width_multiplier=1.1, pool=3)
        )


async def test_the_critic_stresses_one_candidate() -> None:
    moves = candidates_of(CONTEXT, shapes_by_rules(CONTEXT, ()))
    tools = CriticTools(CONTEXT, moves, Brief(""))

    async def told(what: Stress) -> str:
        return await tools.answer("stressed", StressArguments(candidate=0, what=what))

    calm, wild = moves[0].numbers.buffers, await told(Stress.VOLATILITY_TWICE)
    assert f"{calm.at_2x:.3g}"[:3] in wild
    net, price = moves[0].candidate.net_7d, moves[0].price
    assert net is not None
    assert price.gas is not None
    assert usd(net - 2 * price.gas)[:4] in await told(Stress.GAS_THREEFOLD)
    assert "nets" in await told(Stress.FEES_HALF)
    with pytest.raises(ToolError, match="No swap"):
        await told(Stress.PRICE_A_DAY_AGO)
    idle = market_context("idle day")
    there = candidates_of(idle, shapes_by_rules(idle, ()))
    past = CriticTools(idle, there, Brief(""))
    asked = StressArguments(candidate=0, what=Stress.PRICE_A_DAY_AGO)
    assert "price a day ago" in await past.answer("stressed", asked)


async def test_the_arbiter_reads_how_such_plans_came_out() -> None:
    record = AdviceRecord(kind="move", days=7, beat=3, judged=4)
    told = await ArbiterTools(DeskMemory(advice_records=(record,)), Brief("")).answer(
        "past_plans", NoArguments()
    )
    assert "3 beat holding" in told.replace("[n2] ", "")
    empty = await ArbiterTools(DeskMemory(), Brief("")).answer("past_plans", NoArguments())
    assert empty.startswith("No plan")
