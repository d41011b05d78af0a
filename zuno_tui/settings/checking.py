"""What every table of the settings is held to, and how a mistake in one is told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class SettingsError(ValueError):
    """A setting that cannot be used; the message names it, its place and what it may be."""


def refuse_unknown(name: str, table: Mapping[str, object], known: Collection[str]) -> None:
    for key in table:
        if key not in known:
            may = ", ".join(sorted(known))
            raise SettingsError(f"[{name}] has an unknown setting {key!r}. It may hold {may}.")


def checked_text(value: object, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise SettingsError(f"{place} must be a text.")
    return value


def checked_url(value: object, place: str) -> str:
    """It may hold a key: the message does not repeat it."""
    text = checked_text(value, place).strip()
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", text):
        raise SettingsError(f"{place} must be a URL that starts with http:// or https://.")
    return text


def checked_switch(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise SettingsError(f"{place} is {value!r}, but it may be true or false.")
    return value
