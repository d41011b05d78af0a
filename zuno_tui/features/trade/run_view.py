"""A run of the trade desk as the screen, the chat and a report show it."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import inf

from msgspec.structs import replace

from agents.bus.envelope import Payload
from agents.bus.plan_store import PlanDocument
from agents.trade.facts import ContextSection, KindLesson, MarketSnapshot
from agents.trade.findings import AnyFinding, ConflictMap, KeyLevels, RegimeCall
from agents.trade.payloads import (
    ContextGathered,
    DecisionDraft,
    ExpertSpoke,
    FlowDeskStart,
    RegimeClassified,
    RiskVerdict,
    SnapshotTaken,
    SynthesisReady,
    TradePlanReady,
    TriageDone,
)
from agents.trade.plan import (
    LadderStep,
    PlannedOrder,
    TradeOdds,
    TradePlan,
)
from agents.trade.terms import ExpertName, SectionName, SectionStatus, TradeDecision, TradeMode
from chain.base.clean_text import clean_text
from chain.base.units import age_text, signed_percent
from chain.protocols.reference import position_label, position_name
from zuno_tui.features.trade.drawing import (
    AT_MARKET,
    LIQUIDATION,
    bias_counts,
    head_lines,
    is_even,
    is_paper,
    large_lines,
    sections,
)
from zuno_tui.features.trade.hedge_view import (
    entry_price,
    hedge_effect,
    hedge_payoff,
    hedge_tables,
)
from zuno_tui.features.trade.run_parts import (
    EXPERT_TITLES,
    SOURCE_TITLES,
    STAGE_TITLES,
    ConflictLine,
    ConflictMapView,
    ExpertCard,
    LadderRow,
    LampState,
    RegimeChip,
    SourceLamp,
    TradeRunView,
    TradeVerdict,
    VerdictKind,
)
from zuno_tui.intents.pieces import list_names
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.charts import plain
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.terminal import line_width
from zuno_tui.present.views import ChartView, Tone

_CHART_HOURS = 168
_WIDTH = 110
"""Of lines that nobody sees in a terminal."""


def trade_answer(plan: TradePlan, document: PlanDocument) -> CommandAnswer:
    return CommandAnswer(
        lines=tuple(trade_lines(plan)),
        document=document,  # type: ignore[arg-type]
        remarks=_next_step(plan),
        code=FAILED if plan.by_failure else DONE,
    )


def trade_lines(plan: TradePlan) -> Iterator[str]:
    return run_lines(run_of_plan(plan, ""), line_width() or _WIDTH)


def run_lines(view: TradeRunView, width: int) -> Iterator[str]:
    """All that the screen shows, in the same words."""
    yield run_title(view)
    yield from (plain(line).rstrip() for line in head_lines(view, width))
    yield from (plain(line).rstrip() for line in large_lines(view, width))
    for section in sections(view):
        yield ""
        yield f"{section.title}  {section.beside}".rstrip()
        yield from (plain(line).rstrip() for line in section.draw(width))


def message_lines(view: TradeRunView) -> Iterator[str]:
    """The run as a telephone shows it: the verdict, what it rests on, and how to find it again."""
    yield run_title(view)
    if view.verdict is None:
        yield f"… {view.working or 'waiting'}"
    else:
        yield view.verdict.headline
        yield view.verdict.reason
        yield from filter(None, (view.verdict.dissent,))
        held = tuple(table for table in view.verdict.tables if not table.beside)
        yield from _rests_on(replace(view.verdict, tables=held[:2]))
        yield from view.progress
    if view.regime is not None:
        found = (
            ", ".join(anomaly.replace("_", " ") for anomaly in view.anomalies or ())
            or "no anomalies"
        )
        yield f"{view.regime.name}, risk budget {view.regime.budget}; {found}; mark {view.mark}"
    for card in view.experts:
        if card.bias and card.confidence is not None:
            yield f"{card.title}: {card.bias} {card.confidence:.0%}"
    dark = [lamp.title for lamp in view.lamps if lamp.state in ("stale", "missing")]
    if dark:
        yield f"dark: {', '.join(dark)}"


def run_title(view: TradeRunView) -> str:
    return " · ".join(filter(None, (view.plan_id, view.subject, view.mode, view.venue)))


def _next_step(plan: TradePlan) -> tuple[str, ...]:
    if plan.decision is TradeDecision.HOLD:
        phrase = anyway_phrase(plan)
        anyway = f" {_ON_PAPER}: zuno {_typed(plan)}." if phrase else ""
        again = f" To have it looked at again and again: zuno trade watch {plan.coin}"
        return (f"Nothing is sent.{anyway}{'' if plan.hedge else again}",)
    return (f"Nothing is sent. To approve it: zuno approve {plan.plan_id}",)


_ON_PAPER = "With paper money you may open it all the same"


def _typed(plan: TradePlan) -> str:
    mode = "" if plan.mode is TradeMode.SWING else f" --mode {plan.mode.value}"
    return f"trade {plan.coin}{mode} --anyway"


def fact_lines(view: TradeRunView) -> Iterator[str]:
    yield from _decided(view)
    if view.regime is not None:
        regime = view.regime
        yield f"regime: {regime.name}, risk budget {regime.budget}: {regime.why}. {regime.trust}"
    if view.anomalies is not None:
        found = ", ".join(anomaly.replace("_", " ") for anomaly in view.anomalies) or "no anomalies"
        yield f"triage, anomalies: {found}"
    for card in view.experts:
        if card.confidence is not None:
            more = "; ".join(filter(None, (card.sees, card.says, card.levels)))
            yield f"{card.title} expert: {card.bias} {card.confidence:.0%}: {more}"
    if view.conflicts is not None:
        found = view.conflicts.dominant
        yield f"experts on balance: {found}, surest is {view.conflicts.strongest}"
        for conflict in view.conflicts.conflicts:
            yield f"conflict, {conflict.between}: {conflict.tiebreaker}"
        yield f"open question: {view.conflicts.question}"
    for row in view.ladder:
        if row.decision:
            parts = (row.decision, row.allocation, row.leverage, row.worth, row.why)
            yield f"ladder, {row.stage}: {', '.join(filter(None, parts))}"
    for lamp in view.lamps:
        yield " ".join(filter(None, (f"source {lamp.title}: {lamp.state}", lamp.age, lamp.says)))


def _decided(view: TradeRunView) -> Iterator[str]:
    told = view.verdict
    if told is None:
        return
    yield f"decision: {told.headline}: {told.reason}"
    yield from filter(None, (told.dissent,))
    yield from _rests_on(told)
    if view.mark:
        yield f"mark price: {view.mark}"


def _rests_on(told: TradeVerdict) -> Iterator[str]:
    """Its figures and orders, each in a line that stands alone."""
    for table in told.tables:
        for row in table.rows:
            figures = ((table.first, row.first), (table.second, row.second))
            words = [*(f"{name} {figure}" for name, figure in figures if figure), row.beside]
            yield f"{table.title.lower()}, {row.name}: {', '.join(filter(None, words))}"
        yield from filter(None, (table.note,))
    yield from told.lines
    yield from (f"order, {order}" for order in told.orders)
    yield from (f"against it: {words}" for words in told.against)


EXPERT_TITLE = dict(zip(ExpertName, EXPERT_TITLES, strict=True))
_SOURCE_TITLE = dict(zip(SectionName, SOURCE_TITLES, strict=True))
_LAMPS: dict[SectionStatus, LampState] = {
    SectionStatus.OK: "fresh",
    SectionStatus.STALE: "stale",
    SectionStatus.UNAVAILABLE: "missing",
}


def run_begun(request_id: str, subject: str, mode: str) -> TradeRunView:
    return TradeRunView(request_id, subject, mode, "", working="reading the market")


def run_heard(view: TradeRunView, payload: Payload) -> TradeRunView:
    """The run after one more message of its flow; what tells nothing new leaves it as it was."""
    if isinstance(payload, TradePlanReady):
        return run_of_plan(payload.plan, view.request_id)
    news = _news(view, payload)
    return replace(view, **news) if news else view


def _news(view: TradeRunView, payload: Payload) -> dict[str, object]:
    """What a message changes; of those that carry earlier ones along, the latest part alone."""
    news: dict[str, object] = {}
    match payload:
        case FlowDeskStart(question=asked):
            ref = None if asked.hedge is None else asked.hedge.token_id
            news = {"venue": asked.account.venue, "coin": asked.coin, "ref": ref}
        case SnapshotTaken(market=market):
            news = {"mark": f"{market.mark:,.2f}", "read_at": market.time}
            news["working"] = "naming the regime"
        case ContextGathered(context=context):
            news = {"lamps": lamps(context.sections, view.read_at)}
        case RiskVerdict(ladder=ladder):
            news = {"ladder": ladder_rows(ladder), "working": "guarding the leverage"}
        case DecisionDraft(ladder=ladder):
            news = {"ladder": ladder_rows(ladder), "working": "holding it to the risk rules"}
        case SynthesisReady(conflicts=conflicts):
            news = {"conflicts": conflict_map_view(conflicts), "working": "judging"}
        case TriageDone(triage=triage):
            found = tuple(anomaly.value for anomaly in triage.anomalies)
            news = {"anomalies": found, "working": "hearing four experts"}
        case RegimeClassified(regime=regime):
            news = {"regime": regime_chip(regime), "working": "looking for what is unusual"}
        case ExpertSpoke(finding=finding):
            card = expert_card(finding)
            cards = (card if expert.title == card.title else expert for expert in view.experts)
            news = {"experts": tuple(cards)}
        case _:
            pass
    return news


def run_failed(view: TradeRunView, reason: str) -> TradeRunView:
    """It came to no plan: that is no HOLD either."""
    return replace(view, working="", verdict=TradeVerdict("failed", "No decision", reason))


def run_of_plan(plan: TradePlan, request_id: str) -> TradeRunView:
    return TradeRunView(
        request_id=request_id,
        subject=subject_words(plan),
        mode=plan.mode.value,
        venue=plan.venue,
        coin=plan.coin,
        ref=plan.ref,
        mark=f"{plan.mark:,.2f}" if plan.mark else "",
        read_at=plan.market_time,
        regime=None if plan.regime is None else regime_chip(plan.regime),
        anomalies=None
        if plan.regime is None
        else tuple(anomaly.value for anomaly in plan.anomalies),
        lamps=lamps(plan.sections, plan.market_time),
        experts=_cards(plan.findings),
        conflicts=None if plan.conflicts is None else conflict_map_view(plan.conflicts),
        ladder=ladder_rows(plan.ladder),
        verdict=verdict(plan),
        plan_id=plan.plan_id,
        made_at=float(plan.made_at),
        next_phrase="approve" if plan.orders else anyway_phrase(plan),
    )


def anyway_phrase(plan: TradePlan) -> str:
    """How the person opens on paper what the odds alone refused; empty where that is not so."""
    refused = plan.setup is not None and plan.setup.refused_by == "expected_value"
    if not refused or not is_paper(plan.venue):
        return ""
    return f"trade {plan.coin} {plan.mode.value} anyway"


def plan_chart(market: MarketSnapshot | None, plan: TradePlan) -> ChartView | None:
    """The week before the plan, the range of the position that is hedged, and its prices."""
    candles = () if market is None else market.hours.candles[-_CHART_HOURS:]
    if len(candles) < 2:
        return None
    planned: tuple[tuple[str, float | None, Tone], ...] = (
        ("entry", entry_price(plan), "dim"),
        ("stop", plan.stop, "bad"),
        ("profit", plan.take_profit, "good"),
    )
    earning = None if plan.hedge is None else plan.hedge.position.price_range
    return ChartView(
        tuple(float(candle.time) for candle in candles),
        tuple(candle.close for candle in candles),
        *(earning or (0.0, inf)),
        marks=tuple((price, name, tone) for name, price, tone in planned if price is not None),
    )


def subject_words(plan: TradePlan) -> str:
    if plan.hedge is None:
        return plan.symbol
    position = plan.hedge.position
    return f"Hedge of {position_label(position.token_id)} {position.pair} · {plan.symbol}"


def lamps(sections: Sequence[ContextSection], read_at: int | None) -> tuple[SourceLamp, ...]:
    return tuple(
        SourceLamp(
            _SOURCE_TITLE[section.name],
            _LAMPS[section.status],
            _age(section, read_at),
            clean_text(section.source),
            clean_text(section.text),
        )
        for section in sections
    )


def _age(section: ContextSection, read_at: int | None) -> str:
    if section.as_of is None or read_at is None or section.status is SectionStatus.UNAVAILABLE:
        return ""
    return age_text(max(0, read_at - section.as_of))


def regime_chip(regime: RegimeCall) -> RegimeChip:
    return RegimeChip(
        regime.regime.value.replace("_", " ").lower(),
        f"{regime.risk_budget_pct:g}%",
        regime.risk_bias,
        clean_text(regime.rationale),
        clean_text(regime.trust_directive),
    )


def _cards(findings: Sequence[AnyFinding]) -> tuple[ExpertCard, ...]:
    spoken = {card.title: card for card in map(expert_card, findings)}
    return tuple(spoken.get(title, ExpertCard(title)) for title in EXPERT_TITLES)


def expert_card(finding: AnyFinding) -> ExpertCard:
    return ExpertCard(
        EXPERT_TITLE[finding.expert],
        finding.bias.value,
        finding.confidence,
        "" if finding.anomaly == "none" else finding.anomaly.replace("_", " "),
        clean_text(finding.rationale),
        _levels(finding.key_levels) if finding.expert is ExpertName.GEOMETRY else "",
        finding.fallback,
    )


def _levels(levels: KeyLevels) -> str:
    known = (
        ("support", levels.immediate_support),
        ("resistance", levels.immediate_resistance),
        ("most traded", levels.volume_poc),
    )
    return ", ".join(f"{name} {price:,.2f}" for name, price in known if price is not None)


def conflict_map_view(found: ConflictMap) -> ConflictMapView:
    return ConflictMapView(
        found.dominant_signal.value,
        EXPERT_TITLE[found.highest_confidence_expert],
        tuple(clean_text(signal) for signal in found.consensus_signals),
        tuple(
            ConflictLine(
                " against ".join(EXPERT_TITLE[name] for name in conflict.between),
                clean_text(conflict.expert_a_claim),
                clean_text(conflict.expert_b_claim),
                clean_text(conflict.tiebreaker),
            )
            for conflict in found.conflicts
        ),
        clean_text(found.key_uncertainty),
        clean_text(found.regime_note),
    )


def ladder_rows(steps: Sequence[LadderStep]) -> tuple[LadderRow, ...]:
    """Five rows in any case; a stage that has not judged yet is empty."""
    before: LadderStep | None = None
    rows = []
    for title, step in zip_longest(STAGE_TITLES, steps[: len(STAGE_TITLES)]):
        rows.append(LadderRow(title) if step is None else _row(title, step, before))
        before = step or before
    return tuple(rows)


def _row(title: str, step: LadderStep, before: LadderStep | None) -> LadderRow:
    last = step if before is None else before
    return LadderRow(
        title,
        _change(last.decision.value, step.decision.value),
        _change(f"{last.allocation_pct:.3g}%", f"{step.allocation_pct:.3g}%"),
        _change(f"{last.leverage:.3g}×", f"{step.leverage:.3g}×"),
        _change(f"${last.notional_usd:,.0f}", f"${step.notional_usd:,.0f}"),
        ", ".join(note.replace("_", " ") for note in step.notes),
        took=(step.decision, step.allocation_pct, step.leverage)
        != (last.decision, last.allocation_pct, last.leverage),
        stopped=step.decision is TradeDecision.HOLD and last.decision is not TradeDecision.HOLD,
    )


def _change(before: str, after: str) -> str:
    return after if before == after else f"{before} → {after}"


def verdict(plan: TradePlan) -> TradeVerdict:
    kind: VerdictKind = "holds" if plan.decision is TradeDecision.HOLD else "acts"
    return TradeVerdict(
        "failed" if plan.by_failure else kind,
        decision_words(plan),
        hedge_effect(plan) or clean_text(plan.reason),
        tuple(hedge_tables(plan)),
        (
            *_left_out(plan),
            *_odds_lines(plan.odds, plan),
            *_account_line(plan),
            *_missing_line(plan),
        ),
        tuple(order_words(order, plan.coin) for order in plan.orders),
        tuple(_against(plan)),
        _dissent(plan),
        f"unhedge {position_name(plan.hedge.position.token_id)}"
        if plan.hedge and plan.decision.opens
        else "",
        hedge_payoff(plan),
    )


def orders_words(plan: TradePlan) -> str:
    """What is traded, from the orders themselves."""
    sums: dict[str, float] = {}
    for order in plan.trading_orders:
        sums[order.side] = sums.get(order.side, 0.0) + order.quantity
    return ", ".join(
        f"{side} {coins:g} {plan.coin} (${coins * plan.mark:,.2f})" for side, coins in sums.items()
    )


def decision_words(plan: TradePlan) -> str:
    """A HOLD that something missing brought about is told apart from one that was judged."""
    if plan.by_failure:
        return "No decision"
    return ": ".join(filter(None, (_title(plan), orders_words(plan))))


def _missing_line(plan: TradePlan) -> Iterator[str]:
    if plan.missing and plan.hedge is None:
        count = f"{len(plan.missing)} of {len(SOURCE_TITLES)}"
        names = list_names(_SOURCE_TITLE[name] for name in plan.missing)
        yield f"argued without {count} sources: {names}"


def _title(plan: TradePlan) -> str:
    holds = plan.decision is TradeDecision.HOLD
    if plan.hedge is None:
        return "No trade" if holds else plan.decision.value.replace("_", " ").capitalize()
    name = position_label(plan.hedge.position.token_id)
    if holds:
        return f"Keep the hedge of {name} as it is" if plan.hedge.held else "No hedge"
    closes = plan.decision is TradeDecision.CANCEL_AND_CLOSE
    return f"{'Close the hedge of' if closes else 'Hedge'} {name}"


def _left_out(plan: TradePlan) -> Iterator[str]:
    if plan.hedge is None:
        return
    position = plan.hedge.position
    if position.unhedged_coin:
        yield f"{position.unhedged_coin} in it stays unhedged: the venue has no contract of it"
    if position.other_coin:
        yield (
            f"{position.other_coin} in it takes a plan of its own: "
            f"zuno hedge {position_name(position.token_id)}"
        )


_AGAINST = 100
"""Dollars of a rise."""


def _against(plan: TradePlan) -> Iterator[str]:
    hedge = plan.hedge
    if hedge is not None and hedge.position.delta and plan.decision.opens:
        # By what is really sold, which the argument before it could not know.
        lost, earning = round(hedge.reached * _AGAINST), hedge.position.price_range
        name = position_label(hedge.position.token_id)
        where = "" if earning is None else f"Above {earning[1]:,.2f} {name} gains no more: "
        words = f"the short loses ${lost:,} per ${_AGAINST} up."
        yield f"{where}{words}" if where else f"{words[0].upper()}{words[1:]}"
    argued = "" if plan.reasoning is None else clean_text(plan.reasoning.counter_scenario)
    if argued and not (hedge is not None and argued.startswith(f"If {hedge.position.coin} rises")):
        yield argued


def _dissent(plan: TradePlan) -> str:
    """The size is what the person asked for; what the experts would do is told with their why."""
    hedge = plan.hedge
    if plan.against_odds and plan.odds is not None:
        return (
            f"Expected to bring {signed_percent(plan.odds.expected_pct / 100)} after costs. "
            "On a real venue zuno would refuse it."
        )
    if hedge is None or hedge.argued is None or not plan.decision.opens:
        return ""
    less = f"only {hedge.argued:.0%}" if hedge.argued else "nothing"
    lean = "" if plan.conflicts is None else _lean(plan.conflicts, _cards(plan.findings))
    asked = "This hedges all of it." if hedge.ratio == 1 else f"You asked for {hedge.ratio:.0%}."
    return f"{asked} The experts {lean}would hedge {less}."


def _lean(conflicts: ConflictMap, cards: Sequence[ExpertCard]) -> str:
    leaning = conflicts.dominant_signal.value
    if leaning == "NEUTRAL":
        lean = "see no direction"
    else:
        lean = "are split" if is_even(cards) else f"lean {leaning.lower()}"
    return f"{lean} ({bias_counts(cards)}) and "


def _odds_lines(odds: TradeOdds | None, plan: TradePlan) -> Iterator[str]:
    if odds is None:
        return
    setup = plan.setup
    if plan.entry is not None:
        yield (
            f"entry {plan.entry:,.2f}, stop {plan.stop:,.2f}, take profit {plan.take_profit:,.2f}"
        )
    elif setup is not None:
        yield (
            f"drafted: {setup.decision.value}, entry {setup.entry:,.2f}, stop {setup.stop:,.2f}, "
            f"take profit {setup.take_profit:,.2f}; kept, and judged by what the price does now"
        )
    if (taught := plan.taught) is not None:
        yield (
            f"{taught.decision} in {taught.regime.replace('_', ' ').lower()} before: "
            f"{taught.won} of {taught.ended} won, {taught.fair_wins:.1f} by chance, "
            f"{signed_percent(taught.mean_pct / 100)} on average; "
            f"the last taught: {clean_text(taught.lesson)}{_came_true(taught)}"
        )
    record = odds.record
    past = (
        f"{record.won} of {record.resolved} setups won, {record.fair_wins:.1f} by chance, "
        f"{record.proved * 100:.1f} points proved"
        if record.resolved
        else "no setup has been judged yet"
    )
    yield (
        f"odds {odds.win_pct:.0f}%: by chance {odds.fair_pct:.0f}%, {past}; break-even "
        f"{odds.break_even_pct:.0f}%; +{odds.profit_pct:.2f}% or −{odds.loss_pct:.2f}%, "
        f"expected {signed_percent(odds.expected_pct / 100)} after costs"
    )


def _came_true(taught: KindLesson) -> str:
    """Of the lessons before the last, how many the next setup of their kind bore out."""
    before = taught.ended - 1
    return f"; {taught.came_true} of {before} lessons before came true" if before else ""


def _account_line(plan: TradePlan) -> Iterator[str]:
    known = plan.leverage_before, plan.leverage_after, plan.equity
    if plan.hedge is not None or None in known:
        return
    if plan.decision is TradeDecision.HOLD and not plan.leverage_before:
        return
    ends = ""
    if plan.liquidation is not None and plan.mark:
        ends = f", {LIQUIDATION} {plan.liquidation:,.0f} ({plan.liquidation / plan.mark - 1:+.0%})"
    yield (
        f"account ${plan.equity:,.2f}, leverage {plan.leverage_before:.2f}× before, "
        f"{plan.leverage_after:.2f}× after{ends}"
    )


def order_words(order: PlannedOrder, coin: str) -> str:
    price = AT_MARKET if order.price is None else f"at {order.price:,.2f}"
    words = f"{order.purpose.replace('_', ' ')}: {order.side} {order.quantity:g} {coin} {price}"
    if order.finishes:
        worst = AT_MARKET if order.price is None else f"at once at {order.price:,.2f} or better"
        return f"then: {order.side} what is left, at most {order.quantity:g} {coin}, {worst}"
    if order.type == "maker":
        words += f" or better, resting, for {_duration(order.expires_seconds or 0)}"
    if order.type == "sliced":
        words += f", {order.slices} parts {order.slice_seconds // 60} minutes apart"
    if order.type == "limit_taker":
        words += ", or better, at once"
    return f"{words}, reduce-only" if order.reduce_only else words


def _duration(seconds: int) -> str:
    return f"{seconds} seconds" if seconds < _MINUTES else f"{seconds // 60} minutes"


_MINUTES = 120
