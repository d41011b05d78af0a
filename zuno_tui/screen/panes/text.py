"""Text on the screen: plain, drawn, or in lines that can be selected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Self

from textual.content import Content, Span
from textual.geometry import Region
from textual.message import Message
from textual.widgets import Static

from chain.base.clean_text import DROP
from zuno_tui.desk.events import Said
from zuno_tui.present.charts import Line
from zuno_tui.present.views import GlanceView, PlanView, StatusView
from zuno_tui.screen.last_seen import LastSeen
from zuno_tui.screen.panes.frame import coarse_age, join_parts, literal

if TYPE_CHECKING:
    from textual.events import Click
    from textual.visual import VisualType


class PlainText(Static):
    def __init__(
        self,
        content: VisualType = "",
        *,
        id: str | None = None,  # noqa: A002
        classes: str | None = None,
    ) -> None:
        super().__init__(content, markup=False, id=id, classes=classes)

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        # Textual counts changes to know whether the height it measured is still good, and does
        # not count a second one before it was idle: words that follow at once would be cut.
        if layout:
            self._layout_updates += 1
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


_STYLES = {
    "plain": "",
    "good": "$success",
    "warn": "$warning",
    "bad": "$error",
    "dim": "$quiet",
    "shade": "$shade",
    "good shade": "$good-shade",
    "strong": "bold",
    "strong warn": "bold $warning",
    "title": "bold $primary",
}


def draw_lines(lines: Iterable[Line]) -> Content:
    """In one piece: a key may wait for it."""
    texts, spans, place = [], [], 0
    for line in lines:
        for text, tone in line:
            clean = text.translate(DROP)
            if style := _STYLES[tone]:
                spans.append(Span(place, place + len(clean), style))
            texts.append(clean)
            place += len(clean)
        texts.append("\n")
        place += 1
    return Content("".join(texts[:-1]), spans)


_TONES = {"plain": "", "good": "$success", "warn": "$warning", "bad": "$error"}
_TONE_MARKS = {"plain": "", "good": "✓ ", "warn": "▲ ", "bad": "✗ "}


_TONE_COLOURS = {
    "plain": "",
    "good": "$success",
    "warn": "$warning",
    "bad": "$error",
    "dim": "$quiet",
}
_BESIDE_FROM, _WHOLE_FROM = 100, 150
_AROUND_STATUS = 2
_GAP = 2
_SUBSCRIPTIONS = {"none": "", "live": "live blocks", "lost": "polling, live blocks lost"}


class TextLine(PlainText):
    """A line that is drawn again only when its words change, and moves no other."""

    fixed: ClassVar[bool] = True
    """Whether it is one line high whatever it says."""

    def __init__(self, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self._told: Content | None = None

    def tell(self, words: Content) -> None:
        if self._told is not None and self._told.is_same(words):
            return
        self._told = words
        self.update(words, layout=not self.fixed)


class MessageLine(TextLine):
    """What to do next; what was understood, done or refused; the command line that does the same.

    In one line where it fits.
    """

    fixed = False
    _hint = Content("")
    _said = Said("")

    def say(self, said: Said) -> None:
        self._said = said
        self._draw()

    def hint(self, words: str) -> None:
        self._hint = literal(f"→ {words}", "$accent") if words else Content("")
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        said, tone = self._said, _TONES[self._said.tone]
        # What went well is said calmly: the mark alone is green.
        calm = literal(said.words, "" if said.tone == "good" else tone)
        words = literal(_TONE_MARKS[said.tone], tone) + calm
        twin = literal(f"$ {said.twin}", "$quiet") if said.twin else Content("")
        words, twin = (words, twin) if words else (twin, words)
        whole, room = _apart(words, twin), self.content_size.width
        for line in (_apart(self._hint, whole), _apart(self._hint, words)):
            if not room or line.cell_length <= room:
                self.tell(line)
                return
        below = whole if whole.cell_length <= room else words
        self.tell(Content("\n").join(part for part in (self._hint, below) if part))


def _apart(*parts: Content) -> Content:
    return Content(" " * 3).join(part for part in parts if part)


class GlanceLine(TextLine):
    """What all of it is worth and how it goes, as much of it as there is room for."""

    def show(self, view: GlanceView | None) -> None:
        if view is None:
            self.tell(literal("zuno", "bold $primary"))
            return
        # What lies beside the positions is the first to go where the line is short.
        beside, collect = "", f"to collect {view.fees}{view.apart}" if view.fees else ""
        inside = view.in_range
        if self.size.width < _BESIDE_FROM:
            inside = inside.partition(",")[0]
        day = f"value {view.day}" if view.day else ""
        if view.beside and self.size.width >= _WHOLE_FROM:
            beside, collect = view.beside, ""
            if view.fees:
                beside = f"{view.beside} incl. {view.fees} to collect{view.apart}"
        elif view.beside and day:
            # The worth before it is of the wallet, too, and did not gain that.
            gained = view.day.partition(" (")[0]
            whole = self.size.width >= _BESIDE_FROM
            day = f"{view.beside}, {gained}" if whole else f"positions {gained}"
        ranges = literal(inside, "$success" if view.all_in else "$warning")
        change = "$error" if view.ether_change.startswith("▼") else "$success"
        parts = [
            Content.assemble(("worth ", "$quiet"), literal(view.worth, "bold")),
            literal(beside),
            literal(day, _TONE_COLOURS[view.day_tone]),
            literal(collect),
            ranges,
            Content.assemble(
                literal(view.ether),
                " " if view.ether_change else "",
                literal(view.ether_change, change),
            ),
            literal(f"base fee {view.gas}", "$quiet") if view.gas else Content(""),
            literal(view.wallet, "$quiet"),
        ]
        self.tell(self._fitting([part for part in parts if part.plain.strip()], ranges))

    def _fitting(self, parts: list[Content], always: Content) -> Content:
        """The first ones first, but one always: a line cut in the middle of a figure would lie."""
        told, full = [], False
        room = self.content_size.width - always.cell_length
        for part in parts:
            needed = 0 if part is always else part.cell_length + _GAP
            full = full or needed > room
            if part is always or not full:
                told.append(part)
                room -= needed
        return Content(" " * _GAP).join(told)


class StatusLine(TextLine):
    """Network, wallet, block and its age, model, market, and the work under way in words."""

    _shown: tuple[StatusView, float] | None = None

    def on_resize(self) -> None:
        if self._shown is not None:
            self.show(*self._shown)

    def show(self, view: StatusView, now: float) -> None:
        self._shown = (view, now)
        if not view.network:
            self.tell(literal("opening the desk…", "$quiet"))
            return
        age = "" if view.seen_at is None else coarse_age(now - view.seen_at)
        block = "" if view.block is None else f"block {view.block:,} {age}"
        work = ", ".join(f"{job.name}: {job.words}" if job.words else job.name for job in view.jobs)
        before = (
            literal(view.trouble, "bold $warning") if view.trouble else "",
            literal(work, "bold $accent") if work else "",
            literal(view.network, "bold"),
        )
        after = (
            block,
            _SUBSCRIPTIONS[view.subscription],
            view.model,
            _mesh_words(view, now),
            view.market or "",
        )
        whole = join_parts(*before, view.wallet, *after)
        # Whose wallet it is changes least: it makes room for what does.
        fits = not self.size.width or len(whole.plain) <= self.size.width - _AROUND_STATUS
        self.tell(whole if fits else join_parts(*before, *after))


def _mesh_words(view: StatusView, now: float) -> str:
    age = "" if view.mesh_at is None else coarse_age(now - view.mesh_at)
    return f"{view.mesh} {age}".strip()


class KeyLine(TextLine):
    """The keys that matter where the focus is, as many as there is room for, help always."""

    class Pressed(Message):
        """A key was clicked, as the footer calls it."""

        def __init__(self, label: str) -> None:
            self.label = label
            super().__init__()

    _shown: tuple[tuple[str, str], ...] = ()

    def on_click(self, event: Click) -> None:
        x = event.x - self.styles.padding.left
        for label, key in self._shown:
            width = _key_size(label, key) - 2
            if 0 <= x < width:
                self.post_message(self.Pressed(label))
                return
            x -= width + 2

    def show(self, keys: Iterable[tuple[str, str]]) -> None:
        told = {label: key.split(" ", 1)[0] for key, label in keys}
        last = {"help": told.pop("help")} if "help" in told else {}
        room = self.size.width - sum(_key_size(*each) for each in last.items())
        shown: dict[str, str] = {}
        for label, key in told.items():
            room -= _key_size(label, key)
            if room < 0:
                break
            shown[label] = key
        self._shown = tuple((shown | last).items())
        self.tell(
            Content("  ").join(
                Content.assemble((key, "bold $primary"), " ", (label, "$quiet"))
                for label, key in (shown | last).items()
            )
        )


def _key_size(label: str, key: str) -> int:
    return len(label) + len(key) + 3


class TabLine(TextLine):
    """On narrow terminals: which panes there are, and what waits in those out of sight."""

    def show(self, told: LastSeen, front: str, waiting: int) -> None:
        speaking = told.debate is not None and told.debate.ended is None
        counts = {
            "positions": str(len(told.positions.rows) or ""),
            "alerts": f"{waiting} open" if waiting else "",
            "debate": "speaking" if speaking else "",
            "plan": _plan_state(told.plan),
        }
        tabs = []
        for place, (name, count) in enumerate(counts.items(), 1):
            style = "bold reverse" if name == front else "$quiet"
            label = f" {place} {name.capitalize()} "
            needs = {"plan": "$accent", "alerts": "$warning"}.get(name, "$quiet")
            tabs.append(Content.assemble((label, style), (count and f" {count}", needs)))
        self.tell(Content("  ").join(tabs))


def _plan_state(plan: PlanView | None) -> str:
    if plan is None:
        return ""
    if plan.result is not None:
        return "done" if plan.result.done else plan.result.state
    return "ready" if plan.approval is None else "approved"
