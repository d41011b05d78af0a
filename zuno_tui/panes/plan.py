"""The plan: what could be done, what is advised, what was approved, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from zuno_tui.keys import MOVING, PLAN
from zuno_tui.panes.ages import ago
from zuno_tui.panes.frame import frame, literal, pane_title
from zuno_tui.panes.headings import heading
from zuno_tui.panes.plan_card import bulleted, comparison, reasons
from zuno_tui.panes.plan_progress import next_step, standing

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from zuno_tui.desk.intents import PlanVerb
    from zuno_tui.desk.views import OptionView, PlanView

_NOTHING = "No plan yet. Press r on a position: it comes of what the agents argue."


class PlanPane(VerticalScroll, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = [*MOVING, *PLAN]

    class Taken(Message):
        """An option is to be approved: its words belong in the prompt."""

        def __init__(self, option: OptionView) -> None:
            self.option = option
            super().__init__()

    class AskedAbout(Message):
        def __init__(self, verb: PlanVerb, option: OptionView | None) -> None:
            self.verb = verb
            self.option = option
            super().__init__()

    def __init__(self) -> None:
        super().__init__(id="plan", classes="pane")
        self._view: PlanView | None = None
        self._chosen = 0

    def compose(self) -> ComposeResult:
        yield Static(literal(_NOTHING, "$quiet"), markup=False, id="card")

    @property
    def option(self) -> OptionView | None:
        """The option the keys are on."""
        if self._view is None or not self._view.options:
            return None
        return self._view.options[min(self._chosen, len(self._view.options) - 1)]

    @property
    def copied(self) -> str:
        """The hash that an approval is for, or the plan's id."""
        view = self._view
        if view is None:
            return ""
        return view.plan_id if view.approval is None else view.approval.hash

    def show(self, view: PlanView | None, now: float) -> None:
        before, self._view = self._view, view
        if before is None or view is None or before.plan_id != view.plan_id:
            self._chosen = _recommended(view)
            self.scroll_home(animate=False)
        elif (before.approval, before.result) != (view.approval, view.result):
            self.scroll_home(animate=False)
        self._draw()
        self.show_age(now)

    def show_age(self, now: float) -> None:
        view = self._view
        if view is None:
            frame(self, pane_title("4 Plan"))
            return
        frame(
            self,
            pane_title("4 Plan", ago(now - view.made_at), view.headline),
            literal(next_step(view), "bold $accent"),
        )

    def on_resize(self) -> None:
        self._draw()

    def action_option(self, step: int) -> None:
        if self._view is not None and self._view.options:
            self._chosen = max(0, min(self._chosen + step, len(self._view.options) - 1))
            self._draw()

    def action_take(self) -> None:
        if self.option is not None and self.option.candidate is not None:
            self.post_message(self.Taken(self.option))

    def action_about(self, verb: PlanVerb) -> None:
        if self._view is not None:
            self.post_message(self.AskedAbout(verb, self.option))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        view = self._view
        match action:
            case "option" | "about":
                return view is not None and bool(view.options)
            case "take":
                return self.option is not None and view is not None and view.result is None
            case _:
                return super().check_action(action, parameters)

    def action_down(self) -> None:
        self.scroll_down(animate=False)

    def action_up(self) -> None:
        self.scroll_up(animate=False)

    def action_page_down(self) -> None:
        self.scroll_page_down(animate=False)

    def action_page_up(self) -> None:
        self.scroll_page_up(animate=False)

    def action_first(self) -> None:
        self.scroll_home(animate=False)

    def action_last(self) -> None:
        self.scroll_end(animate=False)

    def _draw(self) -> None:
        view, width = self._view, self.scrollable_content_region.width
        if not width:
            return
        if view is None:
            self.query_one("#card", Static).update(literal(_NOTHING, "$quiet"))
            return
        lines = [
            *standing(view, width),
            *bulleted(view.recommendation, width, "★", "bold"),
            Content(""),
            *comparison(view, self._chosen, width),
        ]
        if view.reasons:
            lines += [Content(""), heading("WHY"), *reasons(view, width)]
        self.query_one("#card", Static).update(Content("\n").join(lines))


def _recommended(view: PlanView | None) -> int:
    options = () if view is None else view.options
    return next((place for place, option in enumerate(options) if option.recommended), 0)
