"""How often an AXL node is asked: soon while there is talk, seldom when there is none."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from agents.mesh.joining import AxlEngine
from chain.base.http import HttpAnswer

if TYPE_CHECKING:
    from collections.abc import Iterator

EMPTY = HttpAnswer(204, b"")


class _Node:
    """Answers these, one after the other."""

    def __init__(self, answers: Iterator[HttpAnswer]) -> None:
        self._answers = answers

    async def get(self, *_asked: object) -> HttpAnswer:
        return next(self._answers)


async def test_a_quiet_queue_is_looked_into_ever_later_and_a_lively_one_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    engine = AxlEngine("http://127.0.0.1:9600")
    told = [EMPTY] * 8 + [HttpAnswer(200, b"one"), HttpAnswer(200, b"two"), EMPTY]
    monkeypatch.setattr(
        engine, "_polling", _Node(iter([*told, EMPTY, HttpAnswer(200, b"3"), EMPTY]))
    )

    assert await engine.receive() == (b"one", b"two")
    assert waits == pytest.approx([0.02, 0.03, 0.045, 0.0675, 0.10125, 0.151875, 0.2278125, 0.25])
    waits.clear()
    assert await engine.receive() == (b"3",)
    assert waits == [0.02]
