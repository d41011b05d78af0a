"""A debate check as people and programs read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agents.model.budget import NANO
from agents.scorecard.debate_check import (
    BetterSide,
    CheckedSituation,
    CountedShare,
    DebateCheck,
    DebateRun,
    PlanDecision,
    better_side,
)
from chain.base.units import UNKNOWN, percent
from zuno_tui.present.output import Json, OutputColumn, table
from zuno_tui.present.plan_sentence import plan_pools, range_words

if TYPE_CHECKING:
    from agents.lp.plan import Plan
    from chain.base.store import Store

_COLUMNS = ("record", "about", "the rules", "with the model", "right", "tokens", "seconds", "cost")


class SkippedRecord(NamedTuple):
    name: str
    reason: str


def decision_words(plan: Plan | None, store: Store | None = None) -> str:
    """`hold`, `exit` or the move with its range in prices."""
    if plan is None:
        return "no plan"
    if plan.choice.kind != "move":
        return plan.choice.kind
    return f"{plan.recommended.kind} {range_words(plan.recommended, plan_pools(plan, store))}"


def check_lines(
    check: DebateCheck, situations: Sequence[CheckedSituation], store: Store
) -> Iterator[str]:
    rows = [_row(one, store) for one in situations]
    yield from table([OutputColumn(title) for title in _COLUMNS], rows)
    yield (
        f"agreement with the rules: {_share(check.agreed)}; "
        f"to the very range: {_share(check.agreed_exactly)}"
    )
    again = "" if check.flipped.of else "; with --times 2 it is asked again"
    yield (
        f"flips, asked again about the same facts: {_share(check.flipped)}; "
        f"to another range: {_share(check.flipped_range)}{again}"
    )
    yield (
        f"who was right where they differ: model {check.better[BetterSide.MODEL]}, rules "
        f"{check.better[BetterSide.RULES]}, not known {check.better[BetterSide.UNKNOWN]}"
    )
    debates = max(1, check.debates)
    yield (
        f"{check.debates} debates with the model: {check.tokens:,} tokens, "
        f"{_money(check.nano_usd)}, {check.seconds:.1f} s; each {check.tokens / debates:,.0f} "
        f"tokens and {check.seconds / debates:.1f} s"
    )
    yield f"{check.situations} by the rules: no tokens, {check.rules_seconds:.1f} s"


def check_remarks(
    check: DebateCheck, situations: Sequence[CheckedSituation], skipped: Sequence[SkippedRecord]
) -> Iterator[str]:
    for one in skipped:
        yield f"{one.name} was left out: {one.reason}"
    if check.settled.count:
        yield (
            f"In {check.settled.count} of {check.settled.of} debates the rule had decided before "
            "anybody argued: no model is asked then, and they are counted in no share."
        )
    if check.silent.count:
        reasons = [why for one in situations for run in one.runs for why in run.silences[:1]]
        first = f" The first reason: {reasons[0]}" if reasons else ""
        yield (
            f"In {check.silent.count} of {check.silent.of} debates no model answered what it was "
            f"asked: they are counted in no share.{first}"
        )


def check_document(
    check: DebateCheck, situations: Sequence[CheckedSituation], skipped: Sequence[SkippedRecord]
) -> Json:
    return {
        "situations": [_situation(one) for one in situations],
        "agreement": _share_json(check.agreed),
        "agreementToTheRange": _share_json(check.agreed_exactly),
        "flips": _share_json(check.flipped),
        "flipsOfTheRange": _share_json(check.flipped_range),
        "settled": _share_json(check.settled),
        "silent": _share_json(check.silent),
        "right": dict(check.better),
        "debates": check.debates,
        "tokens": check.tokens,
        "usd": _usd(check.nano_usd),
        "seconds": round(check.seconds, 3),
        "rulesSeconds": round(check.rules_seconds, 3),
        "skipped": [{"record": one.name, "reason": one.reason} for one in skipped],
    }


def _row(one: CheckedSituation, store: Store) -> tuple[str, ...]:
    decided = dict.fromkeys(decision_words(run.plan, store) for run in one.spoken)
    sides = dict.fromkeys(better_side(one, run).value for run in one.spoken)
    costs = [run.nano_usd for run in one.runs]
    return (
        one.request_id,
        one.subject,
        decision_words(one.rules.plan, store),
        "; ".join(decided) or ("no answer" if any(run.questions for run in one.runs) else "–"),
        ", ".join(sides) or "–",
        f"{sum(run.tokens for run in one.runs):,}",
        f"{sum(run.seconds for run in one.runs):.1f}",
        _money(None if None in costs else sum(cost or 0 for cost in costs)),
    )


def _situation(one: CheckedSituation) -> Json:
    return {
        "requestId": one.request_id,
        "about": one.subject,
        "rules": _decision(one.rules.decision),
        "recordedPlan": None if one.recorded is None else one.recorded.plan_id,
        "judgedAfterDays": None if one.score is None else one.score.days,
        "runs": [_run(one, run) for run in one.runs],
    }


def _run(one: CheckedSituation, run: DebateRun) -> Json:
    return {
        "decision": _decision(run.decision),
        "agrees": run.decision == one.rules.decision if run.answers else None,
        "right": better_side(one, run).value if run.answers else None,
        "questions": run.questions,
        "answers": run.answers,
        "silences": list(run.silences),
        "tokens": run.tokens,
        "usd": _usd(run.nano_usd),
        "seconds": round(run.seconds, 3),
    }


def _decision(decision: PlanDecision | None) -> Json:
    if decision is None:
        return None
    if decision.tick_lower is None:
        return {"kind": decision.kind}
    return {
        "kind": decision.kind,
        "poolId": decision.pool_id,
        "tickLower": decision.tick_lower,
        "tickUpper": decision.tick_upper,
    }


def _share(share: CountedShare) -> str:
    part = share.part
    return UNKNOWN if part is None else f"{percent(part)} ({share.count} of {share.of})"


def _share_json(share: CountedShare) -> Json:
    return {"count": share.count, "of": share.of, "part": share.part}


def _money(nano_usd: int | None) -> str:
    return "cost unknown" if nano_usd is None else f"${nano_usd / NANO:.4f}"


def _usd(nano_usd: int | None) -> float | None:
    return None if nano_usd is None else nano_usd / NANO
