"""A trade plan in text: what is decided and why, the ladder, the experts and the sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agents.trade.terms import TradeDecision
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.charts import plain
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.trade.drawing import chip_lines, sections, verdict_lines
from zuno_tui.present.trade.run_view import run_of_plan
from zuno_tui.present.transcript import line_width

if TYPE_CHECKING:
    from agents.bus.plan_store import PlanDocument
    from agents.trade.plan import TradePlan
    from zuno_tui.present.trade.views import TradeRunView

_LINE = 300
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
    yield from (plain(line).rstrip() for line in verdict_lines(view, width))
    yield from (plain(line).rstrip() for line in chip_lines(view, width))
    for section in sections(view):
        yield ""
        yield f"{section.title}  {section.beside}".rstrip()
        yield from (plain(line).rstrip() for line in section.draw(width))


def message_lines(view: TradeRunView) -> Iterator[str]:
    """The run as a telephone shows it: the verdict, what it rests on, and how to find it again."""
    yield run_title(view)
    yield from (plain(line).strip() for line in verdict_lines(view, _LINE))
    if view.regime is not None:
        found = (
            ", ".join(one.replace("_", " ") for one in view.anomalies or ()) or "nothing unusual"
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
        return ()
    return (f"Nothing is sent. To approve it: zuno approve {plan.plan_id}",)
