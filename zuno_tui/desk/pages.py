"""Commands whose answer is text: their command-line twin, run for the desk's own wallet."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from zuno_tui.desk.cleaning import clean_line
from zuno_tui.desk.events import PageReady

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from zuno_tui.desk.context import DeskContext

_PATIENCE = 180.0
_MOST_LINES = 2_000
_MOST_BYTES = 1 << 20


class Pages:
    def __init__(self, desk_context: DeskContext) -> None:
        self._desk_context = desk_context

    def show(self, words: Sequence[str]) -> None:
        title = f"zuno {' '.join(words)}"
        self._desk_context.jobs.start(
            "page", title, lambda _: self._read(title, words), seconds=_PATIENCE
        )

    async def _read(self, title: str, words: Sequence[str]) -> None:
        lines = await printed(words, twin_environment(self._desk_context))
        self._desk_context.tell(PageReady(title, lines))


async def printed(words: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    """What `zuno` prints for these words without a terminal, cleaned line by line."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "zuno_tui", *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environment,
    )
    try:
        output, _ = await child.communicate()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()
        raise
    text = output[:_MOST_BYTES].decode("utf-8", "replace")
    return tuple(clean_line(line) for line in text.splitlines()[:_MOST_LINES])


def twin_environment(desk_context: DeskContext) -> dict[str, str]:
    """The desk's choices as the environment: a URL may hold a key, which no process list shows."""
    session = desk_context.session
    return {
        **desk_context.opening.environment,
        "ZUNO_HOME": str(session.home.root),
        "ZUNO_NETWORK": session.network.name,
        "ZUNO_RPC": ",".join(session.endpoints),
        "ZUNO_ADDRESS": desk_context.wallet,
        "ZUNO_UNIT": session.settings.unit.value,
        "PYTHONUNBUFFERED": "1",
    }
