"""One value written into `settings.toml`, and everything else in it left as the person wrote it."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

from chain.base.home import write_atomically
from zuno_tui.settings.check import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

_HEADER = re.compile(r"\s*\[")


def keep_setting(path: Path, table: str, name: str, value: str | bool) -> None:
    """Write `name = value` into `[table]`; refused where that cannot be done safely."""
    try:
        before = path.read_text("utf-8")
    except FileNotFoundError:
        before = ""
    after = with_setting(before, table, name, value)
    if not _says(after, table, name, value):
        raise SettingsError(
            f"{path} could not be changed safely. Write it there yourself: "
            f"[{table}] {name} = {json.dumps(value)}"
        )
    write_atomically(path, after.encode())


def with_setting(text: str, table: str, name: str, value: str | bool) -> str:
    """The file's text with the value in it; comments and order stay."""
    lines = text.splitlines()
    told = f"{name} = {json.dumps(value)}"
    header = _place_of_header(lines, table)
    if header is None:
        gap = [""] if lines and lines[-1].strip() else []
        return "\n".join([*lines, *gap, f"[{table}]", told]) + "\n"
    for place in range(header + 1, len(lines)):
        if _HEADER.match(lines[place]):
            break
        if re.match(rf"\s*{re.escape(name)}\s*=", lines[place]):
            lines[place] = told
            return "\n".join(lines) + "\n"
    lines.insert(header + 1, told)
    return "\n".join(lines) + "\n"


def _says(text: str, table: str, name: str, value: str | bool) -> bool:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    for part in table.split("."):
        found = found.get(part, {})
    return bool(found.get(name) == value)


def _place_of_header(lines: list[str], table: str) -> int | None:
    header = re.compile(rf"\s*\[\s*{re.escape(table)}\s*\]\s*(#.*)?")
    return next((place for place, line in enumerate(lines) if header.fullmatch(line)), None)
