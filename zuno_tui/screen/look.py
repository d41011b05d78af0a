"""How the screen is drawn, whatever is on it: `[screen]` and `[keys]`, the environment, flags."""

from argparse import Namespace
from collections.abc import Mapping

from msgspec import Struct, field

from zuno_tui.screen.graphics.picture import PictureWay, picture_way
from zuno_tui.settings import Settings, SettingsError
from zuno_tui.settings.load import environment_value
from zuno_tui.settings.schema import ScreenTable


class Look(Struct, frozen=True):
    ascii_only: bool = False
    bell: bool = True
    theme: str | None = None
    keymap: Mapping[str, str] = field(default_factory=dict)
    reading_pace: int = ScreenTable().reading_pace
    """Words a minute at which a debate is shown; 0 shows it as it comes."""
    pictures: PictureWay = "blocks"
    mouse: bool = True
    """Whether clicks come here; without them a terminal selects text as it always does."""


def read_look(settings: Settings, environment: Mapping[str, str], arguments: Namespace) -> Look:
    from zuno_tui.screen.keys import KeymapError, keymap_from

    try:
        keymap = keymap_from(settings.keys)
    except KeymapError as error:
        raise SettingsError(str(error)) from error
    theme = (
        arguments.theme or environment_value(environment, "screen.theme") or settings.screen.theme
    )
    plain = arguments.ascii or settings.screen.ascii
    return Look(
        ascii_only=plain,
        bell=not arguments.no_bell and settings.screen.bell,
        theme=None if theme is None else _theme(theme),
        keymap=keymap,
        mouse=settings.screen.mouse,
        reading_pace=_pace(
            environment_value(environment, "screen.reading_pace"), settings.screen.reading_pace
        ),
        pictures="blocks" if plain else picture_way(settings.screen.pictures, environment),
    )


def _pace(wish: str | None, written: int) -> int:
    if wish is None:
        return written
    if not wish.isascii() or not wish.isdigit():
        raise SettingsError(
            f"ZUNO_READING_PACE is {wish!r}, and should be words a minute, or 0 for no pause."
        )
    return int(wish)


def _theme(name: str) -> str:
    from zuno_tui.screen.themes import THEME_NAMES

    if name not in THEME_NAMES:
        raise SettingsError(
            f"There is no theme called {name!r}. There are: {', '.join(THEME_NAMES)}."
        )
    return name
