"""The desk: four panes, one prompt, and what the back room says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Literal

from msgspec.structs import replace
from textual.binding import BindingType
from textual.containers import Grid
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from chain.protocols.reference import PositionRef, position_name, read_position_ref
from zuno_tui.desk.events import (
    AlertsChanged,
    DebateChanged,
    Event,
    HelpAsked,
    HintChanged,
    OutageChanged,
    PhraseProposed,
    PlanChanged,
    PositionsChanged,
    ProseHeard,
    Said,
    StatusChanged,
    ThinkingHeard,
    TurnEnded,
    ViewAsked,
)
from zuno_tui.desk.link import DeskLink
from zuno_tui.desk.proposals import context_after
from zuno_tui.intents.context import PhraseContext
from zuno_tui.present.outage import OutageView
from zuno_tui.present.views import DebateView, PlanView, StatusView
from zuno_tui.screen.kept_view import KeptView
from zuno_tui.screen.keys import DESK
from zuno_tui.screen.last_seen import LastSeen
from zuno_tui.screen.panes.alerts import AlertsPane
from zuno_tui.screen.panes.debate import DebatePane, ReadingPace
from zuno_tui.screen.panes.filter_line import FilterLine
from zuno_tui.screen.panes.frame import REDRAW_SECONDS, Copied
from zuno_tui.screen.panes.outage import OutageCard
from zuno_tui.screen.panes.plan import PlanPane
from zuno_tui.screen.panes.positions import PositionsPane
from zuno_tui.screen.panes.prompt import PromptBar, PromptPane
from zuno_tui.screen.panes.row_table import RowTable
from zuno_tui.screen.panes.selected import BookPane, SelectedPane
from zuno_tui.screen.panes.text import (
    GlanceLine,
    KeyLine,
    MessageLine,
    StatusLine,
    TabLine,
)
from zuno_tui.screen.prompt_history import PhraseHistory
from zuno_tui.screen.screens.active_keys import active_keys
from zuno_tui.screen.screens.asking import Asking

if TYPE_CHECKING:
    from textual.app import ComposeResult


PaneName = Literal["positions", "alerts", "debate", "plan"]
PANES: tuple[PaneName, ...] = ("positions", "alerts", "debate", "plan")
_PAUSE, _RESUME = "pause", "resume"
_FRAME = 2
_MOST_NEEDS = 4
_FEWEST = 8
"""Lines of a table, however few rows there are: it says what to do when there is none."""


class DeskScreen(Asking):
    BINDINGS: ClassVar[list[BindingType]] = [*DESK]
    AUTO_FOCUS = "#positions"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (100, "-wide"),
        (180, "-extra-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (40, "-tall")]  # noqa: RUF012

    class Composed(Message):
        """There is a pane now for whatever is told."""

    def __init__(
        self,
        link: DeskLink,
        told: LastSeen,
        clock: Callable[[], float],
        history: PhraseHistory | None = None,
        size: Size = Size(80, 24),  # noqa: B008 - frozen
        *,
        pace: ReadingPace | None = None,
        kept: KeptView = KeptView(),  # noqa: B008 - frozen
    ) -> None:
        # Textual would find its breakpoints after a first layout, and so paint twice.
        super().__init__(
            classes=" ".join(
                [name for least, name in points if length >= least][-1]
                for points, length in (
                    (self.HORIZONTAL_BREAKPOINTS, size.width),
                    (self.VERTICAL_BREAKPOINTS, size.height),
                )
            )
        )
        self._history = history
        self._kept = kept
        self.link = link
        self.told = told
        self._clock = clock
        self.context = PhraseContext()
        self.front: PaneName = "positions"
        self._pace = pace
        self._after_reading: PaneName | None = None
        """What comes to the front once the debate that hides it could be read."""
        self._pointed_at: PositionRef | None = None
        self._plan_done = ""
        self._rows_shared = ""
        self._needs_height: int | None = None

    def compose(self) -> ComposeResult:
        yield GlanceLine(id="glance")
        yield TabLine(id="tabs")
        yield OutageCard()
        with Grid(id="panes"):
            yield PositionsPane(self._kept)
            yield PlanPane()
            yield SelectedPane()
            yield AlertsPane()
            yield BookPane()
            yield DebatePane(self._pace)
        yield FilterLine(self._kept.filter)
        yield MessageLine(id="said")
        yield PromptBar(lambda: self.context, self._history)
        yield StatusLine(id="status")
        yield KeyLine(id="keys")

    def on_mount(self) -> None:
        self.set_interval(REDRAW_SECONDS, self.show_ages)
        self.show_ages()
        if self._kept.front in PANES:
            self._bring_to_front(self._kept.front)
        self.post_message(self.Composed())

    @property
    def kept_view(self) -> KeptView:
        return self.query_one(PositionsPane).keep(self.front)

    def hear(self, event: Event) -> bool:
        """Give what the desk told to whatever draws it."""
        match event:
            # A hundred times a second, and it moves no pane and changes no key.
            case ProseHeard(role, text):
                self.query_one(DebatePane).hear_prose(role, text)
                return True
            case ThinkingHeard(role, seconds):
                self.query_one(DebatePane).hear_thinking(role, seconds)
                return True
            case _:
                pass
        now = self._clock()
        self.context = context_after(self.context, event)
        taken = self._tell_panes(event, now) or self._tell_lines(event, now)
        self._arrange()
        self._show_tabs()
        self.show_keys()
        return taken

    def _tell_panes(self, event: Event, now: float) -> bool:
        match event:
            case PositionsChanged(view):
                self.query_one(PositionsPane).show(view, now)
                self.query_one(GlanceLine).show(view.glance)
                self.query_one(SelectedPane).show(self.query_one(PositionsPane).selection)
                self.query_one(BookPane).show(view.glance)
                self.query_one(AlertsPane).show_positions(view, now)
                self._point_at_the_new()
            case AlertsChanged(view):
                self.query_one(AlertsPane).show(view, now)
            case DebateChanged(view):
                self.query_one(DebatePane).show(view)
            case TurnEnded(turn):
                self.query_one(DebatePane).end_turn(turn)
            case PlanChanged(view):
                self._show_plan(view, now)
            case ViewAsked(view) if view in PANES:
                self._come_forward(view)
            case _:
                return False
        return True

    def _show_plan(self, view: PlanView | None, now: float) -> None:
        """Whoever watched the debate sees what came of it, however long it took."""
        pane = self.query_one(PlanPane)
        known = pane.plan_id
        done = self._plan_done
        pane.show(view, now)
        self._plan_done = view.plan_id if view and view.result and view.result.done else ""
        if self._plan_done and self._plan_done != done:
            self.go_on()
        if view is not None and view.plan_id != known and self.front == "debate":
            # Nobody acts on rows meanwhile: the cursor can go to the one the plan is about.
            self.query_one(PositionsPane).point_at(
                "" if view.ref is None else position_name(view.ref)
            )
            self._come_forward("plan")

    def _point_at_the_new(self) -> None:
        """Once, when a plan has made a position of its own: it is what one wants to see next."""
        plan = self.told.plan
        new = None if plan is None or plan.result is None else plan.result.new_ref
        if new is not None and new != self._pointed_at and new in self.context.positions:
            self._pointed_at = new
            self.query_one(PositionsPane).point_at(position_name(new))

    def _tell_lines(self, event: Event, now: float) -> bool:
        match event:
            case StatusChanged(view):
                self._show_status(view, now)
            case OutageChanged(view):
                self._show_outage(view, now)
                self._show_status(self.told.status, now)
            case PhraseProposed() as proposed:
                self.propose(proposed)
            case Said() as said:
                self.say(said)
            case HintChanged(words):
                self.query_one(MessageLine).hint(words)
                self.query_one(PlanPane).guide(below=bool(words))
            case HelpAsked(topic):
                self.open_help(topic)
            case _:
                return False
        return True

    def action_copy(self) -> None:
        """What the focused pane has selected, through the terminal to the reader's clipboard."""
        text = self.copy_text()
        if text:
            self.app.copy_to_clipboard(text)
            self.say(Said(f"Copied: {text.splitlines()[0][:60]}"))

    def copy_text(self) -> str:
        pane = self.pane(self.front)
        return pane.copy_text if isinstance(pane, Copied) else ""

    def pane(self, name: PaneName) -> Widget:
        return self.query_one(f"#{name}")

    def action_front(self, name: PaneName) -> None:
        self._bring_to_front(name)

    def action_turn(self, step: int) -> None:
        places = PANES.index(self.front)
        self._bring_to_front(PANES[(places + step) % len(PANES)])

    def action_page(self, step: int) -> None:
        """Whoever is at the prompt scrolls what is in front of them."""
        pane = self.pane(self.front)
        pane.scroll_page_down(animate=False) if step > 0 else pane.scroll_page_up(animate=False)

    def action_zoom(self) -> None:
        self.toggle_class("-zoomed")
        self._arrange()

    def action_prompt(self) -> None:
        self.set_focus(self.query_one(PromptPane))

    def on_descendant_focus(self) -> None:
        name = None if self.focused is None else self.focused.id
        if name in PANES:
            self._mark_front(name)
        self.show_keys()

    def on_row_table_pointed(self, event: RowTable.Pointed) -> None:
        match event.table:
            case PositionsPane() as positions:
                selected = None if event.key is None else read_position_ref(event.key)
                self.context = replace(self.context, selected=selected)
                self.query_one(PromptPane).exemplify(selected)
                self.query_one(PlanPane).follow(selected)
                self.query_one(SelectedPane).show(positions.selection)
                self._arrange()
                positions.show_age(self._clock())
                self.show_keys()
            case AlertsPane() as alerts:
                row = alerts.selection
                alone = None if row is None or row.members else row.alert_id
                self.context = replace(self.context, selected_alert=alone)
                if alerts.has_focus and alerts.selection is not None:
                    self.say(Said(alerts.selection.message))
            case _:
                pass

    def on_positions_pane_filter_asked(self) -> None:
        self.query_one(FilterLine).open()

    def on_filter_line_narrowed(self, event: FilterLine.Narrowed) -> None:
        self.query_one(PositionsPane).narrow(event.words, self._clock())

    def on_filter_line_closed(self) -> None:
        self._bring_to_front("positions")

    async def on_key_line_pressed(self, event: KeyLine.Pressed) -> None:
        if self.focused is None:  # a click outside the panes takes the focus away
            self.set_focus(self.pane(self.front))
        label = _PAUSE if event.label == _RESUME else event.label
        for active in self.active_bindings.values():
            if active.enabled and active.binding.description == label:
                await self.app.run_action(active.binding.action, active.node)
                return

    def on_prompt_pane_left(self) -> None:
        self._bring_to_front(self.front)
        self.action_cancel_pages()

    @property
    def is_typing(self) -> bool:
        prompt = self.query_one(PromptPane)
        return prompt.has_focus and bool(prompt.value)

    def focus_front(self) -> None:
        self._bring_to_front(self.front)

    def on_prompt_pane_noticed(self, event: PromptPane.Noticed) -> None:
        self.say(Said(event.words, "warn"))

    def on_resize(self) -> None:
        self.call_after_refresh(self.show_keys)
        self.call_after_refresh(self._arrange)
        self.call_after_refresh(lambda: self.query_one(GlanceLine).show(self.told.positions.glance))

    def on_debate_pane_read(self) -> None:
        name, self._after_reading = self._after_reading, None
        if name is not None and self.front == "debate":
            self._come_forward(name)

    def _come_forward(self, name: PaneName) -> None:
        """The desk has something to show there; whoever is typing is not interrupted."""
        debate = self.query_one(DebatePane)
        apart = name != "debate" and not self._stands_beside_a_debate(name)
        if self.front == "debate" and debate.is_being_read and apart:
            self._after_reading = name
            return
        if self.query_one(PromptPane).value:
            self._mark_front(name)
        else:
            self._bring_to_front(name)

    def _stands_beside_a_debate(self, name: PaneName) -> bool:
        """By the width: what is on the screen now may be from before the debate came."""
        if self.has_class("-zoomed") or self.has_class("-narrow"):
            return False
        return self.has_class("-extra-wide") or name != "plan"

    def _bring_to_front(self, name: PaneName) -> None:
        self._mark_front(name)
        self.set_focus(self.pane(name))

    def _mark_front(self, name: PaneName) -> None:
        self.front = name
        for each in PANES:
            self.pane(each).set_class(each == name, "-front")
        self._arrange()
        self._show_tabs()

    def _arrange(self) -> None:
        """Plan and debate take room once there is one; until then the selected position has it."""
        planned = self._has_plan or self.front == "plan"
        debate = self.told.debate
        argued = debate is not None or self.front == "debate"
        # Where one place is left for both, what was asked for last has it.
        heard = (debate is not None and debate.ended is None) or self.front == "debate"
        # A debate whose plan is done gives way with it.
        first = argued and (heard or self.told.plan is None) and self.front != "plan"
        wanted = {"-planned": planned, "-argued": argued, "-debate-first": first}
        changed = [name for name, wears in wanted.items() if wears != self.has_class(name)]
        for name in changed:
            self.set_class(wanted[name], name, update=False)
        if changed:  # once: each time styles everything on the screen anew
            self.update_node_styles()
        self.query_one(DebatePane).stand_beside_plan(self._shows_its_plan(debate))
        self._share_rows()
        self._show_needs()

    def _shows_its_plan(self, debate: DebateView | None) -> bool:
        """Whether what came of a debate is seen beside it, with all that the card has."""
        plan = self.told.plan if self._has_plan else None
        if plan is None or debate is None or debate.ended is None or self.has_class("-zoomed"):
            return False
        does, _, _ = plan.recommendation.partition(". ")
        roomy = self.has_class("-extra-wide") and self.has_class("-tall")
        return roomy and debate.ended.startswith(does)

    def _show_needs(self) -> None:
        """Where one pane is seen at a time, what needs somebody stands below the positions."""
        alerts = self.query_one(AlertsPane)
        waiting = alerts.waiting
        narrow = self.has_class("-narrow") and not self.has_class("-zoomed")
        needs = bool(waiting) and narrow and self.front == "positions"
        self.set_class(needs, "-needs")
        height = min(waiting, _MOST_NEEDS) + 1 + _FRAME if needs else None
        if height != self._needs_height:  # the same height set again draws the whole pane again
            self._needs_height = height
            alerts.styles.height = height

    @property
    def _has_plan(self) -> bool:
        """One that is done gives way once the cursor is on another position."""
        plan, selected = self.told.plan, self.context.selected
        if plan is None or plan.result is None or not plan.result.done:
            return plan is not None
        return selected in (None, plan.ref, *plan.others, plan.result.new_ref)

    def _share_rows(self) -> None:
        """Tables have as many lines as they need, and half of the room there is at most, or what
        those below leave.

        What is argued or planned is long: while it is read, the table above it gives way.
        """
        panes = self.query_one("#panes")
        room, tall = panes.size.height, self.has_class("-tall")
        most = max(room // 2, room - self._least_below())
        if not tall and self.front in ("debate", "plan"):
            most = room * 2 // 5
        above = self._lines_for(self.query_one(PositionsPane), most)
        rows = f"{above} 1fr"
        if self.has_class("-extra-wide") and tall:
            beside = self._lines_for(self.query_one(AlertsPane), (room - above) // 2)
            rows = f"{above} {beside} 1fr"
        if self._rows_shared != rows:
            self._rows_shared = rows
            panes.styles.grid_rows = rows

    def _least_below(self) -> int:
        """Lines without which what stands below the positions says less than it could."""
        below: PlanPane | SelectedPane = self.query_one(PlanPane)
        if not self.has_class("-planned"):
            below = self.query_one(SelectedPane)
        return below.fewest_lines + _FRAME

    @staticmethod
    def _lines_for(table: RowTable, most: int) -> int:
        return max(_FEWEST, min(table.lines_wanted + _FRAME, most))

    def show_ages(self) -> None:
        now = self._clock()
        self.query_one(PositionsPane).show_age(now)
        self.query_one(AlertsPane).show_age(now)
        self.query_one(PlanPane).show_age(now)
        self._show_outage(self.told.outage, now)
        self._show_status(self.told.status, now)

    def _show_outage(self, view: OutageView | None, now: float) -> None:
        keys = {
            active.binding.id: self.app.get_key_display(active.binding)
            for active in self.active_bindings.values()
            if active.binding.id is not None
        }
        self.query_one(OutageCard).show(view, keys, now)

    def _show_status(self, view: StatusView, now: float) -> None:
        """What the card says at length is not said a second time."""
        trouble = None if self.told.outage is not None else view.trouble
        self.query_one(StatusLine).show(replace(view, trouble=trouble), now)

    def _show_tabs(self) -> None:
        self.query_one(TabLine).show(self.told, self.front, self.query_one(AlertsPane).waiting)

    def show_keys(self) -> None:
        names = {_PAUSE: _RESUME} if self.told.status.market_paused else {}
        self.query_one(KeyLine).show(
            (told.key, names.get(told.label, told.label))
            for told in active_keys(self)
            if told.label
        )
