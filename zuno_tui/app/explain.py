"""`zuno explain`: why a plan is what it is, turn by turn."""

from collections.abc import Iterator

from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.argued_plan import ArguedPlan, recorded_turns
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.plan_card import edited_words, record_words
from zuno_tui.present.transcript import turn_line

_TOLD = (
    *("planId", "requestId", "recordHash", "choice", "rejected", "transcript", "claims"),
    "sources",
)


def explanation(argued: ArguedPlan) -> CommandAnswer:
    document = {name: argued.document.get(name) for name in _TOLD}
    return CommandAnswer(
        lines=tuple(_lines(argued)),
        document=document,  # type: ignore[arg-type]
        remarks=(edited_words(argued.plan),) if argued.edited else (),
        code=FAILED if argued.edited else DONE,
    )


def _lines(argued: ArguedPlan) -> Iterator[str]:
    for turn in recorded_turns(argued.document):
        yield turn_line(turn.role, turn.thought)
    yield ""
    reasons = "; ".join(reason.rstrip(".") for reason in argued.plan.choice.reasons)
    yield f"{argued.plan.plan_id}: {reasons}."
    for source, said in argued.plan.sources.items():
        yield f"  {source}: {said}"
    yield from record_words(argued)
