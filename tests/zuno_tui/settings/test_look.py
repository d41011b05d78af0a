"""How the screen is asked to look: settings, then the environment, then flags."""

from __future__ import annotations

from argparse import Namespace
from typing import get_args

import pytest

from zuno_tui.screen.look import Look, read_look
from zuno_tui.screen.themes import THEME_NAMES
from zuno_tui.settings import Settings, SettingsError
from zuno_tui.settings.schema import ScreenTable, ThemeName


def _flags(**chosen: object) -> Namespace:
    return Namespace(**{"ascii": False, "no_bell": False, "theme": None, **chosen})


def test_nothing_chosen_is_the_default() -> None:
    assert read_look(Settings(), {}, _flags()) == Look()


def test_the_last_word_wins() -> None:
    settings = Settings(
        screen=ScreenTable(theme="zuno-light", ascii=True, bell=False), keys={"desk.zoom": "f11"}
    )

    written = read_look(settings, {}, _flags())
    told = read_look(settings, {"ZUNO_THEME": "colourless"}, _flags())
    flagged = read_look(settings, {"ZUNO_THEME": "colourless"}, _flags(theme="zuno-dark"))

    assert written == Look(True, False, "zuno-light", {"desk.zoom": "f11"})
    assert told.theme == "colourless"
    assert flagged.theme == "zuno-dark"


def test_a_debate_is_shown_at_the_pace_that_was_chosen() -> None:
    settings = Settings(screen=ScreenTable(reading_pace=200))
    assert read_look(settings, {}, _flags()).reading_pace == 200
    assert read_look(settings, {"ZUNO_READING_PACE": "0"}, _flags()).reading_pace == 0
    with pytest.raises(SettingsError, match="ZUNO_READING_PACE"):
        read_look(settings, {"ZUNO_READING_PACE": "slow"}, _flags())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings(keys={"desk.zom": "z"}), "Did you mean 'desk.zoom'"),
    ],
)
def test_a_mistake_is_named(settings: Settings, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        read_look(settings, {}, _flags())


def test_themes_are_those_of_the_schema() -> None:
    assert get_args(get_args(ThemeName)[0]) == THEME_NAMES
    with pytest.raises(SettingsError, match="no theme called 'pink'"):
        read_look(Settings(), {"ZUNO_THEME": "pink"}, _flags())


def test_pictures_are_shown_the_way_the_terminal_knows_unless_one_is_chosen() -> None:
    kitty = {"TERM": "xterm-kitty"}
    assert read_look(Settings(), kitty, _flags()).pictures == "kitty"
    assert read_look(Settings(), kitty, _flags(ascii=True)).pictures == "blocks"
    chosen = Settings(screen=ScreenTable(pictures="sixel"))
    assert read_look(chosen, kitty, _flags()).pictures == "sixel"
