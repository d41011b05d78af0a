"""The full-screen app: it draws what the desk tells and passes on what the person asks."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable
from weakref import WeakKeyDictionary

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text
from textual.app import App
from textual.binding import Binding
from textual.command import CommandPalette, Provider
from textual.events import Event as TextualEvent
from textual.events import Key
from textual.filter import LineFilter, NoColor
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import Screen
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.theme import Theme

from chain.base.clean_text import DROP, clean_text
from chain.base.errors import error_kind
from chain.protocols.reference import position_label
from zuno_tui.desk.events import (
    AlertRaised,
    ConfirmationAsked,
    ConfirmationEnded,
    DetailReady,
    Event,
    PageReady,
    QuitAsked,
    Said,
)
from zuno_tui.desk.link import DeskLink
from zuno_tui.intents.intent import Intent
from zuno_tui.present.views import AlertRow
from zuno_tui.screen.app.ending import Ending
from zuno_tui.screen.full_collections import LOOK_SECONDS, FullCollections
from zuno_tui.screen.kept_view import KeptView
from zuno_tui.screen.last_seen import LastSeen
from zuno_tui.screen.panes.debate import ReadingPace
from zuno_tui.screen.prompt_history import PhraseHistory
from zuno_tui.screen.screens.desk import DeskScreen
from zuno_tui.screen.screens.routes import screen_for
from zuno_tui.screen.themes import COLOURLESS, DEFAULT, SIXTEEN, THEMES, fitting_theme

if TYPE_CHECKING:
    from textual.color import Color

    from chain.wallet.secrets import Passphrase
    from zuno_tui.screen.graphics.picture import PictureWay


# Each stands for one of the same width, so that no column moves.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("─━╸╌┄═▔▁▂▃▄▀", "-"),
        **dict.fromkeys("│┃║╎┆▌▐▎▏▕▍", "|"),
        **dict.fromkeys("┌┐└┘╭╮╰╯┬┴┼┏┓┗┛", "+"),
        **dict.fromkeys("█▇▆▅■▉▊▋", "#"),
        **{chr(dots): "*" for dots in range(0x2801, 0x2900)},
        **dict.fromkeys("░▒▓", "."),
        **dict.fromkeys("├", "["),
        **dict.fromkeys("┤", "]"),
        **dict.fromkeys("●◆", "o"),
        **dict.fromkeys("○", "."),
        **dict.fromkeys("★✓", "*"),
        **dict.fromkeys("✗×", "x"),
        "±": "~",
        **dict.fromkeys("▲↑", "^"),
        **dict.fromkeys("▼↓", "v"),
        **dict.fromkeys("▸›→❯⮞▶", ">"),
        **dict.fromkeys("◐", "~"),
        **dict.fromkeys("‹←", "<"),
        **dict.fromkeys("·•−–—", "-"),
        **dict.fromkeys("…", "~"),
        **dict.fromkeys("’‘", "'"),
        **dict.fromkeys("“”", '"'),
        **dict.fromkeys("≤", "<"),
        **dict.fromkeys("≥", ">"),
        **dict.fromkeys("\u00a0", " "),
    }
)


_QUIET = 8
"""Bright black, by its number among the sixteen."""


class DimForQuiet(NoColor):
    """Takes all colour away, and leaves what was quiet dim."""

    _DIM = Style(dim=True)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        quieted = [
            Segment(text, style and style + self._DIM if _is_quiet(style) else style, control)
            for text, style, control in segments
        ]
        return super().apply(quieted, background)


def _is_quiet(style: Style | None) -> bool:
    """Not where the cursor is: dim on light is hard to read."""
    if style is None or style.color is None or style.reverse:
        return False
    return style.color.number == _QUIET


class ControlGuard(LineFilter):
    """Drops what could steer the terminal, whichever widget drew it and wherever it came from."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        return [
            segment
            if segment.control or (segment.text.isascii() and segment.text.isprintable())
            else Segment(segment.text.translate(DROP), segment.style)
            for segment in segments
        ]


