"""The plan card in text: hold, the moves and exit side by side, and what was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.base.number_words import UNKNOWN, hours, percent, usd
from zuno_tui.shown.answer import CommandAnswer
from zuno_tui.shown.argued_plan import silences_in
from zuno_tui.shown.drawing.pieces import bar
from zuno_tui.shown.exit_codes import DONE, FAILED
from zuno_tui.shown.output import OutputColumn, table
from zuno_tui.shown.transcript import wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agents.lp.plan import Candidate, Plan
    from zuno_tui.shown.argued_plan import ArguedPlan

_BAR_CELLS = 8


def plan_answer(argued: ArguedPlan) -> CommandAnswer:
    """What was edited since it was made is said to be, and is no success."""
    edited = argued.edited
    shown = {**argued.document, "edited": True} if edited else argued.document
    return CommandAnswer(
        lines=tuple(plan_lines(argued)),
        document=shown,  # type: ignore[arg-type]
        remarks=(edited_words(argued.plan),) if edited else (),
        code=FAILED if edited else DONE,
    )


def plan_lines(argued: ArguedPlan) -> Iterator[str]:
    plan = argued.plan
    yield f"{plan.plan_id} · {headline(plan)}"
    yield recommendation(plan)
    yield ""
    options = {
        "HOLD": plan.hold,
        **{_move_name(move): move for move in plan.candidates},
        **({} if plan.exit is None else {"EXIT": plan.exit}),
    }
    columns = [OutputColumn(""), *(OutputColumn(name, "right") for name in options)]
    rows = [[label, *(tell(one) for one in options.values())] for label, tell in FIGURES.items()]
    yield from table(columns, rows)
    yield ""
    for sentence in (*reasons(plan), *model_talk(argued), *record_words(argued)):
        yield wrapped(f"  {sentence}", indent=2)


def edited_words(plan: Plan) -> str:
    return (
        f"The file of {plan.plan_id} was changed since it was made: nobody argued for what "
        "it says now, and it cannot be approved. Ask for a new plan: zuno recommend ID"
    )


def record_words(argued: ArguedPlan) -> Iterator[str]:
    """Where it was argued, and the hash that tells whether that record is still the same."""
    if argued.record_hash is not None:
        yield (
            f"Argued on the record {argued.request_id}, whose last hash is {argued.record_hash}."
        )


def reasons(plan: Plan) -> Iterator[str]:
    """Why this was chosen, and what the rules alone would have."""
    for reason in plan.choice.reasons:
        yield f"{reason[0].upper()}{reason[1:]}."
    alone = plan.rules_alone
    same = (alone.kind, alone.index) == (plan.choice.kind, plan.choice.index)
    words = "the same" if same else _named(alone.kind, alone.index)
    yield f"The rules alone, with nobody arguing, would have chosen {words}."


def model_talk(argued: ArguedPlan) -> Iterator[str]:
    """What the model took and how it kept to its numbers, where there was one."""
    used = argued.model
    if used is not None:
        most = "" if used.most_tokens is None else f" of {used.most_tokens:,}"
        price = f", ${used.dollars:.4f}" if used.dollars is not None and used.tokens else ""
        yield f"The model took {used.tokens:,}{most} tokens{price}."
        yield f"Of the numbers it cited {used.cited} were given to it; {used.struck} were struck."
    if silences := silences_in(argued):
        times = "once" if len(silences) == 1 else f"{len(silences)} times"
        yield f"The rules spoke in place of the model {times}. {silences[-1]}"


def headline(plan: Plan) -> str:
    what = f"position #{plan.position}" if plan.position is not None else "a new position"
    return f"{what} · {circumstances(plan)}"


def circumstances(plan: Plan) -> str:
    """For whom, in what market and when it was argued."""
    return f"{plan.profile.value} · {plan.regime.value} market · block {plan.block:,}"


def recommendation(plan: Plan) -> str:
    """The choice in a line: what, how sure, and who decided it."""
    rounds = "1 round" if plan.rounds == 1 else f"{plan.rounds} rounds"
    return (
        f"{_named(plan.choice.kind, plan.choice.index).upper()}"
        f" · {plan.verdict.value.replace('_', ' ')} · confidence {percent(plan.confidence)}"
        f" · decided by {plan.decided_by} in {rounds}"
    )


def _named(kind: str, index: int | None) -> str:
    return kind if index is None else f"move {index}"


def _move_name(move: Candidate) -> str:
    return f"{move.index} {move.kind.upper()}"


def _ticks(one: Candidate) -> str:
    return "–" if one.tick_lower is None else f"{one.tick_lower}…{one.tick_upper}"


def _buffer(multiple: int) -> Callable[[Candidate], str]:
    def tell(one: Candidate) -> str:
        if one.buffer_hours is None:
            return "–"
        buffers = (one.buffer_hours.at_1x, one.buffer_hours.at_2x, one.buffer_hours.at_3x)
        return hours(buffers[multiple - 1])

    return tell


def _day(one: Candidate) -> str:
    if one.survival is None:
        return "–"
    return f"{bar(one.survival.day, _BAR_CELLS)} {percent(one.survival.day)}"


def _week(one: Candidate) -> str:
    if one.survival is None:
        return "–"
    return f"{bar(one.survival.week, _BAR_CELLS)} {percent(one.survival.week)}"


def _swap(one: Candidate) -> str:
    if one.prep_action is None:
        return "–"
    return f"costs {usd(one.prep_action.cost_usd)}"


def _break_even(one: Candidate) -> str:
    if one.index is None:
        return "–"
    return "never" if one.break_even_hours is None else hours(one.break_even_hours)


def _judged(one: Candidate) -> str:
    return "–" if one.judgment is None else one.judgment.verdict.value


FIGURES: dict[str, Callable[[Candidate], str]] = {
    "ticks": _ticks,
    "buffer at 1×": _buffer(1),
    "buffer at 2×": _buffer(2),
    "buffer at 3×": _buffer(3),
    "stays 24 h": _day,
    "stays 7 d": _week,
    "fees a day": lambda one: usd(one.fee_yield_24h),
    "LVR a day": lambda one: usd(one.lvr_24h),
    "swap": _swap,
    "cost": lambda one: UNKNOWN if one.cost_usd is None else usd(one.cost_usd),
    "break-even": _break_even,
    "judged": _judged,
}
