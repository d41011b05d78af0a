"""What each office's model is told: the facts it may argue from, what matters most first."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from agents.bus.envelope import Role
from agents.model.claims import Unit
from agents.model.interface import PromptImage
from agents.model.speaking import Brief
from agents.trade import payloads
from agents.trade.facts import ContextSection, DeskQuestion, MarketSnapshot, TradeContext
from agents.trade.findings import (
    AnyFinding,
    ConflictMap,
    GeometryFinding,
    LiquidityFinding,
    RegimeCall,
    TriageReport,
)
from agents.trade.indicators import PriceLevel
from agents.trade.risk_rules import Sizing
from agents.trade.routing import most_characters
from agents.trade.terms import Objective, SectionName, SectionStatus

_PRICE_DIGITS = 7
_HEDGE = "hedge"
_UNITS = {
    "rate": Unit.FRACTION,
    "mark": Unit.PRICE,
    "index": Unit.PRICE,
    "bought_24h": Unit.FRACTION,
    "moved_24h": Unit.FRACTION,
    "imbalance5": Unit.FRACTION,
    "imbalance20": Unit.FRACTION,
    "imbalance100": Unit.FRACTION,
    "long_usd": Unit.USD,
    "short_usd": Unit.USD,
    "dollar_change": Unit.FRACTION,
    "nasdaq_change": Unit.FRACTION,
    "put_call": Unit.MULTIPLIER,
}
_SECTIONS: dict[Role, tuple[SectionName, ...]] = {
    payloads.META: (
        SectionName.FUNDING,
        SectionName.OPTIONS,
        SectionName.MACRO,
        SectionName.FEAR_GREED,
        SectionName.CVD,
    ),
    payloads.LIQUIDITY: (SectionName.CVD, SectionName.LIQUIDATIONS),
    payloads.MICROSTRUCTURE: (SectionName.MICROSTRUCTURE,),
    payloads.MACRO: (SectionName.OPTIONS, SectionName.MACRO),
    payloads.JUDGE: (
        SectionName.FUNDING,
        SectionName.CVD,
        SectionName.LIQUIDATIONS,
        SectionName.MICROSTRUCTURE,
        SectionName.OPTIONS,
        SectionName.MACRO,
        SectionName.FEAR_GREED,
    ),
    payloads.RISK_MANAGER: (
        SectionName.FUNDING,
        SectionName.LIQUIDATIONS,
        SectionName.OPTIONS,
        SectionName.MACRO,
        SectionName.MICROSTRUCTURE,
    ),
}
_FROM_OUTSIDE = (SectionName.NARRATIVE, SectionName.NEWS)
"""Text that strangers wrote: only offices that can do no more than tighten are told it."""


def meta_brief(
    role: Role,
    question: DeskQuestion,
    market: MarketSnapshot,
    context: TradeContext,
    by_rules: RegimeCall,
) -> Brief:
    brief = Brief(office(role))
    _say_market(brief, question, market)
    brief.say(
        f"Code names the regime {by_rules.regime.value} ({brief.quote(by_rules.rationale)}) with "
        f"a risk budget of {_percent(brief, by_rules.risk_budget_pct)}."
    )
    _say_sections(brief, context, role)
    _say_memory(brief, question)
    _say_outside(brief, context)
    return _within(brief, role)


def expert_brief(role: Role, case: payloads.TriageDone) -> Brief:
    brief = Brief(office(role))
    _say_market(brief, case.question, case.market)
    _say_triage(brief, case.triage)
    _say_sections(brief, case.context, role)
    return _within(brief, role)


def chart_brief(role: Role, case: payloads.ChartReady, image: PromptImage) -> Brief:
    """The picture and what it is for; its levels are for its reader to find."""
    brief = Brief(office(role), image=image)
    _say_market(brief, case.question, case.market)
    _say_triage(brief, case.triage)
    return _within(brief, role)


def synthesis_brief(
    role: Role, case: payloads.TriageDone, findings: Sequence[AnyFinding], conflicts: ConflictMap
) -> Brief:
    brief = Brief(office(role))
    _say_conflicts(brief, conflicts)
    _say_regime(brief, case.regime)
    _say_market(brief, case.question, case.market)
    _say_findings(brief, findings)
    return _within(brief, role)


def judge_brief(role: Role, case: payloads.SynthesisReady, levels: Sequence[PriceLevel]) -> Brief:
    question = case.question
    hedging = question.objective is Objective.HEDGE
    brief = Brief(office(_HEDGE if hedging else role))
    _say_conflicts(brief, case.conflicts)
    _say_regime(brief, case.regime)
    _say_market(brief, question, case.market)
    _say_triage(brief, case.triage)
    _say_account(brief, question)
    _say_findings(brief, case.findings)
    _say_blackboard(brief, case.findings)
    _say_sections(brief, case.context, role)
    _say_memory(brief, question)
    if not hedging:
        told = "; ".join(f"{level.name} {_price(brief, level.price)}" for level in levels)
        brief.say(f"Levels: {told}")
        # Last, so that it is cut first.
        _say_outside(brief, case.context)
    return _within(brief, role)


def risk_brief(
    role: Role, case: payloads.DecisionDraft, draft: Sizing, fired: Sequence[str]
) -> Brief:
    brief = Brief(office(role))
    brief.say(
        f"The draft after the rules: {draft.decision.value}, allocation "
        f"{_percent(brief, draft.allocation_pct)} of the account, leverage "
        f"{brief.number(draft.leverage, Unit.MULTIPLIER)}; rules that took from it: "
        f"{', '.join(fired) or 'none'}."
    )
    _say_regime(brief, case.regime)
    _say_market(brief, case.question, case.market)
    _say_triage(brief, case.triage)
    _say_account(brief, case.question)
    _say_sections(brief, case.context, role)
    missing = ", ".join(kind.value for kind in case.context.missing_sections) or "none"
    brief.say(f"Sources that are missing or stale: {missing}.")
    return _within(brief, role)


@cache
def office(name: str) -> str:
    return files("agents.trade.prompts").joinpath(f"{name}.txt").read_text("utf-8")


def _within(brief: Brief, role: Role) -> Brief:
    """Whole lines off the end where it is too long: what matters most was said first."""
    most = most_characters(role)
    while len(brief.lines) > 1 and len(brief.prompt.user) > most:
        brief.lines.pop()
    return brief


def _say_market(brief: Brief, question: DeskQuestion, market: MarketSnapshot) -> None:
    aim = (
        "how much of a liquidity position's coins to hedge"
        if question.objective is Objective.HEDGE
        else "an outright trade"
    )
    brief.say(
        f"{market.symbol} in {question.mode.value} mode; asked is {aim}. "
        f"Mark {_price(brief, market.mark)}."
    )
    closes = [candle.close for candle in market.hours.candles]
    told = [
        f"{hours} h ago {_price(brief, closes[-hours - 1])}"
        for hours in (1, 4, 24, 72)
        if len(closes) > hours
    ]
    if told:
        brief.say(f"Price {', '.join(told)}.")


def _say_triage(brief: Brief, triage: TriageReport) -> None:
    found = ", ".join(anomaly.value for anomaly in triage.anomalies) or "nothing unusual"
    brief.say(
        f"Triage found: {found}. Range over usual "
        f"{brief.number(triage.atr_ratio, Unit.MULTIPLIER)}, volume over usual "
        f"{brief.number(triage.volume_ratio, Unit.MULTIPLIER)}, open interest in the hour "
        f"{brief.number(triage.interest_change, Unit.FRACTION)}."
    )


def _say_sections(brief: Brief, context: TradeContext, role: Role) -> None:
    for name in _SECTIONS[role]:
        brief.say(_section(brief, context.section(name)))


def _section(brief: Brief, section: ContextSection) -> str:
    if section.status is SectionStatus.UNAVAILABLE:
        return f"{section.name.value}: unavailable."
    stale = ", stale" if section.status is SectionStatus.STALE else ""
    told = ", ".join(
        f"{field} {_number(brief, field, number)}"
        for field, number in sorted(section.numbers.items())
    )
    return f"{section.name.value} ({section.source}{stale}): {told}."


def _number(brief: Brief, field: str, number: float) -> str:
    unit = _UNITS.get(field, Unit.PLAIN)
    return _price(brief, number) if unit is Unit.PRICE else brief.number(number, unit)


def _say_outside(brief: Brief, context: TradeContext) -> None:
    for name in _FROM_OUTSIDE:
        section = context.section(name)
        if section.status is SectionStatus.UNAVAILABLE:
            brief.say(f"{name.value}: unavailable.")
            continue
        for line in section.text.splitlines():
            brief.say(f"{name.value}, by strangers: {brief.quote_stranger(line)}")
    # Behind how much was filed stands what earlier hours have filed and fits this one.
    for line in context.section(SectionName.INGESTION).text.splitlines()[1:]:
        brief.say(f"filed earlier, by strangers: {brief.quote_stranger(line)}")


def _say_conflicts(brief: Brief, conflicts: ConflictMap) -> None:
    brief.say(
        f"Conflict map: dominant {conflicts.dominant_signal.value}, surest "
        f"{conflicts.highest_confidence_expert.value}."
    )
    for signal in conflicts.consensus_signals:
        brief.say(f"  agreed: {brief.quote(signal)}")
    for conflict in conflicts.conflicts:
        brief.say(
            f"  {conflict.between[0].value} {brief.quote(conflict.expert_a_claim)} against "
            f"{conflict.between[1].value} {brief.quote(conflict.expert_b_claim)}; "
            f"{conflict.tiebreaker}"
        )
    brief.say(f"  open: {brief.quote(conflicts.key_uncertainty)}")
    brief.say(f"  whom to weigh: {brief.quote(conflicts.regime_note)}")


def _say_regime(brief: Brief, regime: RegimeCall) -> None:
    brief.say(
        f"Regime {regime.regime.value}, risk budget {_percent(brief, regime.risk_budget_pct)}, "
        f"{regime.risk_bias}. Trust directive: «{regime.trust_directive}»"
    )


def _say_findings(brief: Brief, findings: Sequence[AnyFinding]) -> None:
    for finding in findings:
        by = "by rule" if finding.fallback else "by model"
        brief.say(
            f"{finding.expert.value} ({by}): {finding.bias.value}, confidence "
            f"{brief.number(finding.confidence, Unit.FRACTION)}, anomaly {finding.anomaly}, "
            f"{brief.quote(finding.rationale)}"
        )


def _say_blackboard(brief: Brief, findings: Sequence[AnyFinding]) -> None:
    """What two experts have seen beside a side and a confidence."""
    for finding in findings:
        if isinstance(finding, LiquidityFinding) and finding.target_entry is not None:
            brief.say(f"  liquidity would enter at {_price(brief, finding.target_entry)}")
        if isinstance(finding, GeometryFinding):
            levels = "; ".join(
                f"{name.replace('_', ' ')} {_price(brief, price)}"
                for name, price in finding.key_levels.model_dump().items()
                if price is not None
            )
            brief.say(f"  the chart's levels: {levels or 'none'}")
            brief.say(
                f"  on the chart: pattern {finding.pattern}, flow {finding.cvd_signal}, funding "
                f"{finding.funding_visual}; {brief.quote(finding.fibonacci_context)}"
            )
            if finding.unverified:
                names = ", ".join(name.replace("_", " ") for name in finding.unverified)
                brief.say(f"  read off it, and not borne out by its numbers: {names}")


def _say_account(brief: Brief, question: DeskQuestion) -> None:
    account, hedge = question.account, question.hedge
    held = account.quantity_of(question.symbol)
    brief.say(
        f"Held on the venue: {brief.number(held, Unit.PLAIN)} {question.coin} (below zero is "
        f"short); equity {brief.number(account.equity, Unit.USD)}."
    )
    if hedge is not None:
        where = ""
        if hedge.price_range is not None:
            lower, upper = hedge.price_range
            where = f", between {_price(brief, lower)} and {_price(brief, upper)}"
        brief.say(
            f"The position holds {brief.number(hedge.delta, Unit.PLAIN)} {hedge.coin} of "
            f"{brief.number(hedge.worth_usd, Unit.USD)}{where}."
        )


def _say_memory(brief: Brief, question: DeskQuestion) -> None:
    """What was decided before, how odds have fared, and what ended trades taught."""
    previous, record = question.previous, question.record
    if previous is not None:
        brief.say(
            f"The last decision here: {previous.decision.value} in {previous.regime.value} at "
            f"{_price(brief, previous.mark)}."
        )
    brief.say(
        f"Own record: {brief.number(record.won, Unit.COUNT)} of "
        f"{brief.number(record.resolved, Unit.COUNT)} trades won."
    )
    for kind in question.kinds:
        claimed = None if kind.mean_win_pct is None else kind.mean_win_pct / 100
        brief.say(
            f"  {kind.decision} in {kind.regime}: {brief.number(kind.won, Unit.COUNT)} of "
            f"{brief.number(kind.ended, Unit.COUNT)} won, on average "
            f"{_percent(brief, kind.mean_pct)} after fees; claimed odds "
            f"{brief.number(claimed, Unit.FRACTION)}."
        )
    if question.feedback:
        brief.say(f"  what it taught: {brief.quote(question.feedback)}")
    for lesson in question.lessons:
        brief.say(
            f"  like it before: {brief.quote(lesson.setup)} came to {brief.quote(lesson.outcome)}; "
            f"mind: {brief.quote(lesson.constraint)}"
        )


def _price(brief: Brief, price: float) -> str:
    return brief.ledger.cite(price, Unit.PRICE, digits=_PRICE_DIGITS)


def _percent(brief: Brief, percent: float) -> str:
    return brief.number(percent / 100, Unit.FRACTION)
