"""The plan on the card: one at a time, with its approval, its progress and its result."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from agents.lp.advice_words import option_letter
from agents.lp.plan import Candidate, Plan
from agents.scorecard.track_record import TrackRecord
from chain.protocols.reference import PositionRef, position_label
from zuno_tui.desk.context import Tell
from zuno_tui.desk.events import PlanChanged
from zuno_tui.desk.jobs import fault_words
from zuno_tui.present.argued_plan import ArguedPlan
from zuno_tui.present.failures import explain_known
from zuno_tui.present.plan_card import (
    PlanPool,
    decided_words,
    deciding_figure,
    figures_of,
    headline,
    listed_options,
    model_talk,
    option_words,
    plan_sentence,
    reasons,
)
from zuno_tui.present.views import ApprovalView, OptionView, PlanView, ResultView, StepProgress

_DRAWN_OTHERWISE = ("from", "to", "stays 24 h", "stays 7 d")


def plan_view(
    argued: ArguedPlan,
    pools: Mapping[str, PlanPool],
    *,
    made_at: float,
    record: TrackRecord | None = None,
) -> PlanView:
    plan = argued.plan
    return PlanView(
        plan_id=plan.plan_id,
        headline=_headline(plan, pools),
        recommendation=plan_sentence(plan, pools, record),
        decided=decided_words(plan),
        decides=deciding_figure(plan),
        price=next(iter(pools.values())).price if len(pools) == 1 else "",
        options=tuple(_options(plan, pools)),
        reasons=(*reasons(plan, pools, argued=argued.model is not None), *model_talk(argued)),
        made_at=made_at,
        ref=plan.position,
    )


def _options(plan: Plan, pools: Mapping[str, PlanPool]) -> Iterator[OptionView]:
    choice = plan.choice
    rows = {
        label: tell for label, tell in figures_of(plan).items() if label not in _DRAWN_OTHERWISE
    }

    def option(name: str, candidate: str | None, option: Candidate, *, chosen: bool) -> OptionView:
        pool = pools.get(option.pool_id)
        figures = {label: tell(option, pool) for label, tell in rows.items()}
        view = _drawn(name, candidate, option, pool)
        does = option_words(plan, option, pools)
        return replace(view, recommended=chosen, figures=figures, does=does)

    for name, each in listed_options(plan).items():
        acts = None if each.kind == "hold" else each.kind
        letter = acts if each.index is None else option_letter(each.index)
        chosen = choice.kind in ("move", acts or "hold") and choice.index == each.index
        yield option(name, "close" if letter == "exit" else letter, each, chosen=chosen)


def _drawn(
    name: str, candidate: str | None, option: Candidate, pool: PlanPool | None
) -> OptionView:
    """An option's range and its survival; its figures are told in words."""
    lower, upper = option.tick_lower, option.tick_upper
    low, high, progress, edges = "", "", None, None
    if lower is not None and upper is not None:
        low, high = f"tick {lower}", f"tick {upper}"
        if pool is not None:
            low, high = pool.pair.bounds(lower, upper)
            progress = pool.pair.progress(pool.tick, lower, upper)
            edges = pool.edges(lower, upper)
    return OptionView(
        name=name,
        candidate=candidate,
        recommended=False,
        verdict="" if option.judgment is None else option.judgment.verdict.value,
        low=low,
        high=high,
        progress=progress,
        survives_day=None if option.survival is None else option.survival.day,
        survives_week=None if option.survival is None else option.survival.week,
        edges=edges,
    )


def _headline(plan: Plan, pools: Mapping[str, PlanPool]) -> str:
    """Which position comes first: a narrow border shows little more."""
    pool = pools.get(plan.recommended.pool_id)
    if pool is None:
        return headline(plan)
    which = "new" if plan.position is None else position_label(plan.position)
    several = len({candidate.pool_id for candidate in plan.candidates}) > 1
    # Of several pools any may be approved: each option names its own.
    pair = f"{which} {pool.pair.name if several else pool.name}"
    return f"{pair} · {plan.profile.value} · {plan.regime.value} market"


class Card:
    def __init__(self, tell: Tell, clock: Callable[[], float]) -> None:
        self._tell = tell
        self._clock = clock
        self._view: PlanView | None = None

    @property
    def view(self) -> PlanView | None:
        return self._view

    def show(self, view: PlanView | None) -> None:
        self._view = view
        self._tell(PlanChanged(view))

    def say_anew(self, again: PlanView) -> None:
        """The sentence and the reasons of a plan, if it is still the one on the card."""
        if self._view is not None and self._view.plan_id == again.plan_id:
            words = again.recommendation
            self.show(replace(self._view, recommendation=words, reasons=again.reasons))

    def show_approval(self, approval: ApprovalView, refs: Sequence[PositionRef] = ()) -> None:
        """What is signed is on the card, even if another run of zuno approved it."""
        if self._view is None or self._view.plan_id != approval.plan_id:
            self._view = view_without_debate(approval, refs, now=self._clock())
        self._change(approval, (), None)

    def show_lapse(self) -> None:
        """What was approved has ended, and nobody applied it."""
        if self._view is not None:
            self.show(replace(self._view, approval=None, progress=(), result=None, lapsed=True))

    def show_taken_back(self) -> None:
        """The plan stands as it did before it was approved; alone it was nothing but approved."""
        if self._view is not None:
            again = replace(self._view, approval=None, progress=(), result=None)
            self.show(again if again.options else None)

    def went_on(self, place: int, step: StepProgress) -> None:
        """What became of a step last."""
        if self._view is not None:
            before = self._view.progress
            before += (StepProgress(""),) * (place - len(before))
            self.show(replace(self._view, progress=(*before[:place], step, *before[place + 1 :])))

    def show_refusal(self, result: ResultView) -> None:
        """Nothing was signed; what was approved may still be."""
        if self._view is not None:
            self._change(self._view.approval, self._view.progress, result)

    def show_failure(self, plan_id: str, error: Exception, *, sent: str = "") -> None:
        """`sent` says where to look where something may have left before it failed."""
        words = fault_words(error)
        lines = tuple(str(error).splitlines()) if explain_known(error) else (words,)
        if sent:
            self.show_end(ResultView(plan_id, "interrupted", (*lines, sent), None))
        else:
            self.show_refusal(ResultView(plan_id, "refused", lines, None))

    def show_end(self, result: ResultView) -> None:
        if self._view is not None:
            signed = self._view.approval
            steps = () if signed is None else signed.steps
            if len(steps) == len(result.sent):
                # In the words that stood on the page when it was signed.
                both = zip(result.sent, steps, strict=True)
                named = (replace(sent, step=step.brief or sent.step) for sent, step in both)
                result = replace(result, sent=tuple(named))
            self._change(None, self._view.progress, result)

    def _change(
        self,
        approval: ApprovalView | None,
        progress: tuple[StepProgress, ...],
        result: ResultView | None,
    ) -> None:
        if self._view is not None:
            self.show(
                replace(
                    self._view, approval=approval, progress=progress, result=result, lapsed=False
                )
            )


def view_without_debate(
    approval: ApprovalView, refs: Sequence[PositionRef], *, now: float
) -> PlanView:
    """A change nobody argued about: there is one option, and it is the approval itself."""
    return PlanView(
        plan_id=approval.plan_id,
        headline=approval.headline,
        recommendation="You asked for this; the agents were not consulted.",
        options=(),
        reasons=(),
        made_at=now,
        ref=refs[0] if refs else None,
        others=tuple(refs[1:]),
    )
