"""A screen one goes to from the desk and comes back from, with something to ask or not."""

from typing import ClassVar

from textual.binding import BindingType
from textual.screen import Screen
from textual.widgets import Input

from zuno_tui.desk.link import DeskLink
from zuno_tui.intents.intent import Intent
from zuno_tui.screen.keys import VISIT
from zuno_tui.screen.panes.text import KeyLine
from zuno_tui.screen.screens.active_keys import active_keys
from zuno_tui.screen.screens.asking import Asking


class SubScreen(Screen[None]):
    """Escape leads back; the desk goes on hearing all the while."""

    BINDINGS: ClassVar[list[BindingType]] = [*VISIT]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    ABOUT: ClassVar[str] = ""
    """Under which name help explains it."""

    def __init__(self, link: DeskLink) -> None:
        super().__init__()
        self.link = link

    def on_mount(self) -> None:
        self._show_keys()

    def on_descendant_focus(self) -> None:
        self._show_keys()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_keys)

    def action_close(self) -> None:
        self.dismiss()

    def action_prompt(self) -> None:
        """What is typed right after it goes to the prompt already."""
        self.leave_with("")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A colon that is typed into a field is a colon."""
        if action == "prompt" and isinstance(self.focused, Input):
            return False
        return super().check_action(action, parameters)

    def action_help(self) -> None:
        from zuno_tui.screen.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(None, self.ABOUT, active_keys(self)))

    def leave_asking(self, intent: Intent) -> None:
        """Back to the desk, which asks it and shows the answer."""
        self.dismiss()
        self._desk.ask(intent)

    def leave_with(self, phrase: str) -> None:
        """Back to the desk with a phrase in its prompt, to read, change and send."""
        self.dismiss()
        self._desk.offer(phrase)

    @property
    def _desk(self) -> Asking:
        desk = self.app.screen_stack[0]
        if not isinstance(desk, Asking):
            raise TypeError("A visit starts from the desk.")
        return desk

    def _show_keys(self) -> None:
        for line in self.query(KeyLine):
            line.show((told.key, told.label) for told in active_keys(self) if told.label)
