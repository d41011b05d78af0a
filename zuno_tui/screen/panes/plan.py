"""The plan: what could be done, what is advised, what was approved, and what came of it."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from rich.cells import cell_len
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message

from chain.base.clean_text import DROP
from chain.protocols.reference import PositionRef, position_label
from zuno_tui.present.receipt_lines import receipt_lines, step_lines
from zuno_tui.present.views import ApprovalView, OptionView, PlanView, StepProgress
from zuno_tui.present.words import percent
from zuno_tui.screen.keys import MOVING, PLAN
from zuno_tui.screen.links import can_link
from zuno_tui.screen.panes.frame import ago, frame, heading, join_parts, literal, pane_title
from zuno_tui.screen.panes.receipt import contents
from zuno_tui.screen.panes.result import applied_lines, copied_hashes, result_title
from zuno_tui.screen.panes.row_table import fit_text
from zuno_tui.screen.panes.text import PlainText

if TYPE_CHECKING:
    from textual.app import ComposeResult


_MARGIN = 0.08
_ORPHAN = 12
_UNIT = re.compile(r"(?<=\d) (?=h\b|days\b|×)")
"""Between a figure and its unit: no line ends there."""
_FARTHEST = 4
"""How many times the usual edge's distance a scale reaches; a full range would leave no picture."""


class Scale(NamedTuple):
    low: float
    high: float
    width: int

    def place(self, ticks: float) -> int:
        part = (ticks - self.low) / (self.high - self.low)
        return max(0, min(self.width - 1, round(part * (self.width - 1))))


