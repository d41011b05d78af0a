"""`zuno scorecard`: plans of this home, judged where a horizon is over, and told."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import to_builtins

from agents.bus.plan_store import PlanStore
from agents.scorecard.judging import (
    Judged,
    PastPlans,
    SkippedPlan,
    SkipReason,
    judge_due,
    past_plans,
)
from agents.scorecard.pool_days import (
    FEWEST_RANKINGS,
    NEXT_DAYS,
    PoolDay,
    PoolDayStore,
    RankingScore,
    ranking_scores,
)
from agents.scorecard.score import (
    AdviceKind,
    AdviceScore,
    BeatCount,
    HorizonScore,
    ScoreStore,
    ScoreSummary,
    summarise,
)
from chain.base.units import UNKNOWN, percent, time_text, usd
from chain.contracts.pool_key import PoolId
from chain.positions.overview import Sources
from chain.rpc.errors import RpcError
from zuno_tui.app.feature import features
from zuno_tui.app.plans import applied_plans
from zuno_tui.app.positions import reading_progress
from zuno_tui.app.session import Session
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document, parts
from zuno_tui.present.exit_codes import DONE, NETWORK
from zuno_tui.present.output import Json, table
from zuno_tui.present.terminal import columns

_MOST_PLANS = 12
_NONE = "–"
_KINDS = {AdviceKind.HOLD: "keep", AdviceKind.EXIT: "close", AdviceKind.KEEP: "keep tokens"}
_APPLIED = {True: "yes", False: "no", None: _NONE}
_HORIZON_NAMES = {1: "24 h", 7: "7 d", 30: "30 d"}

_ADVICE = columns(
    *("ADVICE", "BY", "AFTER>", "PLANS>", "APPLIED>"),
    *("BEAT KEEP>", "BEAT CLOSE>", "BEAT WIDE>", "MEDIAN DIFFERENCE>", "PRICE'S PART>"),
)
_STAYS = columns("STAYS>", "RANGES>", "SAID>", "STAYED>")
_PLANS = columns("PLAN", "ADVICE", "APPLIED", "AFTER>", "OVER KEEP>", "OVER CLOSE>", "OVER WIDE>")


class ScoredPlans(NamedTuple):
    network: str
    chain_id: int
    judged: Judged
    skipped: tuple[SkippedPlan, ...]
    applied: frozenset[str]
    """Plans that were carried out, by this home's journal."""

    def is_applied(self, score: HorizonScore) -> bool | None:
        """None where there is nothing to apply."""
        return score.plan_id in self.applied if score.kind.acts else None


def scorecard_lines(scored: ScoredPlans) -> Iterator[str]:
    scores = scored.judged.scores
    if not scores:
        yield _nothing_judged(scored)
        return
    summary = summarise(scores, scored.applied)
    yield from table(_ADVICE, [_advice_row(score) for score in summary.advice])
    yield "Beaten by fees − LVR − cost. What the price did to the tokens is no merit of advice."
    for advice in summary.advice:
        yield from _claim_line(advice)
    yield ""
    yield from _stay_lines(summary)
    yield _fee_line(summary)
    for debates in summary.debates:
        unknown = f", {debates.unknown} unknown" if debates.unknown else ""
        if debates.objections:
            yield (
                f"models that were overruled after {_HORIZON_NAMES[debates.days]}: {debates.right} "
                f"of {debates.objections} wanted what came out better"
            )
        yield (
            f"debating against the rules alone after {_HORIZON_NAMES[debates.days]}: "
            f"{debates.better} better, {debates.worse} worse, {debates.same} the same{unknown}"
        )
    yield ""
    newest = sorted(scores, key=lambda score: (score.made_at, score.days))[-_MOST_PLANS:]
    yield from table(
        _PLANS, [_plan_row(score, applied=scored.is_applied(score)) for score in newest]
    )


def scorecard_remarks(scored: ScoredPlans) -> Iterator[str]:
    """What is still to come, and what could not be judged."""
    not_yet = scored.judged.not_yet
    if not_yet and scored.judged.scores:
        yield f"{_horizons(len(not_yet))} not over yet; {_next_words(scored)}."
    elsewhere = sum(plan.reason is SkipReason.OTHER_NETWORK for plan in scored.skipped)
    if elsewhere:
        plans = "1 plan was" if elsewhere == 1 else f"{elsewhere} plans were"
        yield f"{plans} made on another network and judged there: zuno --network NAME scorecard"
    for plan in scored.skipped:
        if plan.reason is not SkipReason.OTHER_NETWORK:
            yield f"{plan.plan_id} is not judged: {plan.reason.value}."


