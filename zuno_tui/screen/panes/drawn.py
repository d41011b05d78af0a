"""Drawings on the screen, their tones as the theme has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.content import Content, Span

from chain.base.clean_text import DROP

if TYPE_CHECKING:
    from zuno_tui.present.drawing.pieces import Line

_STYLES = {
    "plain": "",
    "good": "$success",
    "warn": "$warning",
    "bad": "$error",
    "dim": "$quiet",
    "shade": "$shade",
    "good shade": "$good-shade",
}


def drawn(lines: Iterable[Line]) -> Content:
    """In one piece: a key may wait for it."""
    texts, spans, place = [], [], 0
    for line in lines:
        for text, tone in line:
            clean = text.translate(DROP)
            if style := _STYLES[tone]:
                spans.append(Span(place, place + len(clean), style))
            texts.append(clean)
            place += len(clean)
        texts.append("\n")
        place += 1
    return Content("".join(texts[:-1]), spans)
