"""`make screenshots`: the pictures of the README, taken from the running commands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from chain.devnet.launch import devnet_process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

FOLDER = Path("screenshots")
_MARGIN = 2
_COLUMNS = 118


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with devnet_process() as devnet, tempfile.TemporaryDirectory() as home:
        shared = ["--network", "devnet", "--rpc", devnet.url, "--home", home]
        _take("positions", ["positions", "--since-entry"], shared)
        _take("position", ["inspect", "28"], shared)
        _take("pools", ["pools"], shared)
        _take("debate", ["recommend", "26", "--stream", "--deterministic"], shared)


def _take(name: str, command: Sequence[str], shared: Sequence[str]) -> None:
    from rich.console import Console

    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "zuno_tui", *command, *shared],
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": str(_COLUMNS)},
    )
    lines = [f"$ zuno {' '.join(command)}", *done.stdout.splitlines()]
    width = max(len(line) for line in lines) + _MARGIN
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=width, file=nowhere)
        console.print(_page(lines))
        picture = console.export_svg(title="zuno")
    # The template fetches its font from a server; a picture should ask nobody for anything.
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)
    (FOLDER / f"{name}.svg").write_text(picture, "utf-8")


def _page(lines: Sequence[str]) -> Text:
    """The lines as a picture needs them: an indent is a piece of its own, or SVG would drop it."""
    from rich.text import Text

    page = Text()
    for line in lines:
        text = line.lstrip(" ")
        page.append(" " * (len(line) - len(text)), style="dim")
        page.append(f"{text}\n")
    page.rstrip()
    return page


if __name__ == "__main__":
    main()
