"""Help for whatever has the focus: what it shows, its keys as they are now, and the phrases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from zuno_tui.catalog.command import Group, Verb
from zuno_tui.catalog.registry import registry
from zuno_tui.present.plan_card import ALERT_TERMS, PLAN_TERMS, POSITION_TERMS
from zuno_tui.screen.keys import HELP
from zuno_tui.screen.panes.frame import heading, literal
from zuno_tui.screen.panes.text import PlainText

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from zuno_tui.screen.screens.active_keys import ActiveKey

HelpSection: TypeAlias = list[Content]
_ABOUT = {
    "positions": (
        "Each row is a position; the gauge is its range, the dot in it the price. Grey rows are out"
        " of date; the border says why."
    ),
    "alerts": (
        "What the monitor found: ✗ critical, ▲ warning, · seen, muted or over. NEXT is what to"
        " type about it; enter puts it in the prompt for you."
    ),
    "debate": (
        "Scout looks, Strategist proposes, Critic recomputes and judges, Arbiter decides when they"
        " cannot agree. A number that was not given to them is struck through, with the reason."
    ),
    "plan": (
        "Keep, the moves and Close on one scale; ★ is what is advised, ◂ the figure that decided."
        " Approving builds and tries the transactions; only"
        " the word apply, typed on the page that shows them, signs."
    ),
    "position": (
        "The price's way through the range, the liquidity around it, what each day brought, and"
        " everything known in words. Letters lead on: what they put in the prompt you still send."
    ),
    "portfolio": (
        "Every wallet on every network and its positions, first all together. TODAY, 7 D and 30 D"
        " are fees by UTC days, ENTRY those since it was opened, VS HOLD what it gained or lost"
        " against keeping the tokens; above it how that went, for the row under the cursor. What"
        " a network could not tell is said in its row."
    ),
    "range": (
        "Arrows move the edge between ◂ ▸, tab takes the other one or both, + and − widen and"
        " narrow. All figures are told from the block in the border; NOW is the range that is"
        " held. Enter makes the plan of it, which signs nothing."
    ),
    "order": (
        "A close or a collect that happens while you sleep. Choose when, name its value and its"
        " end. Enter shows the page with all that you would sign; only the word typed there signs."
    ),
    "pools": (
        "Type words to narrow the list; enter puts a create phrase for the pool in the prompt,"
        " where its amount is still to be written."
    ),
    "records": "Every debate is on record. Enter replays one, with no model and no chain.",
    "replay": "The debate as it was, turn by turn; struck numbers stand as they were struck.",
    "outbox": (
        "Every plan that was applied, and each of its transactions. What can still be done about"
        " one is in the keys below; what signs asks for the typed word again."
    ),
    "trade": (
        "A run of the trade desk, as it goes: ▶ acts, ■ holds by judgment, ✗ holds because"
        " something needed was missing. Lamps: ● fresh, ◐ stale, ○ missing. On the ladder ✓"
        " leaves the decision as it was, ↓ takes from it, ✗ makes a HOLD of it; no stage adds"
        " to it. Nothing is sent before you approve it and type the word on the page that shows"
        " its orders."
    ),
    "chart": "Candles, what takers bought, funding and where liquidations wait, as it was drawn.",
    "settings": (
        "What is set and where it comes from. Enter changes a row: what you type is checked,"
        " written to settings.toml and in use at once. Secrets are never shown."
    ),
    "prompt": "Type what you want; tab completes, up and down bring back what you typed before.",
}
_TERMS: dict[str, Mapping[str, str]] = {
    "positions": POSITION_TERMS,
    "alerts": ALERT_TERMS,
    "plan": PLAN_TERMS,
    "range": PLAN_TERMS,
}
_WANTED = {
    Group.POSITIONS: "what you have, what it earned, where to put it",
    Group.ACTING: "collect, add, move, close; approve it, then sign it",
    Group.WATCHING: "hear of it when something happens",
    Group.ADVICE: "what the agents would do, and why",
    Group.TRADING: "hedges and the trade desk",
    Group.AGENTS: "models, and other programs that may read",
    Group.SETUP: "wallets, settings, the demo, checks",
}
_TERM_CELLS = 16
_USAGE_CELLS = 26
_ID_CELLS = 20
_WITH_IDS = 80
"""The width from which the ids have room behind their keys."""


def pane_sections(pane: str, keys: Iterable[ActiveKey], width: int) -> Iterator[HelpSection]:
    """What a pane is, its keys, the words on it, and every phrase by what one wants."""
    if pane in _ABOUT:
        yield literal(_ABOUT[pane]).wrap(width)
    if told := _in_order(keys, pane):
        yield _key_lines(told, width)
    if terms := _TERMS.get(pane):
        lines = [heading("WORDS", "on this pane")]
        for term, meaning in terms.items():
            lines += _beside(term, _TERM_CELLS, meaning, width)
        yield lines
    for group, verbs in groupby(registry().verbs, registry().group_of):
        lines = [heading("PHRASES", _WANTED[group])]
        for verb in verbs:
            lines += _beside(verb.usage_text, _USAGE_CELLS, registry().does(verb), width)
        yield lines


def verb_section(verb: Verb, keys: Iterable[ActiveKey], width: int) -> HelpSection:
    """One phrase: what it does, its key, and how else it may be said."""
    does = registry().does(verb)
    lines = [literal(verb.usage_text, "bold $primary")]
    lines += literal(f"{does[0].upper()}{does[1:]}.").wrap(width)
    by_id = {key.id: key.key for key in keys}
    if (key := by_id.get(registry().key_of(verb))) is not None:
        lines.append(literal(f"Key: {key}"))
    if verb.spoken:
        lines += [Content(""), literal("Also understood:", "$quiet")]
        lines += [literal(f"  {phrase}") for phrase in verb.spoken]
    return lines


def in_columns(sections: Sequence[HelpSection]) -> tuple[list[HelpSection], list[HelpSection]]:
    """The sections in their order as two columns, parted where the longer one is shortest."""

    def height(parted_at: int) -> int:
        columns = sections[:parted_at], sections[parted_at:]
        return max(sum(len(section) + 1 for section in column) for column in columns)

    place = min(range(1, len(sections) + 1), key=height)
    return [*sections[:place]], [*sections[place:]]


def _in_order(keys: Iterable[ActiveKey], pane: str) -> list[ActiveKey]:
    """The pane's own keys, then the desk's, and how to move last, since everyone tries that."""
    rooms = {pane: 0, "desk": 1, "market": 2}
    return sorted(keys, key=lambda key: rooms.get(key.id.partition(".")[0], len(rooms)))


def _key_lines(keys: Iterable[ActiveKey], width: int) -> HelpSection:
    with_ids = width >= _WITH_IDS
    lines = [heading("KEYS", "by their ids, as settings take them in [keys]" if with_ids else "")]
    room = width - _ID_CELLS if with_ids else width
    for key in keys:
        first, *more = _beside(key.key, _TERM_CELLS, key.does, room)
        if with_ids:
            first = first.pad_right(room - first.cell_length) + literal(key.id, "$quiet")
        lines += [first, *more]
    return lines


def _beside(term: str, cells: int, meaning: str, width: int) -> HelpSection:
    """The meaning in a column of its own; a term too long for its column has a line to itself."""
    first, *more = literal(meaning).wrap(max(1, width - cells))
    if len(term) < cells:
        front = [literal(f"{term:<{cells}}", "bold") + first]
    else:
        front = [literal(term, "bold"), first.pad_left(cells)]
    return [*front, *(line.pad_left(cells) for line in more)]


_COLUMN = 88
_FRAME = 5
"""The border, the blank cell within it and the scroll bar."""
_GAP = 4


class HelpScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [*HELP]

    def __init__(self, topic: str | None, pane: str = "", keys: Sequence[ActiveKey] = ()) -> None:
        super().__init__()
        self._topic = topic
        self._pane = pane
        self._keys = keys

    def compose(self) -> ComposeResult:
        about = self._topic or self._pane
        with VerticalScroll(id="help", classes="sheet", can_focus=False) as sheet:
            sheet.border_title = literal(f"Help · {about}" if about else "Help")
            sheet.border_subtitle = Content("j k scroll · esc closes")
            with Horizontal(id="help-columns"):
                yield PlainText(id="help-left")
                yield PlainText(id="help-right")

    def on_resize(self) -> None:
        """One column, or two where both have room to read."""
        room = self.app.size.width * 94 // 100 - _FRAME
        verb = None if self._topic is None else registry().verb_named(self._topic)
        columns = 2 if verb is None and room >= 2 * _COLUMN + _GAP else 1
        width = min(room, _COLUMN)
        sections = (
            [*pane_sections(self._pane, self._keys, width)]
            if verb is None
            else [verb_section(verb, self._keys, width)]
        )
        left, right = in_columns(sections) if columns > 1 else (sections, [])
        self.query_one("#help").styles.width = columns * (width + _GAP) - _GAP + _FRAME
        for name, shown in (("#help-left", left), ("#help-right", right)):
            column = self.query_one(name, PlainText)
            column.styles.width = width
            column.display = bool(shown)
            lines = [line for section in shown for line in (*section, Content(""))]
            column.update(Content("\n").join(lines[:-1]))

    def action_scroll(self, step: int) -> None:
        self.query_one("#help", VerticalScroll).scroll_relative(y=step, animate=False)