def _nothing_judged(scored: ScoredPlans) -> str:
    if not scored.judged.not_yet:
        return "No plan of this network can be judged."
    plans = len({horizon.plan_id for horizon in scored.judged.not_yet})
    many = "1 plan was" if plans == 1 else f"{plans} plans were"
    return f"{many} made and none is a day old yet; {_next_words(scored)}."


def _horizons(count: int) -> str:
    return "1 horizon is" if count == 1 else f"{count} horizons are"


def _next_words(scored: ScoredPlans) -> str:
    soonest = min(scored.judged.not_yet, key=lambda one: one.over_at)
    return f"the next is over at {time_text(soonest.over_at)} ({soonest.plan_id})"


def _advice_row(advice: AdviceScore) -> list[str]:
    return [
        _KINDS.get(advice.kind, advice.kind.value),
        advice.decided_by,
        _HORIZON_NAMES[advice.days],
        str(advice.plans),
        _NONE if advice.applied is None else str(advice.applied),
        _beaten(advice.hold),
        _beaten(advice.exit),
        _beaten(advice.wide),
        _typical(advice),
        _signed(advice.price),
    ]


def _claim_line(advice: AdviceScore) -> Iterator[str]:
    """How far it is from saying anything."""
    count = advice.hold if advice.kind.acts else advice.exit
    kind = _KINDS.get(advice.kind, advice.kind.value)
    what = f"{kind} by {advice.decided_by} after {_HORIZON_NAMES[advice.days]}"
    if count.more_needed is not None:
        plans = "plan" if count.more_needed == 1 else "plans"
        more = f"about {count.more_needed:,} more {plans}" if count.more_needed else "no more plans"
        yield f"{what}: a claim needs {more}"
    elif count.judged:
        yield f"{what}: too few to say how many more plans a claim needs"


def _beaten(count: BeatCount) -> str:
    return f"{count.beat} of {count.judged}" if count.judged else _NONE


def _typical(advice: AdviceScore) -> str:
    """Against the first of these that is another option than the choice."""
    for name, count in (
        ("Keep", advice.hold),
        ("Close", advice.exit),
        ("a wide range", advice.wide),
    ):
        if count.median is not None:
            dollars = "" if count.median_usd is None else f", {usd(count.median_usd)}"
            return f"{_signed(count.median)}{dollars} to {name}"
    return UNKNOWN


def _signed(part: float | None) -> str:
    if part is None:
        return _NONE
    return f"{'+' if part > 0 else '−' if part < 0 else ''}{100 * abs(part):.2f}%"


def _stay_lines(summary: ScoreSummary) -> Iterator[str]:
    rows = [
        [_HORIZON_NAMES[stay.days], str(each.windows), percent(each.said), percent(each.stayed)]
        for stay in summary.stays
        for each in stay.bins
    ]
    if rows:
        yield from table(_STAYS, rows)
        yield ""
    for stay in summary.stays:
        yield (
            f"stays {_HORIZON_NAMES[stay.days]}: {stay.stayed} of {stay.ranges} ranges did; "
            f"Brier score {stay.brier:.3f}, off by {100 * stay.ece:.1f} points on average"
        )


def _fee_line(summary: ScoreSummary) -> str:
    fees = summary.fees
    if not fees.judged_count:
        return "fees of a day: none could be judged"
    return (
        f"fees of a day: {fees.inside} of {fees.judged_count} inside their 10–90% "
        f"({fees.below} below, {fees.above} above)"
    )


def _plan_row(score: HorizonScore, *, applied: bool | None) -> list[str]:
    return [
        score.plan_id,
        f"{_KINDS.get(score.kind, score.kind.value)} by {score.decided_by}",
        _APPLIED[applied],
        _HORIZON_NAMES[score.days],
        _signed(score.over_hold),
        _signed(score.over_exit),
        _signed(score.over_wide),
    ]


def scorecard_document(scored: ScoredPlans) -> dict[str, Json]:
    judged = scored.judged
    summary = summarise(judged.scores, scored.applied)
    return {
        **parts(scored, "network", "chain_id"),
        **document(summary),
        "fees": document(summary.fees, "judged_count"),
        "scores": [
            _score_document(score, applied=scored.is_applied(score)) for score in judged.scores
        ],
        **parts(judged, "new"),
        "notYet": to_builtins(judged.not_yet),
        "skipped": [
            {**document(plan), "code": plan.reason.name.lower()} for plan in scored.skipped
        ],
    }