class AsciiOnly(LineFilter):
    """For terminals and ears that know ASCII alone; a letter it lacks becomes a question mark."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        return [
            segment
            if segment.control or segment.text.isascii()
            else Segment(_ascii(segment.text), segment.style)
            for segment in segments
        ]


def _ascii(text: str) -> str:
    # Between two numbers an arrow's head alone would compare them.
    arrows = text.replace(" →", "->")
    return "".join(
        character if character.isascii() else "?" * cell_len(character)
        for character in arrows.translate(_PLAIN)
    )


class SpacedScrollBar(ScrollBarRender):
    """Of an upright bar half of the last cell is drawn, and those before it stay blank."""

    THUMB: ClassVar[str] = "▐"
    THIN: ClassVar[str] = "┊"
    """Where no colour tells it from a frame."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not self.vertical:
            yield from super().__rich_console__(console, options)
            return
        style = console.get_style(self.style)
        coloured = style.color is not None and not style.color.is_default
        thumb = self.THUMB if coloured else self.THIN
        blank = Segment(" " * (options.max_width - 1), Style(bgcolor=style.bgcolor))
        before = (blank,) if blank.text else ()
        for bar in super().__rich_console__(console, options.update(max_width=1)):
            for cell in bar.segments if isinstance(bar, Segments) else ():
                if cell.style is not None and cell.style.color is not None:
                    # Reversed it would be a solid block, which is all that is seen without colour.
                    drawn = style + Style(meta=cell.style.meta)
                    yield from (*before, Segment(thumb, drawn), Segment.line())
                else:
                    yield from (*before, cell, Segment.line())


def crash_page(error: BaseException, log: Path | None) -> str:
    """Names the kind of the fault alone: its words may hold what must not be on a screen."""
    where = "" if log is None else f"  Where it happened is written in {log}\n"
    return (
        f"\nzuno hit an internal error ({error_kind(error)}) and closed the desk.\n\n"
        "  Your positions are as they were: nothing is signed without the word you type.\n"
        "  What was sent before is in the outbox, and goes on:  zuno outbox\n"
        f"{where}"
        "  Open the desk again:  zuno\n"
    )


Answer = TypeVar("Answer")

_LOG = logging.getLogger("zuno.screen")
# Without a file to write to, Python would print the log's lines in the middle of the screen.
logging.getLogger("zuno").addHandler(logging.NullHandler())
ScrollBar.renderer = SpacedScrollBar
_LATE_RESIZE_SECONDS = 0.25


class SafeApp(App[Answer]):
    """Left to itself, Textual dies of a hang-up without a word, and prints variables in a crash."""

    log_path: Path | None = None
    ending: Ending | None = None

    def on_load(self) -> None:
        if self.ending is not None:
            loop = asyncio.get_running_loop()
            self.ending.act = lambda number: loop.call_soon_threadsafe(self._end_by, number)

    def on_unmount(self) -> None:
        if self.ending is not None:
            # What is left to do is putting away.
            self.ending.act = lambda _: None

    def on_resize(self) -> None:
        # Textual's own timer for it, of 8 ms, never rings where the machine stalls for as long.
        self.set_timer(_LATE_RESIZE_SECONDS, self._check_resize)

    def _end_by(self, number: signal.Signals) -> None:
        _LOG.info("ended by %s", number.name)
        self.exit(return_code=128 + number)

    def _handle_exception(self, error: Exception) -> None:
        _LOG.error("the screen failed", exc_info=error)
        super()._handle_exception(error)
        # Whatever else was to be printed may show values; the first fault's page is enough.
        self._exit_renderables[:] = [Text(crash_page(self._exception or error, self.log_path))]

    def _fatal_error(self) -> None:
        """Textual would print a traceback with every variable here."""
        self._close_messages_no_wait()


class DeskSpoke(Message, bubble=False):
    """The desk told something; posted from its own thread."""

    def __init__(self, event: Event) -> None:
        self.event = event
        super().__init__()


@runtime_checkable
class Hearing(Protocol):
    """A screen that wants to know what the desk tells while it is open."""

    def hear(self, event: Event) -> bool:
        """Whether the event found its place here, so that no screen need open for it."""