def scale_of(ranges: Sequence[tuple[int, int]], width: int) -> Scale:
    """A scale that holds the price and every edge, as far as they are not out of all measure."""
    distances = sorted(abs(edge) for edges in ranges for edge in edges if edge) or [1]
    most = _FARTHEST * distances[len(distances) // 2]
    low = max(min(0, *(low for low, _ in ranges)), -most)
    high = min(max(0, *(high for _, high in ranges)), most)
    margin = _MARGIN * (high - low)
    return Scale(low - margin, high + margin, width)


def range_line(edges: tuple[int, int] | None, scale: Scale) -> str:
    """`  ├──────●────┤   ` with the price where it is on every other line of the picture."""
    cells = [" "] * scale.width
    if edges is not None:
        left, right = scale.place(edges[0]), scale.place(edges[1])
        for place in range(left, right + 1):
            cells[place] = "─"
        cells[left] = "├" if edges[0] > scale.low else "‹"
        cells[right] = "┤" if edges[1] < scale.high else "›"
    price = scale.place(0)
    inside = edges is not None and edges[0] <= 0 < edges[1]
    cells[price] = "●" if inside else "│" if edges is None else "○"
    return "".join(cells)


_BETWEEN = " – "
_NARROWEST = 11
_WIDEST = 17
_GAP = 2
_NARROWEST_PICTURE = 24
_WIDEST_COMPACT = 30
_DECISIVE = ("net next 7 d", "cost")
_DECIDES = " ◂"
_LONGEST_LABEL = 12
_JUDGED, _OVER_KEEP = "judged", "over Keep"
_PASSING = ("chosen", "allowed")
BRIEF = (
    *("pool", "net next 7 d", _OVER_KEEP, "lasts (95%)", _JUDGED),
    *("cost", "earned back"),
)
"""What is told of an option at first, beside its range and how likely it is kept."""


def comparison(
    plan: PlanView, chosen: int, width: int, *, whole: bool = False
) -> Iterator[Content]:
    """The card's lines; `chosen` is the option the keys are on, `whole` tells every figure."""
    if not plan.options:
        return
    picture = _Picture(plan.options, width)
    yield from picture.lines(chosen, plan.price)
    yield Content("")
    yield from _table(plan, chosen, width, whole=whole, with_ends=not picture.tells_ends)


def reasons(plan: PlanView, width: int) -> Iterator[Content]:
    for reason in _untold(plan):
        yield from bullet_lines(reason, width)


def _untold(plan: PlanView) -> list[str]:
    """The reasons that are not said already in what the card begins with."""
    told = f"{plan.recommendation} {plan.decided}"
    return [reason for reason in plan.reasons if reason.rstrip(".") not in told]


def bullet_lines(text: str, width: int, bullet: str = "•", style: str = "") -> Iterator[Content]:
    """A sentence wrapped under itself."""
    clean = _UNIT.sub("\u00a0", text.translate(DROP))
    indent = len(bullet) + 1
    room = max(10, width - indent)
    lines = textwrap.wrap(clean, room)
    if len(lines) > 1 and len(lines[-1]) < _ORPHAN:
        # A word alone on the last line is given company.
        lines = textwrap.wrap(clean, max(10, room - _ORPHAN))
    for place, line in enumerate(lines):
        head = f"{bullet} " if place == 0 else " " * indent
        yield Content.assemble((head, "$quiet"), (line.replace("\u00a0", " "), style))


class _Picture:
    """Every range on one scale, beside its prices where there is room for them."""

    def __init__(self, options: Sequence[OptionView], width: int) -> None:
        self._options = options
        self._label = max(cell_len(_name(option)) for option in options) + 1
        self._end = max(cell_len(end) for option in options for end in (option.low, option.high))
        room = width - self._label
        beside = room - 2 * self._end - len(_BETWEEN) - 2 * _GAP
        self.tells_ends = bool(self._end) and beside >= _NARROWEST_PICTURE
        self._room = beside if self.tells_ends else max(10, room)

    def lines(self, chosen: int, price: str) -> Iterator[Content]:
        ranges = [option.edges for option in self._options if option.edges is not None]
        if not ranges:
            return
        scale = scale_of(ranges, self._room)
        ends = 2 * self._end + len(_BETWEEN) + 2 * _GAP
        before = self._label + (ends if self.tells_ends else 0)
        if price:
            aside = before + scale.place(0) - len(price) // 2
            yield literal(f"{'':<{aside}}{price} now", "$quiet")
        for place, option in enumerate(self._options):
            if option.edges is None:
                continue
            style = _option_style(option, chosen=place == chosen)
            inside = option.edges[0] <= 0 < option.edges[1]
            drawn = literal(
                range_line(option.edges, scale),
                style if inside or option.recommended else "$quiet",
            )
            if self.tells_ends:
                low, high = (
                    fit_text(end, self._end, right=True) for end in (option.low, option.high)
                )
                prices = f"{'':<{_GAP}}{low}{_BETWEEN}{high}{'':<{_GAP}}"
                drawn = Content.assemble((prices, _figure_style(option, self._options)), drawn)
            yield Content.assemble((fit_text(_name(option), self._label), style), drawn)


def compact(plan: PlanView, chosen: int, width: int) -> list[Content]:
    """A line an option, its range drawn small: for a pane that is lower than the card.

    Nothing where not even the figures stand beside each other.
    """
    options, figures = plan.options, plan.options[0].figures
    names = [name for name in figures if name in ("pool", *_DECISIVE, plan.decides)]
    label = max(cell_len(_name(option)) for option in options)
    judged = [_JUDGED] if _JUDGED in figures else []
    for shown, drawn in ([*names, *judged], True), (names, True), (names, False):
        titles = [
            "stays 24 h",
            *(f"{each}{_DECIDES}" if each == plan.decides else each for each in shown),
        ]
        told = [
            [
                _chance(option.survives_day),
                *(option.figures.get(each, "–") for each in shown),
            ]
            for option in options
        ]
        widths = [max(map(cell_len, column)) + _GAP for column in zip(titles, *told, strict=True)]
        room = min(_WIDEST_COMPACT, width - label - sum(widths)) if drawn else 0
        if room >= _NARROWEST if drawn else width >= label + sum(widths):
            break
    else:
        return []
    ranges = [option.edges for option in options if option.edges is not None]
    scale = scale_of(ranges or [(-1, 1)], max(2, room - _GAP))

    def line(name: str, picture: str, cells: Sequence[str], style: str, plain: str) -> Content:
        row = zip(cells, widths, strict=True)
        return Content.assemble(
            (fit_text(name, label), style),
            (fit_text(f"{'':<{_GAP}}{picture}", room) if drawn else "", style),
            ("".join(fit_text(cell, cells_wide, right=True) for cell, cells_wide in row), plain),
        )

    head = line("", "", titles, "", "$quiet")
    marked = head.plain.find(f"{plan.decides}{_DECIDES}") if plan.decides else -1
    if marked >= 0:
        head = head.stylize("$accent", marked, marked + len(plan.decides) + len(_DECIDES))
    return [
        head,
        *(
            line(
                _name(option),
                "" if option.edges is None else range_line(option.edges, scale),
                cells,
                _option_style(option, chosen=place == chosen),
                _figure_style(option, options),
            )
            for place, (option, cells) in enumerate(zip(options, told, strict=True))
        ),
    ]


def _table(
    plan: PlanView, chosen: int, width: int, *, whole: bool, with_ends: bool
) -> Iterator[Content]:
    options = plan.options
    labels = [name for name in options[0].figures if whole or name in BRIEF]
    label = min(_LONGEST_LABEL, max(cell_len(each) for each in (*labels, "stays 24 h"))) + 1
    label += cell_len(_DECIDES) if plan.decides in labels else 0
    shown = _window(options, chosen, max(1, (width - label) // _NARROWEST))
    columns = [min(_WIDEST, (width - label) // len(shown))] * len(shown)
    hidden = len(shown) < len(options)
    told = [options[place] for place in shown]
    styles = [_option_style(options[place], chosen=place == chosen) for place in shown]

    def line(name: str, words: Sequence[str], styles: Sequence[str]) -> Content:
        cells = [
            (fit_text(word, column - 1, right=True) + " ", style)
            for word, style, column in zip(words, styles, columns, strict=True)
        ]
        return Content.assemble((fit_text(name, label), "$quiet"), *cells)

    plain = [_figure_style(option, options) for option in told]
    yield line(
        f"‹{chosen + 1} of {len(options)}›" if hidden else "",
        [_head(option, columns[0] - 1) for option in told],
        [f"{style} bold" for style in styles],
    )
    if _JUDGED in labels:
        labels.remove(_JUDGED)
        yield line(_JUDGED, [option.figures.get(_JUDGED, "–") for option in told], plain)
    day = ("stays 24 h", [option.survives_day for option in told])
    week = ("stays 7 d", [option.survives_week for option in told])
    for name, parts in (day, week) if whole else (day,):
        if any(part is not None for part in parts):
            yield line(name, [_chance(part) for part in parts], plain)
    labels.sort(key=lambda name: name != plan.decides)
    for name in labels:
        decides = name == plan.decides
        words = f"{name}{_DECIDES}" if decides else name
        cells = [option.figures.get(name, "–") for option in told]
        styles = [*map(_gain_style, cells, plain)] if name == _OVER_KEEP else plain
        row = line(words, cells, styles)
        yield row.stylize("$accent", 0, label) if decides else row
    # Last: the picture above shows them, and what one decides by is seen without scrolling.
    if with_ends and any(option.low for option in told):
        yield line("from", [option.low for option in told], plain)
        yield line("to", [option.high for option in told], plain)


def _chance(part: float | None) -> str:
    return "–" if part is None else percent(part)


def _window(options: Sequence[OptionView], chosen: int, room: int) -> list[int]:
    """The options in sight: as many as fit, the chosen one and what it is measured against."""
    count = len(options)
    if room >= count:
        return list(range(count))
    pinned = [0] if options[0].candidate is None and room > 1 else []
    room -= len(pinned)
    first = max(len(pinned), min(chosen - room // 2, count - room))
    return [*pinned, *range(first, first + room)]


def _name(option: OptionView) -> str:
    return f"★ {option.name}" if option.recommended else option.name


def _head(option: OptionView, room: int) -> str:
    """`★ C 12.7%` where `wide` has no room: the number says which it is."""
    name = _name(option)
    return name if cell_len(name) <= room else name.removesuffix(" wide")


def _figure_style(option: OptionView, options: Sequence[OptionView]) -> str:
    """What is recommended stands out; what is ruled out stands back where another move is not."""
    if option.recommended:
        return "bold"
    passing = [
        each.candidate is not None and each.edges is not None
        for each in options
        if each.figures.get(_JUDGED) in _PASSING
    ]
    stands_back = any(passing) and option.figures.get(_JUDGED, "–") not in (*_PASSING, "–")
    return "$quiet" if stands_back else ""


def _gain_style(words: str, style: str) -> str:
    """Its colour by its sign, unless it stands back."""
    if style == "$quiet" or words[:1] not in "+−":
        return style
    return f"{style} {'$success' if words.startswith('+') else '$error'}".strip()


def _option_style(option: OptionView, *, chosen: bool) -> str:
    colour = "$success" if option.recommended else "$foreground" if chosen else "$quiet"
    return f"{colour} bold" if chosen else colour


PlanTopic = Literal["diff", "simulate", "rehearse"]
_ALL, _WHY, _BRIEF = (True, True), (False, True), (False, False)
"""How much a card tells: every figure, the reasons."""


def draw_outcome(plan: PlanView, width: int) -> Iterator[Content]:
    """The newest of result, progress and approval first."""
    if plan.result is not None:
        style = "bold $success" if plan.result.done else "bold $warning"
        yield literal(result_title(plan.result), style)
        yield from applied_lines(plan, plan.result, width, links=can_link(os.environ))
        yield Content("")
    elif plan.approval is not None:
        yield from _approval(plan.approval, plan.progress, width)
        yield Content("")
    elif plan.lapsed:
        yield literal("The approval lapsed. Nothing was signed.", "bold $warning")
        yield Content("")


def next_step(plan: PlanView) -> str:
    """What the border says to do now."""
    if plan.result is not None:
        return "done" if plan.result.done else plan.result.state
    if plan.progress:
        return "applying"
    if plan.approval is not None:
        if not plan.approval.can_sign:
            return "approved, but nothing here can sign"
        rehearses = " · e rehearses" if plan.approval.has_transactions else ""
        return f"approved{rehearses}"
    return _again(plan) if plan.lapsed else _to_approve(plan)


def _again(plan: PlanView) -> str:
    return "approval lapsed · a: approve again" if plan.can_approve else "approval lapsed"


def _to_approve(plan: PlanView) -> str:
    if any(option.recommended and option.candidate is None for option in plan.options):
        return "Keep it: nothing to sign"
    return "a: approve" if plan.can_approve else ""


def _waits(plan: PlanView) -> bool:
    return plan.result is None and plan.approval is None and not plan.progress


def _approval(
    approval: ApprovalView, progress: Sequence[StepProgress], width: int
) -> Iterator[Content]:
    """The receipt and the steps; every byte of them stands on the page that signs."""
    yield heading(f"{'APPLYING' if progress else 'APPROVED'}  {approval.headline}")
    if progress:
        yield from contents(step_lines(approval, progress, width))
        yield Content("")
        yield from contents(receipt_lines(approval, width))
        return
    if approval.can_sign:
        page = approval.page
        words = f"Nothing is {page.done} yet. Type apply to review and {page.verb}."
        yield literal(words, "bold $accent")
    yield Content("")
    yield from contents(receipt_lines(approval, width))
    yield Content("")
    yield from contents(step_lines(approval, (), width))
    ends = datetime.fromtimestamp(approval.expires_at, UTC)
    yield from (literal(line) for line in approval.below)
    clock = "" if approval.venue else " (network time)"
    yield literal(f"approval ends {ends:%H:%M:%S} UTC{clock}", "$quiet")


_NOTHING = "No plan yet. Press r on a position."


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
        self._now: float | None = None
        self._hidden = 0
        """Lines that are seen only by scrolling."""
        self._more = Content("")
        """What a key would tell besides."""
        self._guided = False
        self._fewest: tuple[tuple[PlanView, int, str], int] | None = None
        self._selected: PositionRef | None = None
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
    def copy_text(self) -> str:
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

    @property
    def fewest_lines(self) -> int:
        """In which what is advised, why, and every option in a line are seen without scrolling."""
        view, width = self._view, self.scrollable_content_region.width - 1
        if view is None or not view.options or width < 1:
            return 1
        # Every key asks for it; the card is made anew only where it would be another.
        of = (view, width, elsewhere(view, self._selected))
        if self._fewest is None or self._fewest[0] != of:
            lines = self._lines(view, width, figures=False, why=False, low=True)
            self._fewest = (of, len(lines))
        return self._fewest[1]

    def show(self, view: PlanView | None, now: float) -> None:
        before, self._view = self._view, view
        if before is None or view is None or before.plan_id != view.plan_id:
            self._chosen = _recommended(view)
            self.scroll_home(animate=False)
        elif (before.approval, before.result) != (view.approval, view.result):
            self.scroll_home(animate=False)
        self._draw()
        self.show_age(now)

    def guide(self, *, below: bool) -> None:
        """Whether a line below the panes says what to do with a plan that waits."""
        self._guided = below
        if self._now is not None:
            self.show_age(self._now)

    def follow(self, selected: PositionRef | None) -> None:
        """A plan is of one position: where the cursor is on another, the card says so."""
        if selected != self._selected:
            before, self._selected = elsewhere(self._view, self._selected), selected
            if elsewhere(self._view, selected) != before:
                self._draw()

    def show_age(self, now: float) -> None:
        view, self._now = self._view, now
        if view is None:
            frame(self, pane_title("4 Plan"))
            return
        frame(
            self,
            pane_title("4 Plan", view.headline, ago(now - view.made_at)),
            join_parts(
                literal(f"▼ {self._hidden} more", "bold") if self._hidden else "",
                self._more,
                "" if self._guided and _waits(view) else literal(next_step(view), "bold $accent"),
            ),
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
                approval = None if view is None or view.result is not None else view.approval
                return approval is not None and approval.has_transactions
            case "option" | "about" | "whole":
                return view is not None and bool(view.options)
            case "take":
                takes = view is not None and view.result is None
                return self.option is not None and takes
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
        # One cell stays empty before the scroll bar.
        view, size = self._view, self.scrollable_content_region.size - Size(1, 0)
        if not size.width:
            return
        if view is None:
            self.query_one("#card", PlainText).update(literal(_NOTHING, "$quiet"))
            return
        lines = self._fitting(view, size)
        self._hidden = max(0, len(lines) - size.height)
        self.query_one("#card", PlainText).update(Content("\n").join(lines))
        if self._now is not None:
            self.show_age(self._now)

    def _fitting(self, view: PlanView, size: Size) -> list[Content]:
        """As asked for; else the most of it that is seen without scrolling."""
        for figures, why in _ALL, _WHY, _BRIEF:
            lines = self._lines(view, size.width, figures=figures, why=why)
            self._shows_whole = figures
            if figures if self._whole else len(lines) <= size.height and self._whole is None:
                break
        if self._whole and len(lines) > size.height:
            self._more = Content("")
            return self._lines(view, size.width, figures=True, why=True, reasons_first=True)
        low = self._whole is None and len(lines) > size.height and bool(view.options)
        if low:
            lines = self._lines(view, size.width, figures=False, why=False, low=True)
        more = bool(view.options) and not figures
        self._more = _more(view, why=why, low=low) if more else Content("")
        room = size.height - len(lines)
        if self._whole is None and not (figures or why) and view.options and room > 0:
            lines += _first_reasons(view, size.width, room)
        return lines if self._whole else _denser(lines, size.height)

    def _lines(
        self,
        view: PlanView,
        width: int,
        *,
        figures: bool,
        why: bool,
        reasons_first: bool = False,
        low: bool = False,
    ) -> list[Content]:
        lines = [*self._banner(width), *draw_outcome(view, width)]
        # What to do stands alone; what it costs and why is the next line.
        does, dot, rest = view.recommendation.partition(". ")
        lines += bullet_lines(f"{does}{dot.strip()}", width, "★", "bold")
        if rest and len(view.recommendation) + 2 <= width:
            lines[-1] += literal(f" {rest}")
        else:
            lines += bullet_lines(rest, width, " ")
        lines += bullet_lines(view.decided, width, " ")
        rows = compact(view, self._chosen, width) if low else []
        rows = rows or [*comparison(view, self._chosen, width, whole=figures)]
        compared = [Content(""), *rows]
        reasoned = [Content(""), heading("WHY"), *reasons(view, width)]
        parts = [compared, reasoned] if why and view.reasons else [compared]
        for part in reversed(parts) if reasons_first else parts:
            lines += part
        return lines

    def _banner(self, width: int) -> Iterator[Content]:
        if words := elsewhere(self._view, self._selected):
            yield from bullet_lines(words, width, "▲", "$warning")
            yield Content("")


def elsewhere(plan: PlanView | None, selected: PositionRef | None) -> str:
    """That this is no plan for the position under the cursor; nothing where it is."""
    if plan is None or plan.ref is None or selected is None:
        return ""
    if selected in (plan.ref, *plan.others):
        return ""
    if plan.result is not None and plan.result.new_ref == selected:
        return ""
    return (
        f"Plan for {plan.about}. You are on {position_label(selected)}: press r for its own plan."
    )


def _first_reasons(view: PlanView, width: int, room: int) -> list[Content]:
    """As many whole reasons as there is room for under their heading."""
    told: list[Content] = []
    for reason in _untold(view):
        wrapped = list(bullet_lines(reason, width))
        if len(told) + len(wrapped) + _ABOVE_REASONS > room:
            break
        told += wrapped
    return [Content(""), heading("WHY"), *told] if told else []


_ABOVE_REASONS = 2
"""The heading, and the blank line before it."""


def _more(view: PlanView, *, why: bool, low: bool) -> Content:
    count = sum(name not in BRIEF for name in view.options[0].figures)
    figures = "all figures" if low else f"{count} more figures"
    told = f"all reasons and {figures}" if view.reasons and not why else figures
    return Content.assemble(("w", "bold $primary"), (f" {told}", "$quiet"))


_A_FEW = 9
"""Lines of which the first are worth the air; of many more, air is what keeps them readable."""


def _denser(lines: list[Content], height: int) -> list[Content]:
    """What is read without scrolling is worth more than the air between it, from below."""
    empty = [place for place, line in enumerate(lines) if not line.plain]
    spare = len(lines) - height
    if not 0 < spare <= len(empty) + _A_FEW:
        return lines
    # Where it does not all fit even so, the first words and the picture keep the air
    # under them.
    left_out = {*empty[-spare:]} if spare <= len(empty) else {*empty[2:]}
    return [line for place, line in enumerate(lines) if place not in left_out]


def _recommended(view: PlanView | None) -> int:
    options = () if view is None else view.options
    return next((place for place, option in enumerate(options) if option.recommended), 0)
