"""Whether a terminal opens what is underlined (OSC 8), by what it says of itself."""

from collections.abc import Mapping

_PROGRAMS = frozenset(("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio", "Tabby"))
_TERMINALS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm")
_FIRST_VTE = 5000
"""The first release of GNOME's terminal that knows links."""


def can_link(environment: Mapping[str, str]) -> bool:
    """A terminal that does not say so gets the address in full."""
    if environment.get("TMUX") or environment.get("TERM", "").startswith(("screen", "tmux")):
        return False  # passed on only where it was configured to be
    vte = environment.get("VTE_VERSION", "")
    return (
        environment.get("TERM_PROGRAM") in _PROGRAMS
        or environment.get("TERM", "").startswith(_TERMINALS)
        or "WT_SESSION" in environment
        or (vte.isdigit() and int(vte) >= _FIRST_VTE)
    )