def _score_document(score: HorizonScore, *, applied: bool | None) -> Json:
    return {
        **document(score, *_OVERS, without=("chain_id", "objected")),
        "applied": applied,
        "pricePart": score.price_part("hold" if score.kind.acts else "exit"),
    }


_OVERS = ("over_hold", "over_exit", "over_wide", "over_rules")


def ranking_lines(scores: Sequence[RankingScore], days: int) -> Iterator[str]:
    """Nothing where no day was kept, and no claim before there is a record."""
    if not days:
        return
    yield ""
    for days_after in NEXT_DAYS:
        alike = [score for score in scores if score.next_days == days_after]
        told = [score for score in alike if score.correlation is not None]
        for score in told:
            yield _ranking_line(score)
        if not told:
            most = max(score.rankings for score in alike)
            yield (
                f"pools ranked by 7 days against the next {days_after}: {most} of the "
                f"{FEWEST_RANKINGS} rankings that a claim needs ({days} days are kept)"
            )


def _ranking_line(score: RankingScore) -> str:
    found, (fewest, most) = score.correlation, score.pools
    assert found is not None
    ends = "" if found.low is None else f" [{found.low:+.2f}, {found.high:+.2f}]"
    many = str(most) if fewest == most else f"{fewest} to {most}"
    return (
        f"pools ranked by {score.by.value} of 7 days against what they paid over the next "
        f"{score.next_days}: rank correlation {found.mean:+.2f}{ends}, "
        f"{score.rankings} rankings of {many} pools"
    )


_NO_PLAN = "No plan was made here yet, so there is nothing to judge. Ask for one: zuno recommend ID"


async def scored_plans(session: Session) -> CommandAnswer:
    past = past_plans(PlanStore(session.home.plans), session.network.chain_id)
    beside = [feature.scored for feature in features() if feature.scored is not None]
    by_pool = _pool_days(session)
    rankings = ranking_scores(by_pool)
    days = max(map(len, by_pool.values()), default=0)
    ranked = tuple(ranking_lines(rankings, days))
    more = {"poolDays": days, "poolRankings": to_builtins(rankings)}
    if (
        not past.plans
        and not past.skipped
        and not _has_scores(session)
        and not session.home.orders.exists()
    ):
        empty = ScoredPlans(
            session.network.name, session.network.chain_id, Judged((), 0, (), ()), (), frozenset()
        )
        document = scorecard_document(empty) | more
        return CommandAnswer(lines=(_NO_PLAN, *ranked), document=document)
    async with session.sources() as sources:
        judged, failure = await _judged(session, sources, past)
        besides = [] if failure else [await score(session, sources) for score in beside]
    lost = [SkippedPlan(plan_id, SkipReason.NOT_ON_CHAIN) for plan_id in judged.not_on_chain]
    scored = ScoredPlans(
        session.network.name,
        session.network.chain_id,
        judged,
        (*past.skipped, *lost),
        applied_plans(session),
    )
    remarks = tuple(scorecard_remarks(scored))
    if failure is not None:
        remarks = (*remarks, f"What is due could not be judged now: {failure}")
    return CommandAnswer(
        heading=(f"{session.network.title} · what became of the plans made here",),
        lines=(
            *scorecard_lines(scored),
            *(line for section in besides for line in section.lines),
            *ranked,
        ),
        document=scorecard_document(scored)
        | more
        | {section.name: section.document for section in besides},
        remarks=remarks,
        code=DONE if failure is None else NETWORK,
    )


def _pool_days(session: Session) -> Mapping[PoolId, Sequence[PoolDay]]:
    if not session.home.database.exists():
        return {}
    with session.open_store() as store:
        return PoolDayStore(store, session.network.chain_id, lambda: 0.0).days()


async def _judged(
    session: Session, sources: Sources, past: PastPlans
) -> tuple[Judged, RpcError | None]:
    """What is due judged now; what was judged before is told even where nobody answers."""
    try:
        judged = await judge_due(sources, past.plans, watch=reading_progress(session.narrate))
    except RpcError as error:
        kept = ScoreStore(sources.store, session.network.chain_id, sources.clock).scores()
        return Judged(tuple(kept), 0, (), ()), error
    return judged, None


def _has_scores(session: Session) -> bool:
    if not session.home.database.exists():
        return False
    with session.open_store() as store:
        return bool(ScoreStore(store, session.network.chain_id, lambda: 0.0).scores())
