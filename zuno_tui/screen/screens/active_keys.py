"""The keys that do something now."""

from __future__ import annotations

from typing import NamedTuple

from textual.screen import Screen


def _typed(screen: Screen[None], key: str, shown: str) -> bool:
    """Whether the key is a letter for the field that has the focus, and so no command."""
    letter = shown if len(shown) == 1 else None
    return screen.focused is not None and screen.focused.check_consume_key(key, letter)


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
