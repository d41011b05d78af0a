"""Changes that change nothing, each named with its reason."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.mutants.changes import Change

FILE = Path(__file__).with_name("equivalents.toml")


def read_equivalents(file: Path) -> dict[str, str]:
    """Reasons by the change's name."""
    entries = tomllib.loads(file.read_text("utf-8")).get("equivalent", [])
    return {
        "\n".join((one["file"], one["function"], one["before"], one["after"])): one["reason"]
        for one in entries
    }


def entry_for(change: Change) -> str:
    """What to write into the file, but for the reason."""
    before, after = change.shown
    fields = {
        "file": change.path,
        "function": change.block.scope,
        "before": before,
        "after": after,
        "reason": "",
    }
    return "[[equivalent]]\n" + "".join(
        f"{key} = {_quoted(text)}\n" for key, text in fields.items()
    )


def _quoted(text: str) -> str:
    if "'" not in text:
        return f"'{text}'"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