class _NotedLink:
    """The desk, and when it was last asked for something."""

    def __init__(self, link: DeskLink, asked: Callable[[], None]) -> None:
        self._link = link
        self._asked = asked

    def ask(self, intent: Intent) -> None:
        self._asked()
        self._link.ask(intent)

    def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:
        self._link.confirm(approval_hash, word, passphrase)

    def close(self) -> None:
        self._link.close()


class _OpenedPage:
    """The keys typed before a page was painted were not for it."""

    def __init__(self, event: Event, *, asked_for_now: bool) -> None:
        self.event = event
        self.asked_for_now = asked_for_now
        """Whether a key opened it just now; else it came by itself."""
        self.painted_at: float | None = None

    def is_meant_by(self, key: Key) -> bool:
        return self.painted_at is not None and self.painted_at <= key.time


def page_name(event: Event) -> str:
    """What a page that waits is called in the line that offers it."""
    match event:
        case PageReady(title):
            return title
        case DetailReady(view):
            return f"Position {position_label(view.ref)}"
        case ConfirmationAsked(approval):
            return f"The page that signs ({approval.headline})"
        case _:
            return type(event).__name__.removesuffix("Ready").removesuffix("Changed")


_KEY_NAMES = {"enter": "enter", "space": "space", "tab": "tab", "escape": "esc"}


def _desk_commands() -> type[Provider]:
    from zuno_tui.screen.app.palette import DeskCommands

    return DeskCommands


