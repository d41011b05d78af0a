"""The desk's flow: every stage in its place, every expert heard, the same again from the record."""

import json
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest

from agents.bus.replay import read_record
from agents.trade.facts import DeskQuestion
from agents.trade.flow import replay_desk
from agents.trade.payloads import TradeKind
from agents.trade.plan import TradePlan, trade_plan_identity
from agents.trade.services import DeskObservation
from agents.trade.terms import (
    ExpertName,
    Objective,
    SectionName,
    SectionStatus,
    TradeDecision,
    TradeMode,
)
from tests.agents.trade.cases import HEDGED, account, question
from tests.agents.trade.desks import Argued, Seen, argue, observer
from tests.fakes.exchange import ExchangeDouble, Refusal
from tests.printed import printed


async def seen(asked: DeskQuestion, double: ExchangeDouble | None = None) -> DeskObservation:
    async with observer(double or ExchangeDouble()) as eyes:
        return await eyes.look(asked)


async def argued(asked: DeskQuestion, double: ExchangeDouble | None = None) -> Argued:
    return await argue(asked, Seen(await seen(asked, double)))


def plan_of(one: Argued) -> TradePlan:
    assert one.ended.plan is not None, one.ended.failure
    return one.ended.plan


def kinds(one: Argued) -> list[tuple[str, str, str]]:
    bodies = [json.loads(line)["body"] for line in one.lines]
    return [(body["from"], body["kind"], body["to"]) for body in bodies if "kind" in body]


async def test_every_stage_speaks_in_its_place_and_every_expert_is_heard() -> None:
    one = await argued(question())
    said = kinds(one)
    plan = plan_of(one)

    assert plan.anomalies == ()
    assert [finding.expert for finding in plan.findings] == list(ExpertName)
    assert all(finding.fallback for finding in plan.findings)
    barriers = [
        TradeKind.FLOW_DESK_START,
        TradeKind.DESK_SNAPSHOT,
        TradeKind.DESK_CONTEXT,
        TradeKind.REGIME_CLASSIFIED,
        TradeKind.TRIAGE_DONE,
        TradeKind.EXPERT_FINDING,
        TradeKind.SYNTHESIS_READY,
        TradeKind.DECISION_DRAFT,
        TradeKind.RISK_VERDICT,
        TradeKind.GUARD_VERDICT,
        TradeKind.TRADE_PLAN_READY,
    ]
    first = [next(at for at, turn in enumerate(said) if turn[1] == kind) for kind in barriers]
    assert first == sorted(first)
    last_finding = max(at for at, turn in enumerate(said) if turn[1] == TradeKind.EXPERT_FINDING)
    assert last_finding < first[barriers.index(TradeKind.SYNTHESIS_READY)]
    chart = said.index(("chart", TradeKind.CHART_READY, "vlm_geometry"))
    assert chart < said.index(("vlm_geometry", TradeKind.EXPERT_FINDING, "synthesis"))
    assert not any(turn[1] == "model_reply" for turn in said)


async def test_what_is_seen_has_its_units_its_source_and_its_time() -> None:
    found = await seen(question())
    market = found.market
    assert market is not None
    about = {one.name: one for one in found.sections}

    assert [one.interval for one in (market.hours, market.slow)] == ["1h", "4h"]
    assert len(market.hours.rows) >= 160
    assert abs(about[SectionName.FUNDING].numbers["rate"]) <= 0.00075
    day = market.hours.candles[-24:]
    delta = sum(2 * candle.taker_buy - candle.volume for candle in day)
    assert about[SectionName.CVD].numbers["cvd_24h"] == pytest.approx(
        delta, abs=4
    )  # rows have six digits
    assert {"spread_bips", "imbalance5", "imbalance20", "buy_slippage_bips"} <= set(
        about[SectionName.MICROSTRUCTURE].numbers
    )
    assert market.book is not None
    assert len(market.book.samples) == 3
    for one in found.sections:
        assert (one.as_of is None) is (one.status is SectionStatus.UNAVAILABLE)


async def test_every_expert_is_told_what_triage_found() -> None:
    one = await argued(question())
    bodies = [json.loads(line)["body"] for line in one.lines]
    told = {
        body["to"]: body["payload"]["triage"]["anomalies"]
        for body in bodies
        if body.get("kind") in (TradeKind.TRIAGE_DONE, TradeKind.CHART_READY)
    }

    assert {"liquidity", "microstructure", "macro", "vlm_geometry"} <= set(told)


