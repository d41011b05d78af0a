"""What a plan becomes on the chain as it is now: its pool, its range, its swap, its headline."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from chain.base.units import BIPS
from chain.contracts.networks import NATIVE, network_named
from chain.execution.build.facts import PoolFacts, Span, position_facts
from chain.execution.build.requests import (
    CloseRequest,
    CreateRequest,
    QuotedSwap,
    ReRangeRequest,
)
from chain.execution.build.sizing import RE_RANGE_IDLE_BIPS
from chain.math.liquidity import Amounts
from chain.positions.reference import v4_position
from tests.agents.monitor.made_up_positions import KEY, block, position
from zuno_tui.gate.actions import plan as planning
from zuno_tui.gate.actions.plan import (
    _action_to_change,
    _pool_swapped_in,
    _re_range,
    action_of_plan,
    action_to_open,
    capital_of,
    find_pool,
)
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode
from zuno_tui.gate.worth import ActionWorth

if TYPE_CHECKING:
    from agents.lp.plan import Candidate, Plan
    from chain.positions.overview import Sources

BASE = network_named("base")
OWNER = "0x" + "aa" * 20
HELD = replace(position(0), fees0=3, fees1=4)
FACTS = position_facts(HELD)
WORTH = ActionWorth({}, {KEY.currency0: 2.0}, 3.0, ("disputed",))
SWAP = QuotedSwap(KEY, True, 100, 60, 9)
QUOTES = SimpleNamespace(swap=replace(SWAP, amount_out=59))
PLAN = cast("Plan", SimpleNamespace(plan_id="plan_7", owner=OWNER, position=7))


def _candidate(**fields: object) -> Candidate:
    usual: dict[str, object] = {
        "kind": "move",
        "pool_id": KEY.pool_id,
        "tick_lower": -100,
        "tick_upper": 200,
        "amount0": 10,
        "amount1": 20,
        "residual0": 1,
        "residual1": 2,
        "prep_action": None,
        "cost_usd": 5.0,
    }
    return cast("Candidate", SimpleNamespace(**{**usual, **fields}))


def _prep(zero_for_one: bool) -> object:
    return SimpleNamespace(zero_for_one=zero_for_one, amount_in=5, amount_out=7)


@pytest.mark.parametrize(
    ("prep", "capital"),
    [(None, (11, 22)), (_prep(True), (16, 15)), (_prep(False), (4, 27))],
)
def test_a_choice_starts_from_all_it_puts_in_before_its_swap(
    prep: object, capital: tuple[int, int]
) -> None:
    assert capital_of(_candidate(prep_action=prep)) == Amounts(*capital)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    made = SimpleNamespace(
        snapshot=HELD,
        remembered=[],
        ranges=[ReRangeRequest(FACTS, Span(-100, 200), SWAP, 5)] * 2,
        quotes=QUOTES,
    )

    def answer(name: str, value: object) -> None:
        async def read(*_: object) -> object:
            return value() if callable(value) else value

        monkeypatch.setattr(planning, name, read)

    answer("owned_position", lambda: made.snapshot)
    answer("read_worth", WORTH)
    answer("read_other_pools", ("others",))
    answer("ask_quoter", lambda: made.quotes)
    answer("_depth_without", "depth")
    answer("_swap_of_one_token", lambda: made.quotes)
    monkeypatch.setattr(planning, "range_prices", lambda *_: "1 – 2")
    monkeypatch.setattr(planning, "pool_name", lambda *_: "A/B 0.3%")

    def re_range(_: object, span: Span, depth: object, others: object) -> ReRangeRequest:
        assert (span, depth) == (Span(-100, 200), "depth")
        request: ReRangeRequest = made.ranges[1 if others else 0]
        return request

    monkeypatch.setattr(planning, "_re_range", re_range)

    async def head() -> object:
        return HELD.block

    made.sources = cast(
        "Sources",
        SimpleNamespace(
            network=BASE,
            client=SimpleNamespace(head=head),
            memory=SimpleNamespace(remember=made.remembered.extend),
        ),
    )
    return made


async def _change(readings: SimpleNamespace, candidate: Candidate) -> Any:
    return await _action_to_change(readings.sources, PLAN, candidate, v4_position(7), OWNER)


async def test_an_exit_closes_and_a_move_goes_to_its_range(readings: SimpleNamespace) -> None:
    closed = await _change(readings, _candidate(kind="exit"))
    moved = await _change(readings, _candidate())

    assert (closed.headline, closed.request) == ("Close position #7", CloseRequest(FACTS))
    assert (closed.usd_per_unit, closed.usd_per_wei) == (WORTH.usd_per_unit, 3.0)
    assert (closed.disputes, closed.quotes) == (("disputed",), None)
    assert moved.headline == "Move position #7 to 1 – 2"
    assert moved.request == ReRangeRequest(FACTS, Span(-100, 200), QUOTES.swap, 5)
    assert (moved.quotes, moved.plan_id) == (QUOTES, "plan_7")
    assert (await action_of_plan(readings.sources, PLAN, _candidate(), OWNER)) == moved


async def test_a_move_without_a_swap_asks_no_other_pool(readings: SimpleNamespace) -> None:
    bare = ReRangeRequest(FACTS, Span(-100, 200), None)
    readings.ranges = [bare, None]
    assert (await _change(readings, _candidate())).request == bare
    readings.ranges = [replace(bare, swap=SWAP), bare]
    assert (await _change(readings, _candidate())).request == bare
    readings.snapshot = replace(HELD, liquidity=0)
    empty = await _change(readings, _candidate())
    assert empty.request == ReRangeRequest(position_facts(readings.snapshot), Span(-100, 200), None)


async def test_a_swap_that_pays_much_less_than_planned_is_refused(
    readings: SimpleNamespace,
) -> None:
    planned = SimpleNamespace(zero_for_one=True, amount_in=100, amount_out=60)
    with pytest.raises(GateRefusedError, match="over 1% less"):
        await _change(readings, _candidate(prep_action=planned))
    readings.quotes = SimpleNamespace(swap=SWAP)
    assert (await _change(readings, _candidate(prep_action=planned))).quotes is readings.quotes


async def test_a_position_of_another_pool_is_corrected_and_refused(
    readings: SimpleNamespace,
) -> None:
    with pytest.raises(GateRefusedError, match="has been corrected") as refused:
        await _change(readings, _candidate(pool_id="0xother"))
    assert refused.value.code is RefusalCode.DRIFT
    assert readings.remembered == [HELD.identity]


async def test_opening_is_for_the_plans_own_wallet_in_its_pool(
    readings: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = SimpleNamespace(key=KEY, sqrt_price_x96=5, lp_fee=3_000, pool_id=KEY.pool_id)
    survey = SimpleNamespace(
        pools=[
            SimpleNamespace(state=SimpleNamespace(pool_id="0xother")),
            SimpleNamespace(state=state),
        ],
        block=block(100),
    )

    async def survey_pools(_: object) -> object:
        return survey

    monkeypatch.setattr(planning, "survey_pools", survey_pools)
    opening = cast("Plan", SimpleNamespace(plan_id="plan_7", owner=OWNER, position=None))

    found = await action_of_plan(readings.sources, opening, _candidate(), OWNER)

    pool = PoolFacts(KEY, 5, 3_000)
    assert found.headline == "Open A/B 0.3% at 1 – 2"
    assert found.request == CreateRequest(pool, Span(-100, 200), Amounts(11, 22), QUOTES.swap)
    assert found.tokens == (KEY.currency0, KEY.currency1)
    assert cast("Any", found.quotes) is QUOTES
    assert (found.subject.block, found.subject.pool) == (block(100), pool)
    assert NATIVE not in found.tokens
    readings.quotes = None
    bare = await action_to_open(readings.sources, opening, _candidate(), OWNER)
    assert (cast("Any", bare.request).swap, bare.quotes) == (None, None)
    with pytest.raises(GateRefusedError, match="was made for"):
        await action_to_open(readings.sources, opening, _candidate(), "0x" + "66" * 20)
    with pytest.raises(GateRefusedError, match="is not among those found"):
        await find_pool(readings.sources, "0xnone")
    readings.quotes = SimpleNamespace(swap=replace(SWAP, amount_out=50))
    planned = SimpleNamespace(zero_for_one=True, amount_in=100, amount_out=60)
    with pytest.raises(GateRefusedError, match="over 1% less"):
        await action_to_open(readings.sources, opening, _candidate(prep_action=planned), OWNER)


def test_a_range_is_entered_with_a_little_less_than_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import agents.numbers.inventory as inventory

    swap: object = SimpleNamespace(
        zero_for_one=True, amount_in=100, amount_out=60, sqrt_price_after=9
    )
    routed = SimpleNamespace(
        through=None, allocation=SimpleNamespace(swap=swap, liquidity=1_000_003)
    )
    given = list[Any]()

    def allocation(allocate: Any, terms: object, others: object) -> object:
        given.append((allocate.args, terms, others))
        return routed

    monkeypatch.setattr(inventory, "routed_allocation", allocation)
    monkeypatch.setattr(inventory, "terms_of", lambda depth: f"terms of {depth}")
    depth, others = cast("Any", "depth"), cast("Any", ("others",))

    found = _re_range(HELD, Span(-100, 200), depth, others)

    kept = BIPS - RE_RANGE_IDLE_BIPS
    assert found == ReRangeRequest(FACTS, Span(-100, 200), SWAP, 1_000_003 * kept // BIPS)
    ((price, ticks, available), terms, beside) = given[0]
    assert price == HELD.pool.sqrt_price_x96
    assert (ticks.lower, ticks.upper) == (-100, 200)
    assert available == Amounts(HELD.amount0 + 3, HELD.amount1 + 4)
    assert (terms, beside) == ("terms of depth", others)
    routed.allocation.swap = None
    assert _re_range(HELD, Span(-100, 200), depth, others) == ReRangeRequest(
        FACTS, Span(-100, 200), None
    )
    other = replace(KEY, fee=500)
    through = SimpleNamespace(state=SimpleNamespace(key=other))
    assert _pool_swapped_in(cast("Any", SimpleNamespace(through=through)), KEY) == other
    assert _pool_swapped_in(cast("Any", SimpleNamespace(through=None)), KEY) == KEY
