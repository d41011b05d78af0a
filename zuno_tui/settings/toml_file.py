"""`settings.toml` as a table, or a sentence that says what is wrong with the file."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from zuno_tui.settings.checking import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 1 << 18
MOST_NESTING = 8
"""The deepest setting there is has four levels."""

_MEND = "Mend it or move it away."


def read_settings_file(path: Path) -> dict[str, object]:
    """What the file holds; FileNotFoundError where there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        text = data.decode("utf-8")
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}.") from error
    if len(data) > MOST_BYTES:
        raise SettingsError(f"{path} has more than {MOST_BYTES:,} bytes. {_MEND}")
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise _too_deep(path) from None
    except ValueError as error:
        # A number of thousands of digits is a ValueError that tomllib does not make its own.
        raise SettingsError(f"{path} is not valid TOML: {error}. {_MEND}") from error
    if not _within(table, MOST_NESTING):
        raise _too_deep(path)
    return table


def _too_deep(path: Path) -> SettingsError:
    return SettingsError(f"{path} nests its tables or lists more than {MOST_NESTING} deep. {_MEND}")


def _within(value: object, levels: int) -> bool:
    inner = (
        list(value.values())
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else None
    )
    if inner is None:
        return True
    return levels > 0 and all(_within(one, levels - 1) for one in inner)