async def test_the_ladder_only_descends_and_the_plan_is_its_own_hash() -> None:
    for asked in (question(), question(hedge=HEDGED), question(mode=TradeMode.POSITION)):
        plan = plan_of(await argued(asked))
        stages = [step.stage for step in plan.ladder]
        assert stages == ["judge", "expected_value", "budget", "risk_officer", "leverage_guard"]
        for before, after in pairwise(plan.ladder):
            assert after.allocation_pct <= before.allocation_pct
            assert after.leverage <= before.leverage
            assert after.decision in (before.decision, TradeDecision.HOLD)
        assert plan.plan_id == trade_plan_identity(plan)
        assert plan.notional_usd <= 2_000.0
        assert plan.mode is asked.mode


async def test_a_record_replays_byte_for_byte_without_a_venue(tmp_path: Path) -> None:
    first = await argued(question(hedge=HEDGED))
    path = tmp_path / "req_trade.jsonl"
    path.write_bytes(b"".join(first.lines))

    report, ended = await replay_desk(read_record(path))

    assert report.matches
    assert ended.plan == first.ended.plan
    again = await argued(question(hedge=HEDGED))
    hashes = [sha256(b"".join(one.lines)).hexdigest()[:16] for one in (first, again)]
    printed(f"G13: records of the same run twice: {hashes[0]}, {hashes[1]}")
    assert b"".join(again.lines) == b"".join(first.lines)


async def test_a_hedge_sells_a_share_of_the_position_and_never_more() -> None:
    plan = plan_of(await argued(question(hedge=HEDGED)))

    assert plan.objective is Objective.HEDGE
    assert plan.hedge is not None
    assert plan.hedge.wanted <= HEDGED.delta
    assert plan.hedge.reached + plan.hedge.net_delta == pytest.approx(HEDGED.delta)
    if plan.decision is TradeDecision.SHORT:
        resting, rest = plan.orders
        assert (resting.side, resting.type, rest.side, rest.type) == (
            ("sell", "maker", "sell", "market")
        )
        assert (rest.finishes, rest.quantity) == (True, resting.quantity)
        assert plan.quantity == pytest.approx(plan.hedge.reached)


async def test_a_hedge_that_is_too_large_is_bought_back_and_only_reduced() -> None:
    plan = plan_of(await argued(question(hedge=HEDGED, of=account(held=-2.0))))

    assert plan.decision is TradeDecision.CANCEL_AND_CLOSE
    assert plan.hedge is not None
    [order] = plan.orders
    assert (order.side, order.type, order.reduce_only) == ("buy", "market", True)
    assert 2.0 - order.quantity == pytest.approx(plan.hedge.wanted)


async def test_an_exit_is_neither_vetoed_nor_guarded() -> None:
    """Twenty times the account is short: nothing may be opened, and leaving is still allowed."""
    deep = account(equity=1_000.0, held=-7.0)
    plan = plan_of(await argued(question(hedge=HEDGED, of=deep)))

    assert plan.decision is TradeDecision.CANCEL_AND_CLOSE
    assert plan.leverage_before is not None
    assert plan.leverage_before > 2
    assert plan.orders


async def test_an_account_that_is_unknown_opens_nothing_and_says_so() -> None:
    plan = plan_of(await argued(question(hedge=HEDGED, of=account(equity=None))))

    assert plan.decision is TradeDecision.HOLD
    assert plan.by_failure
    assert plan.orders == ()


_PATHS = {
    SectionName.FUNDING: "/fapi/v1/premiumIndex",
    SectionName.CVD: "/fapi/v1/klines",
    SectionName.MICROSTRUCTURE: "/fapi/v1/depth",
}


@pytest.mark.parametrize("down", [*_PATHS, None])
async def test_each_source_may_be_down_and_the_desk_still_ends(
    down: SectionName | None,
) -> None:
    """Those that the venue serves are refused by it; the others nobody has set here."""
    double = ExchangeDouble()
    if down is not None:
        double.faults[_PATHS[down]] = Refusal(503)
    plan = plan_of(await argued(question(), double))

    own = (SectionName.MEMORY, SectionName.LESSONS)
    served = {name for name in _PATHS if name is not down}
    assert set(plan.missing) == set(SectionName) - served - set(own)
    assert plan.by_failure is (down in (SectionName.FUNDING, SectionName.CVD))
    if down in (SectionName.FUNDING, SectionName.CVD):
        assert plan.decision is TradeDecision.HOLD


async def test_a_dead_venue_ends_in_a_hold_by_failure() -> None:
    double = ExchangeDouble(faults={"/fapi/v1/time": Refusal(451)})
    plan = plan_of(await argued(question(), double))

    assert (plan.decision, plan.by_failure) == (TradeDecision.HOLD, True)
    assert plan.reason
