"""Help for whatever has the focus: what it shows, its keys as they are now, and the phrases."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen

from zuno_tui.commands.command import Group
from zuno_tui.commands.registry import registry
from zuno_tui.screen.keys import HELP
from zuno_tui.screen.panes.frame import heading, literal
from zuno_tui.screen.panes.plain_text import PlainText
from zuno_tui.shown.card_terms import ALERT_TERMS, PLAN_TERMS, POSITION_TERMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.screen import Screen

    from zuno_tui.commands.command import Verb


class ActiveKey(NamedTuple):
    key: str
    """As it is named on screen; all the keys of one binding together."""
    label: str
    """The footer's word; empty where only the help tells it."""
    does: str
    id: str


def active_keys(screen: Screen[None]) -> list[ActiveKey]:
    """The focused widget's own first, then the screen's."""
    found: dict[str, ActiveKey] = {}
    for key, active in screen.active_bindings.items():
        binding = active.binding
        shown = screen.app.get_key_display(binding)
        if not active.enabled or not binding.id or _typed(screen, key, shown):
            continue
        if binding.id in found:
            before = found[binding.id]
            found[binding.id] = before._replace(key=f"{before.key} {shown}")
        else:
            label = binding.description if binding.show else ""
            does = binding.tooltip or binding.description
            found[binding.id] = ActiveKey(shown, label, does, binding.id)
    return list(found.values())


def _typed(screen: Screen[None], key: str, shown: str) -> bool:
    """Whether the key is a letter for the field that has the focus, and so no command."""
    letter = shown if len(shown) == 1 else None
    return screen.focused is not None and screen.focused.check_consume_key(key, letter)


_ABOUT = {
    "positions": (
        "Each row is a position: ● in range, ▲ near an edge, ✗ out of range, · empty. The gauge is"
        " its range, the dot in it the price. VS HOLD is what it gained or lost against keeping"
        " the tokens; NET/DAY is fees less what arbitrage takes (LVR). Grey rows are not fresh:"
        " the border says why."
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
        "Hold, the moves and exit on one scale; ★ is what is advised. The bars are the chance to"
        " stay in range for a day and a week. Approving builds and tries the transactions; only"
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
    Group.POSITION: "see what you have and what it earned, and change it",
    Group.PLAN: "decide: let the agents argue, read the plan, take it",
    Group.WALLET: "wallets, tokens, and what was sent",
    Group.WATCH: "be told when something happens",
    Group.DESK: "the desk, its networks and its market",
    Group.HOUSE: "settings, checks and upkeep",
}
_TERM_CELLS = 15
_KEY_CELLS = 12
_DOES_CELLS = 48
_USAGE_CELLS = 30
_WITH_IDS = 86
"""The width from which the ids have room behind their keys."""


class HelpScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [*HELP]

    def __init__(self, topic: str | None, pane: str = "", keys: Sequence[ActiveKey] = ()) -> None:
        super().__init__()
        self._topic = topic
        self._pane = pane
        self._keys = keys

    def compose(self) -> ComposeResult:
        about = self._topic or self._pane
        with VerticalScroll(classes="sheet", can_focus=False) as sheet:
            sheet.border_title = literal(f"Help · {about}" if about else "Help")
            sheet.border_subtitle = Content("j k scroll · esc closes")
            yield PlainText()

    def on_resize(self) -> None:
        with_ids = self.app.size.width >= _WITH_IDS
        self.query_one(PlainText).update(Content("\n").join(self._lines(with_ids=with_ids)))

    def action_scroll(self, step: int) -> None:
        self.query_one(".sheet", VerticalScroll).scroll_relative(y=step, animate=False)

    def _lines(self, *, with_ids: bool) -> Iterator[Content]:
        verb = None if self._topic is None else registry().verb_named(self._topic)
        if verb is not None:
            yield from _about_verb(verb, {key.id: key.key for key in self._keys})
            return
        if self._pane in _ABOUT:
            yield literal(_ABOUT[self._pane])
            yield Content("")
        yield from _term_lines(_TERMS.get(self._pane, {}))
        yield from _key_lines(_in_order(self._keys, self._pane), with_ids=with_ids)
        for group, verbs in groupby(registry().verbs, registry().group_of):
            yield heading("PHRASES", _WANTED[group])
            for each in verbs:
                does = registry().does(each)
                yield Content.assemble((f"{each.written:<{_USAGE_CELLS}} ", "bold"), does)
            yield Content("")


def _term_lines(terms: Mapping[str, str]) -> Iterator[Content]:
    if not terms:
        return
    yield heading("WORDS", "on this pane")
    for term, meaning in terms.items():
        yield Content.assemble((f"{term:<{_TERM_CELLS}} ", "bold"), meaning)
    yield Content("")


def _about_verb(verb: Verb, keys: Mapping[str, str]) -> Iterator[Content]:
    does = registry().does(verb)
    yield literal(verb.written, "bold $primary")
    yield literal(f"{does[0].upper()}{does[1:]}.")
    if (key := keys.get(registry().key_of(verb))) is not None:
        yield literal(f"Key: {key}")
    if verb.spoken:
        yield Content("")
        yield literal("Also understood:", "$quiet")
        yield from (literal(f"  {phrase}") for phrase in verb.spoken)


def _in_order(keys: Iterable[ActiveKey], pane: str) -> list[ActiveKey]:
    """The pane's own keys, then the desk's, and how to move last, since everyone tries that."""
    rooms = {pane: 0, "desk": 1, "market": 2}
    return sorted(keys, key=lambda key: rooms.get(key.id.partition(".")[0], len(rooms)))


def _key_lines(keys: Sequence[ActiveKey], *, with_ids: bool) -> Iterator[Content]:
    if not keys:
        return
    by_ids = ("  by their ids, as settings take them in [keys]", "$quiet")
    yield Content.assemble(("KEYS", "bold $primary"), by_ids if with_ids else "")
    for key in keys:
        yield Content.assemble(
            (f"{key.key:<{_KEY_CELLS}} ", "bold"),
            f"{key.does:<{_DOES_CELLS}} ",
            (key.id, "$quiet") if with_ids else "",
        )
    yield Content("")
