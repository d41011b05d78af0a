"""The desk's colours. None of them carries a meaning alone: every state is also a word."""

from collections.abc import Mapping

from rich.console import Console
from textual.app import App
from textual.theme import Theme

COLOURLESS = "colourless"
SIXTEEN = "zuno-16"
"""For terminals that know sixteen colours: paler ones would all become white there."""
DEFAULT = "zuno-dark"
QUIET_ANSI = "ansi_bright_black"

_DARK = Theme(
    name=DEFAULT,
    primary="#7aa2f7",
    secondary="#7dcfb6",
    accent="#c79bf0",
    warning="#e6b450",
    error="#f07178",
    success="#8bd49c",
    foreground="#c8d0e0",
    background="#11141c",
    surface="#161a24",
    panel="#232a3a",
    dark=True,
    variables={
        "quiet": "#96a0b4",
        "line": "#2f384d",
        "selected": "#1e2a45",
        "shade": "#2f384d",
        "good-shade": "#2b4d3b",
        "speaker-0": "#7aa2f7",
        "speaker-1": "#7dcfb6",
        "speaker-2": "#f0a06a",
        "speaker-3": "#c79bf0",
        "speaker-4": "#e0af68",
        "speaker-5": "#8bd49c",
    },
)
_LIGHT = Theme(
    name="zuno-light",
    primary="#2452b5",
    secondary="#0f6e5b",
    accent="#6b3fa0",
    warning="#945200",
    error="#b3261e",
    success="#1f6f34",
    foreground="#1f2430",
    background="#fbfaf6",
    surface="#f3f1ea",
    panel="#dfe3ea",
    dark=False,
    variables={
        "quiet": "#565d6b",
        "line": "#a9adb8",
        "selected": "#d6e0f5",
        "shade": "#d3cfc2",
        "good-shade": "#a8cfb2",
        "speaker-0": "#2452b5",
        "speaker-1": "#0f6e5b",
        "speaker-2": "#9a4a00",
        "speaker-3": "#6b3fa0",
        "speaker-4": "#7a4f00",
        "speaker-5": "#1f6f34",
    },
)
_HIGH_CONTRAST = Theme(
    name="zuno-high-contrast",
    primary="#66ccff",
    secondary="#66ffcc",
    accent="#e0b3ff",
    warning="#ffdd33",
    error="#ff8080",
    success="#66ff66",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#333333",
    dark=True,
    variables={
        "quiet": "#d0d0d0",
        "line": "#ffffff",
        "selected": "#16324a",
        "shade": "#6b6b6b",
        "good-shade": "#1f7a1f",
        "speaker-0": "#66ccff",
        "speaker-1": "#66ffcc",
        "speaker-2": "#ffb366",
        "speaker-3": "#e0b3ff",
        "speaker-4": "#ffdd33",
        "speaker-5": "#66ff66",
    },
)


def _of_the_terminal(name: str, colours: Mapping[str, str]) -> Theme:
    """A theme of the terminal's own colours, on its own background."""
    own = "ansi_default"
    return Theme(
        name=name,
        ansi=True,
        primary=colours.get("primary", own),
        secondary=colours.get("secondary", own),
        accent=colours.get("accent", own),
        warning=colours.get("warning", own),
        error=colours.get("error", own),
        success=colours.get("success", own),
        foreground=own,
        background=own,
        surface=own,
        panel=own,
        boost=own,
        dark=True,
        variables={
            **dict.fromkeys(
                (
                    *("ansi-background", "ansi-foreground", "border-blurred"),
                    *("block-cursor-foreground", "block-cursor-background"),
                    *("input-cursor-foreground", "input-cursor-background"),
                    *("input-selection-background", "input-selection-foreground"),
                ),
                own,
            ),
            "block-cursor-text-style": "reverse",
            "input-cursor-text-style": "reverse",
            "quiet": colours.get("quiet", own),
            "line": colours.get("quiet", own),
            "selected": own,
            "shade": colours.get("quiet", own),
            "good-shade": colours.get("success", own),
            "speaker-0": colours.get("primary", own),
            "speaker-1": colours.get("secondary", own),
            "speaker-2": colours.get("warning", own),
            "speaker-3": colours.get("accent", own),
            "speaker-4": colours.get("success", own),
            "speaker-5": colours.get("error", own),
        },
    )


_SIXTEEN = _of_the_terminal(
    SIXTEEN,
    {
        "primary": "ansi_cyan",
        "secondary": "ansi_green",
        "accent": "ansi_magenta",
        "warning": "ansi_yellow",
        "error": "ansi_red",
        "success": "ansi_green",
        "quiet": QUIET_ANSI,
    },
)
_COLOURLESS = _of_the_terminal(COLOURLESS, {"quiet": QUIET_ANSI})
"""What is quiet in it is drawn dim, not grey."""

THEMES = (_DARK, _LIGHT, _HIGH_CONTRAST, _SIXTEEN, _COLOURLESS)
THEME_NAMES = tuple(theme.name for theme in THEMES)


def fitting_theme(chosen: str | None, environment: Mapping[str, str]) -> str:
    """The person's wish, unless they want no colour; else what the terminal can show."""
    if environment.get("NO_COLOR"):
        return COLOURLESS
    if chosen is not None:
        return chosen
    terminal = Console(force_terminal=True, _environ=environment)
    return SIXTEEN if terminal.color_system == "standard" else DEFAULT


def choose_theme(app: App[None], theme: str) -> None:
    """Drawn at once, where there are colours at all."""
    if theme in THEME_NAMES and COLOURLESS not in (theme, app.theme):
        app.theme = theme
