"""Draws the desk's chart beside its record, off the event loop."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from agents.model.interface import PromptImage
from chain.base.home import write_atomically

if TYPE_CHECKING:
    from agents.trade.services import ChartFacts


class PngArtist:
    """Keeps the picture as a file, too: reports show it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._drawn: dict[str, bytes] = {}

    async def draw(self, facts: ChartFacts) -> str:
        png = await asyncio.to_thread(_drawn, facts)
        digest = sha256(png).hexdigest()
        self._drawn[digest] = png
        await asyncio.to_thread(write_atomically, self._path, png)
        return digest

    def picture(self, digest: str) -> PromptImage:
        return PromptImage(digest, self._drawn[digest])


def _drawn(facts: ChartFacts) -> bytes:
    from zuno_tui.charts.trade_chart import trade_chart

    return trade_chart(facts)
