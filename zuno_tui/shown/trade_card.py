"""A trade plan in text: what is decided and why, the ladder, the orders, and what was missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.trade.terms import ExpertName, SectionStatus, TradeDecision
from chain.base.clean_text import clean_text
from zuno_tui.shown.answer import CommandAnswer
from zuno_tui.shown.exit_codes import DONE, FAILED
from zuno_tui.shown.output import OutputColumn, table
from zuno_tui.shown.transcript import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.bus.plan_store import PlanDocument
    from agents.trade.plan import HedgePlan, PlannedOrder, TradeOdds, TradePlan

_LADDER = (
    OutputColumn("stage"),
    OutputColumn("decision"),
    OutputColumn("allocation", "right"),
    OutputColumn("leverage", "right"),
    OutputColumn("worth", "right"),
    OutputColumn("why"),
)
_EXPERTS = (
    OutputColumn("expert"),
    OutputColumn("bias"),
    OutputColumn("confidence", "right"),
    OutputColumn("says"),
)
_LAMPS = {SectionStatus.OK: "●", SectionStatus.STALE: "◐", SectionStatus.UNAVAILABLE: "○"}
_TITLES = {
    ExpertName.LIQUIDITY: "liquidity",
    ExpertName.MICROSTRUCTURE: "microstructure",
    ExpertName.MACRO: "macro",
    ExpertName.GEOMETRY: "geometry",
}


def trade_answer(plan: TradePlan, document: PlanDocument) -> CommandAnswer:
    return CommandAnswer(
        lines=tuple(trade_lines(plan)),
        document=document,  # type: ignore[arg-type]
        remarks=_next_step(plan),
        code=FAILED if plan.by_failure else DONE,
    )


def decision_words(plan: TradePlan) -> str:
    """A HOLD that something missing brought about is told apart from one that was judged."""
    if plan.by_failure:
        return f"{plan.decision.value} (by failure)"
    if plan.missing:
        return f"{plan.decision.value} (degraded: {len(plan.missing)}/12 sources missing or stale)"
    return plan.decision.value


def trade_lines(plan: TradePlan) -> Iterator[str]:
    subject = plan.symbol
    if plan.hedge is not None:
        position = plan.hedge.position
        subject = f"hedge of #{position.token_id} {position.pair} with {plan.symbol}"
    yield f"{plan.plan_id} · {subject} · {plan.mode.value} · {plan.venue}"
    yield wrapped(f"{decision_words(plan)}: {clean_text(plan.reason)}.", indent=0)
    if plan.regime is not None:
        anomalies = ", ".join(one.value for one in plan.anomalies) or "none"
        budget = plan.regime.risk_budget_pct
        yield wrapped(
            f"{plan.regime.regime.value} ({clean_text(plan.regime.rationale)}), risk budget "
            f"{budget:g} %; anomalies: {anomalies}; mark {plan.mark:,.2f}",
            indent=0,
        )
    yield from _hedge_lines(plan.hedge)
    yield from _odds_lines(plan.odds, plan)
    if plan.findings:
        yield ""
        yield from table(
            _EXPERTS,
            [
                (
                    _TITLES[one.expert],
                    one.bias.value,
                    f"{one.confidence:.0%}",
                    clean_text(one.rationale),
                )
                for one in plan.findings
            ],
        )
    if plan.reasoning is not None:
        yield wrapped(f"against it: {clean_text(plan.reasoning.counter_scenario)}", indent=2)
    if plan.ladder:
        yield ""
        yield from table(
            _LADDER,
            [
                (
                    step.stage.replace("_", " "),
                    step.decision.value,
                    f"{step.allocation_pct:.3g} %",
                    f"{step.leverage:g}×",
                    f"${step.notional_usd:,.0f}",
                    ", ".join(note.replace("_", " ") for note in step.notes),
                )
                for step in plan.ladder
            ],
        )
    yield from _account_line(plan)
    yield from _order_lines(plan)
    yield ""
    yield wrapped(
        "sources: " + " ".join(f"{_LAMPS[one.status]} {one.name.value}" for one in plan.sections),
        indent=2,
    )


def _hedge_lines(hedge: HedgePlan | None) -> Iterator[str]:
    if hedge is None:
        return
    position = hedge.position
    yield (
        f"delta {position.delta:.4g} {position.coin}, gamma {position.gamma:.3g}, short "
        f"{hedge.held:g} {position.coin} now"
    )
    cost = hedge.cost_usd_a_day
    words = (
        "unknown" if cost is None else f"{'costs' if cost > 0 else 'pays'} ${abs(cost):.2f} a day"
    )
    yield (
        f"hedge {hedge.ratio:.0%}: {hedge.wanted:g} {position.coin} wanted, {hedge.reached:g} "
        f"reached; net delta {hedge.net_delta:.4g} {position.coin}; funding {words}"
    )


def _odds_lines(odds: TradeOdds | None, plan: TradePlan) -> Iterator[str]:
    if odds is None:
        return
    if plan.entry is not None:
        yield (
            f"entry {plan.entry:,.2f}, stop {plan.stop:,.2f}, take profit {plan.take_profit:,.2f}"
        )
    yield wrapped(
        f"odds {odds.win_pct:.0f} % ({odds.record.resolved} of the desk's trades have ended; it "
        f"claims {odds.claimed_pct:.0f} %), break-even {odds.break_even_pct:.0f} %, without drift "
        f"{odds.fair_pct:.0f} %; +{odds.profit_pct:.2f} % or −{odds.loss_pct:.2f} %, "
        f"expected {odds.expected_pct:+.2f} % after costs",
        indent=0,
    )


def _account_line(plan: TradePlan) -> Iterator[str]:
    if plan.leverage_before is None or plan.leverage_after is None or plan.equity is None:
        return
    yield (
        f"account ${plan.equity:,.2f}, leverage {plan.leverage_before:.2f}× before, "
        f"{plan.leverage_after:.2f}× after"
    )


def _order_lines(plan: TradePlan) -> Iterator[str]:
    if not plan.orders:
        return
    yield ""
    yield f"orders, {plan.style.value}:"
    for order in plan.orders:
        yield f"  {order_words(order, plan.coin)}"


def order_words(order: PlannedOrder, coin: str) -> str:
    price = "at any price" if order.price is None else f"at {order.price:,.2f}"
    words = f"{order.purpose.replace('_', ' ')}: {order.side} {order.quantity:g} {coin} {price}"
    if order.type == "maker":
        words += f", resting, for {(order.expires_seconds or 0) // 60} minutes"
    if order.type == "sliced":
        words += f", {order.slices} parts {order.slice_seconds // 60} minutes apart"
    if order.type == "limit_taker":
        words += ", or better, at once"
    return f"{words}, reduce-only" if order.reduce_only else words


def _next_step(plan: TradePlan) -> tuple[str, ...]:
    if plan.decision is TradeDecision.HOLD:
        return ()
    return (f"Nothing is sent. To approve it: zuno approve {plan.plan_id}",)
