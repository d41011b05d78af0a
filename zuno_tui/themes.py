"""The desk's colours. None of them carries a meaning alone: every state is also a word."""

from __future__ import annotations

from textual.theme import Theme

COLOURLESS = "colourless"
DEFAULT = "zuno-dark"

_DARK = Theme(
    name=DEFAULT,
    primary="#7aa2f7",
    secondary="#7dcfb6",
    accent="#e0af68",
    warning="#e6b450",
    error="#f07178",
    success="#8bd49c",
    foreground="#c8d0e0",
    background="#11141c",
    surface="#161a24",
    panel="#232a3a",
    dark=True,
    variables={
        "quiet": "#7d879c",
        "line": "#2f384d",
        "role-scout": "#7aa2f7",
        "role-strategist": "#7dcfb6",
        "role-critic": "#f0a06a",
        "role-arbiter": "#c79bf0",
    },
)
_LIGHT = Theme(
    name="zuno-light",
    primary="#2452b5",
    secondary="#0f6e5b",
    accent="#8a5a00",
    warning="#8a5a00",
    error="#b3261e",
    success="#1f6f34",
    foreground="#1f2430",
    background="#fbfaf6",
    surface="#f3f1ea",
    panel="#e2dfd4",
    dark=False,
    variables={
        "quiet": "#5f6675",
        "line": "#c4c0b2",
        "role-scout": "#2452b5",
        "role-strategist": "#0f6e5b",
        "role-critic": "#9a4a00",
        "role-arbiter": "#6b3fa0",
    },
)
_HIGH_CONTRAST = Theme(
    name="zuno-high-contrast",
    primary="#66ccff",
    secondary="#66ffcc",
    accent="#ffdd33",
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
        "role-scout": "#66ccff",
        "role-strategist": "#66ffcc",
        "role-critic": "#ffb366",
        "role-arbiter": "#e0b3ff",
    },
)
_COLOURLESS = Theme(
    name=COLOURLESS,
    ansi=True,
    primary="ansi_default",
    secondary="ansi_default",
    accent="ansi_default",
    warning="ansi_default",
    error="ansi_default",
    success="ansi_default",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    dark=True,
    variables={
        "quiet": "ansi_default",
        "line": "ansi_default",
        "role-scout": "ansi_default",
        "role-strategist": "ansi_default",
        "role-critic": "ansi_default",
        "role-arbiter": "ansi_default",
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "border-blurred": "ansi_default",
        "block-cursor-foreground": "ansi_default",
        "block-cursor-background": "ansi_default",
        "block-cursor-text-style": "reverse",
        "input-cursor-foreground": "ansi_default",
        "input-cursor-background": "ansi_default",
        "input-cursor-text-style": "reverse",
        "input-selection-background": "ansi_default",
        "input-selection-foreground": "ansi_default",
    },
)

THEMES = (_DARK, _LIGHT, _HIGH_CONTRAST, _COLOURLESS)
THEME_NAMES = tuple(theme.name for theme in THEMES)