class ZunoApp(SafeApp[None]):
    TITLE = "zuno"
    CSS_PATH = "zuno.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar = {_desk_commands}
    # Known before the first style is made: a theme that comes later makes them all twice.
    theme = Reactive(DEFAULT)

    def __init__(
        self,
        link: DeskLink,
        *,
        ascii_only: bool = False,
        bell: bool = True,
        keymap: Mapping[str, str] | None = None,
        theme: str | None = None,
        clock: Callable[[], float] = time.time,
        after_first_paint: Callable[[], None] | None = None,
        history: PhraseHistory | None = None,
        kept: KeptView = KeptView(),  # noqa: B008 - frozen
        pace: ReadingPace | None = None,
        pictures: PictureWay = "blocks",
        collections: FullCollections | None = None,
    ) -> None:
        chosen = fitting_theme(theme, os.environ)
        # Textual asks for its filters while it is being made: later is black on black.
        super().__init__(ansi_color=True if chosen in (COLOURLESS, SIXTEEN) else None)
        self.link: DeskLink = _NotedLink(link, self._note_asked)
        self.told = LastSeen()
        self.waiting_page: Event | None = None
        """What was read for a page that did not open, as something was typed meanwhile."""
        self._typed_since_asked = False
        self._pages: WeakKeyDictionary[Screen[Any], _OpenedPage] = WeakKeyDictionary()
        self._early: list[Event] | None = []
        """What was told before there was a pane to draw it."""
        self._bell = bell
        self._clock = clock
        self._after_first_paint = after_first_paint
        self._history = history
        self.kept_view = kept
        self._pace = pace
        self.pictures: PictureWay = pictures
        self._collections = collections
        self._gates: list[LineFilter] = [ControlGuard()]
        if ascii_only:
            self._gates.append(AsciiOnly())
        self.theme = chosen
        if keymap:
            self.set_keymap(dict(keymap))

    @property
    def available_themes(self) -> dict[str, Theme]:
        return {theme.name: theme for theme in THEMES}

    def get_line_filters(self) -> Sequence[LineFilter]:
        colours = [DimForQuiet()] if self.theme == COLOURLESS else []
        # First: what takes colours away as NO_COLOR asks leaves nothing to know the quiet by.
        return [*colours, *super().get_line_filters(), *self._gates]

    def get_key_display(self, binding: Binding) -> str:
        """Keys by the names on them; an arrow's sign would say nothing to a screen reader."""
        return _KEY_NAMES.get(binding.key) or super().get_key_display(binding)

    def get_default_screen(self) -> DeskScreen:
        return DeskScreen(
            self.link,
            self.told,
            self._clock,
            self._history,
            self.size,
            pace=self._pace,
            kept=self.kept_view,
        )

    def on_unmount(self) -> None:
        if self._desk is not None and self._early is None:
            self.kept_view = self._desk.kept_view

    def action_command_palette(self) -> None:
        # What it lists is the desk's; above a confirmation there is nothing to choose.
        if isinstance(self.screen, DeskScreen):
            self.push_screen(CommandPalette(placeholder="What do you want to do?"))

    def on_ready(self) -> None:
        # The grammar is needed at the first letter, and not for the first paint.
        Thread(target=import_module, args=("zuno_tui.catalog.interpret",), daemon=True).start()
        if self._collections is not None:
            self._collections.take_over()
            self.set_interval(LOOK_SECONDS, self._collections.look)
        if self._after_first_paint is not None:
            self.call_after_refresh(self._after_first_paint)

    def hear(self, event: Event) -> None:
        """What the desk tells, from whichever thread it tells it."""
        self.post_message(DeskSpoke(event))

    def on_desk_spoke(self, message: DeskSpoke) -> None:
        if self._early is None:
            self._pass_on(message.event)
        else:
            self._early.append(message.event)

    def on_desk_screen_composed(self) -> None:
        early, self._early = self._early or [], None
        for event in early:
            self._pass_on(event)

    def _pass_on(self, event: Event) -> None:
        self.told.hear(event)
        match event:
            case QuitAsked():
                self.exit()
                return
            case AlertRaised(row):
                self._call_out(row)
            case ConfirmationEnded(ended):
                waiting = self.waiting_page
                if isinstance(waiting, ConfirmationAsked) and waiting.approval.hash == ended:
                    self.waiting_page = None
            case DetailReady(view, opens=False):
                waiting = self.waiting_page
                if isinstance(waiting, DetailReady) and waiting.view.ref == view.ref:
                    self.waiting_page = DetailReady(view)
            case _:
                pass
        taken = [screen.hear(event) for screen in self.screen_stack if isinstance(screen, Hearing)]
        if not any(taken) and (screen := screen_for(event, self.link, self._clock)) is not None:
            self._arrived(event, screen)

    def _note_asked(self) -> None:
        self._typed_since_asked = False

    def _arrived(self, event: Event, screen: Screen[None]) -> None:
        """A page opens where nothing was typed since it was asked for; else a line offers it."""
        if self._typed_since_asked or (self._desk is not None and self._desk.is_typing):
            self._offer_page(event)
        else:
            self._pages[screen] = _OpenedPage(event, asked_for_now=False)
            self.push_screen(screen)

    @property
    def _desk(self) -> DeskScreen | None:
        return next(
            (screen for screen in self.screen_stack if isinstance(screen, DeskScreen)), None
        )

    def _offer_page(self, event: Event) -> None:
        self.waiting_page = event
        if self._desk is not None:
            self._desk.say(Said(f"{page_name(event)} is ready: ctrl+o opens it.", "good"))
            self._desk.show_keys()

    def open_waiting_page(self) -> None:
        event, self.waiting_page = self.waiting_page, None
        if event is not None and (screen := screen_for(event, self.link, self._clock)) is not None:
            self._pages[screen] = _OpenedPage(event, asked_for_now=True)
            self.push_screen(screen)

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        page = self._pages.get(screen)
        if page is not None and page.painted_at is None:
            page.painted_at = time.monotonic()

    async def on_event(self, event: TextualEvent) -> None:
        """A key reaches only what was on the screen when it was typed."""
        if isinstance(event, Key):
            if self._collections is not None:
                self._collections.note_key()
            while self.screen_stack and (page := self._pages.get(self.screen)):
                if page.is_meant_by(event):
                    break
                if page.asked_for_now:
                    return
                self.pop_screen()
                self._offer_page(page.event)
            if not event.is_forwarded:
                self._typed_since_asked = True
        await super().on_event(event)

    def _call_out(self, row: AlertRow) -> None:
        """A bell and the terminal's own notification, for what cannot wait."""
        if not self._bell or row.severity != "critical" or self._driver is None:
            return
        self.bell()
        named = "" if row.ref is None else f"{position_label(row.ref)} "
        words = clean_text(row.message).removeprefix(named)
        where = f"{clean_text(row.place)} " if row.place else ""
        self._driver.write(f"\x1b]9;zuno: {where}{named}{words}\x1b\\")
