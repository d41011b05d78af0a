"""The command palette: what is possible now, and never a signature."""

from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content

from zuno_tui.catalog.command import Suggestion
from zuno_tui.catalog.registry import registry
from zuno_tui.intents.intents import ChangeSetting
from zuno_tui.screen.screens.active_keys import active_keys
from zuno_tui.screen.screens.desk import PANES, DeskScreen
from zuno_tui.screen.themes import THEME_NAMES, choose_theme


class Possible(Struct, frozen=True):
    name: str
    does: str
    do: Callable[[], None]


class DeskCommands(Provider):
    async def discover(self) -> Hits:
        for each in self._possible():
            yield DiscoveryHit(Content(each.name), each.do, each.name, each.does)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for each in self._possible():
            if (score := matcher.match(each.name)) > 0:
                yield Hit(score, matcher.highlight(each.name), each.do, each.name, each.does)

    def _possible(self) -> Iterator[Possible]:
        desk = self.screen
        if not isinstance(desk, DeskScreen):
            return
        keys = {key.id: key.key for key in active_keys(desk)}
        for suggestion, command in registry().suggestions(desk.context):
            yield _suggested(desk, suggestion, command.does, keys.get(command.key, ""))
        for pane in PANES:
            yield Possible(f"go to {pane}", "Focus this pane", partial(desk.action_front, pane))
        yield Possible("zoom", "Give the pane the whole screen, or put it back", desk.action_zoom)
        yield Possible("help", "The keys and phrases of this pane", desk.action_help)
        for theme in THEME_NAMES:
            if theme != self.app.theme:
                yield Possible(f"theme {theme}", "Other colours", partial(self._wear, desk, theme))
        yield Possible("quit", "Quit zuno", desk.action_leave)

    def _wear(self, desk: DeskScreen, theme: str) -> None:
        """At once, and kept for the next time."""
        choose_theme(desk.app, theme)
        desk.ask(ChangeSetting("screen.theme", theme))


def _suggested(desk: DeskScreen, suggestion: Suggestion, does: str, key: str) -> Possible:
    """What leads to a signature is put in the prompt, to be read and sent by hand."""
    sentence = f"{does[0].upper()}{does[1:]}" + (f" · {key}" if key else "")
    if isinstance(suggestion, str):
        return Possible(f"{suggestion} …", sentence, partial(desk.offer, suggestion))
    return Possible(suggestion.title, sentence, partial(desk.ask, suggestion))
