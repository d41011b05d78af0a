"""The plan: what could be done, what is advised, what was approved, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message

from zuno_tui.screen.keys import MOVING, PLAN
from zuno_tui.screen.links import can_link
from zuno_tui.screen.panes.frame import ago, frame, heading, literal, pane_title
from zuno_tui.screen.panes.plain_text import PlainText
from zuno_tui.screen.panes.plan_card import BRIEF, bulleted, comparison, reasons
from zuno_tui.screen.panes.receipt import receipt_lines, step_lines
from zuno_tui.screen.panes.result import applied_lines, copied_hashes, result_title

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.geometry import Size

    from zuno_tui.present.views import ApprovalView, OptionView, PlanView, ResultView, StepProgress

PlanTopic = Literal["diff", "simulate", "rehearse"]
_ALL, _WHY, _BRIEF = (True, True), (False, True), (False, False)
"""How much a card tells: every figure, the reasons."""


def standing(plan: PlanView, width: int) -> Iterator[Content]:
    """The newest of result, progress and approval first."""
    if plan.result is not None:
        yield from _result(plan, plan.result, width)
        yield Content("")
    elif plan.approval is not None:
        # One cell stays empty before the scroll bar.
        yield from _approval(plan.approval, plan.progress, width - 1)
        yield Content("")


def next_step(plan: PlanView) -> str:
    """What the border says to do now."""
    if plan.result is not None:
        return "done" if plan.result.done else plan.result.state
    if plan.progress:
        return "applying"
    if plan.approval is not None:
        signs = plan.approval.can_sign
        return (
            "approved: type apply, or e to rehearse"
            if signs
            else "approved, but nothing here can sign"
        )
    if any(option.recommended and option.candidate is None for option in plan.options):
        return "leave it: nothing to sign"
    return "a: approve it" if plan.options else ""


def _result(plan: PlanView, result: ResultView, width: int) -> Iterator[Content]:
    style = "bold $success" if result.done else "bold $warning"
    yield literal(result_title(result), style)
    yield from applied_lines(plan, result, width, links=can_link(os.environ))


def _approval(
    approval: ApprovalView, progress: Sequence[StepProgress], width: int
) -> Iterator[Content]:
    """The receipt and the steps; every byte of them stands on the page that signs."""
    yield heading(f"{'APPLYING' if progress else 'APPROVED'}  {approval.headline}")
    if progress:
        yield from step_lines(approval, progress, width)
        yield Content("")
        yield from receipt_lines(approval, width)
        return
    if approval.can_sign:
        yield literal("Nothing is signed yet. Type apply to sign it.", "bold $accent")
    yield Content("")
    yield from receipt_lines(approval, width)
    yield Content("")
    yield from step_lines(approval, (), width)
    ends = datetime.fromtimestamp(approval.expires_at, UTC)
    yield literal(f"until {ends:%H:%M:%S} UTC by the network's clock", "$quiet")


_NOTHING = "No plan yet. Press r on a position: it comes of what the agents argue."


class PlanPane(VerticalScroll, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = [*MOVING, *PLAN]

    class Taken(Message):
        """An option is to be approved: its words belong in the prompt."""

        def __init__(self, option: OptionView) -> None:
            self.option = option
            super().__init__()

    class AskedAbout(Message):
        def __init__(self, about: PlanTopic, option: OptionView | None) -> None:
            self.about = about
            self.option = option
            super().__init__()

    def __init__(self) -> None:
        super().__init__(id="plan", classes="pane")
        self._view: PlanView | None = None
        self._chosen = 0
        self._whole: bool | None = None
        """Whether every figure and every reason is shown; None where it is if there is room."""
        self._shows_whole = False
        self._selected: int | None = None
        """The position under the cursor of the positions pane."""

    def compose(self) -> ComposeResult:
        yield PlainText(literal(_NOTHING, "$quiet"), id="card")

    @property
    def option(self) -> OptionView | None:
        """The option the keys are on."""
        if self._view is None or not self._view.options:
            return None
        return self._view.options[min(self._chosen, len(self._view.options) - 1)]

    @property
    def copied(self) -> str:
        """Every transaction that was sent, else the hash an approval is for, or the plan's id."""
        view = self._view
        if view is None:
            return ""
        if view.result is not None and view.result.sent:
            return copied_hashes(view.result.sent)
        return view.plan_id if view.approval is None else view.approval.hash

    @property
    def plan_id(self) -> str | None:
        return None if self._view is None else self._view.plan_id

    def show(self, view: PlanView | None, now: float) -> None:
        before, self._view = self._view, view
        if before is None or view is None or before.plan_id != view.plan_id:
            self._chosen = _recommended(view)
            self.scroll_home(animate=False)
        elif (before.approval, before.result) != (view.approval, view.result):
            self.scroll_home(animate=False)
        self._draw()
        self.show_age(now)

    def follow(self, selected: int | None) -> None:
        """A plan is of one position: where the cursor is on another, the card says so."""
        if selected != self._selected:
            before, self._selected = elsewhere(self._view, self._selected), selected
            if elsewhere(self._view, selected) != before:
                self._draw()

    def show_age(self, now: float) -> None:
        view = self._view
        if view is None:
            frame(self, pane_title("4 Plan"))
            return
        frame(
            self,
            pane_title("4 Plan", view.headline, ago(now - view.made_at)),
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

    def action_whole(self) -> None:
        self._whole = not self._shows_whole
        self._draw()

    def action_about(self, about: PlanTopic) -> None:
        if self._view is not None:
            self.post_message(self.AskedAbout(about, self.option))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        view = self._view
        match action:
            case "about" if parameters == ("rehearse",):
                return view is not None and view.approval is not None and view.result is None
            case "option" | "about" | "whole":
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
        view, size = self._view, self.scrollable_content_region.size
        if not size.width:
            return
        if view is None:
            self.query_one("#card", PlainText).update(literal(_NOTHING, "$quiet"))
            return
        self.query_one("#card", PlainText).update(Content("\n").join(self._fitting(view, size)))

    def _fitting(self, view: PlanView, size: Size) -> list[Content]:
        """As asked for; else the most of it that is seen without scrolling."""
        for figures, why in _ALL, _WHY, _BRIEF:
            lines = self._lines(view, size.width, figures=figures, why=why)
            self._shows_whole = figures
            if figures if self._whole else len(lines) <= size.height and self._whole is None:
                break
        if self._whole and len(lines) > size.height:
            return self._lines(view, size.width, figures=True, why=True, reasons_first=True)
        return _denser(lines, size.height)

    def _lines(
        self, view: PlanView, width: int, *, figures: bool, why: bool, reasons_first: bool = False
    ) -> list[Content]:
        lines = [*self._banner(width), *standing(view, width)]
        lines += bulleted(view.recommendation, width, "★", "bold")
        lines += bulleted(view.decided, width, " ", "$quiet")
        compared = [Content(""), *comparison(view, self._chosen, width, whole=figures)]
        reasoned = [Content(""), heading("WHY"), *reasons(view, width)]
        parts = [compared, reasoned] if why and view.reasons else [compared]
        for part in reversed(parts) if reasons_first else parts:
            lines += part
        if view.options and not figures:
            lines += [Content(""), _more(view, why=why)]
        return lines

    def _banner(self, width: int) -> Iterator[Content]:
        if words := elsewhere(self._view, self._selected):
            yield from bulleted(words, width, "▲", "$warning")
            yield Content("")


def elsewhere(plan: PlanView | None, selected: int | None) -> str:
    """That this is no plan for the position under the cursor; nothing where it is."""
    if plan is None or plan.token_id is None or selected in (None, plan.token_id):
        return ""
    if plan.result is not None and plan.result.new_token_id == selected:
        return ""
    return f"This is for #{plan.token_id}; the cursor is on #{selected}. r asks about that."


def _more(view: PlanView, *, why: bool) -> Content:
    figures = len(view.options[0].figures) - len(BRIEF)
    untold = bool(view.reasons) and not why
    told = f"why, {figures} more figures" if untold else f"{figures} more figures"
    return Content.assemble(("w", "bold $primary"), (f" {told}", "$quiet"))


def _denser(lines: list[Content], height: int) -> list[Content]:
    """What is read without scrolling is worth more than the air between it, from below."""
    empty = [place for place, line in enumerate(lines) if not line.plain]
    spare = len(lines) - height
    if not 0 < spare <= len(empty):
        return lines
    left_out = {*empty[-spare:]}
    return [line for place, line in enumerate(lines) if place not in left_out]


def _recommended(view: PlanView | None) -> int:
    options = () if view is None else view.options
    return next((place for place, option in enumerate(options) if option.recommended), 0)
