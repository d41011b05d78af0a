"""How often an AXL node is asked: soon while there is talk, seldom when there is none."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

import pytest

from agents.mesh.frame import MOST_FRAME
from agents.mesh.joining import AxlEngine
from agents.mesh.peers import EngineError, Peer
from chain.base.http import HttpAnswer, HttpError, HttpFailure, HttpLimits
from tests.fakes.small_debate import SCOUT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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


class _AskedNode:
    """Notes what is asked, and answers with what a test gives it."""

    def __init__(self, *answers: HttpAnswer | HttpError, queue: int = 0) -> None:
        self.answers = list(answers)
        self.queue = queue
        self.asked: list[tuple[str, Mapping[str, str]]] = []
        self.limits: set[HttpLimits] = set()

    async def get(self, url: str, headers: Mapping[str, str], limits: HttpLimits) -> HttpAnswer:
        self.limits.add(limits)
        self.asked.append((url, headers))
        await asyncio.sleep(0)
        if url.endswith("/recv"):
            self.queue -= 1
            return HttpAnswer(200, b"old") if self.queue >= 0 else EMPTY
        return self._answer()

    async def post(
        self, url: str, _data: bytes, limits: HttpLimits, headers: Mapping[str, str]
    ) -> HttpAnswer:
        self.limits.add(limits)
        self.asked.append((url, headers))
        return self._answer()

    def _answer(self) -> HttpAnswer:
        answer = self.answers.pop(0)
        if isinstance(answer, HttpError):
            raise answer
        return answer


def _engine(monkeypatch: pytest.MonkeyPatch, node: _AskedNode) -> AxlEngine:
    engine = AxlEngine("http://127.0.0.1:9600/")
    for name in ("_http", "_polling"):
        monkeypatch.setattr(engine, name, node)
    return engine


TOPOLOGY = HttpAnswer(200, b'{"tree": [{"public_key": "ab"}, 7, {"public_key": "cd"}]}')
GONE = HttpError(HttpFailure.NOT_REACHABLE)


async def test_what_waited_for_an_earlier_process_is_thrown_away_at_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = _AskedNode(TOPOLOGY, queue=350)
    engine = _engine(monkeypatch, node)
    await engine.open()
    assert node.queue < 0
    # At most a node's queue at a time.
    node.queue = 150
    assert [len(await engine.receive()) for _ in range(2)] == [100, 50]
    # A node is on this machine: one that takes longer to answer is as good as gone.
    assert node.limits == {
        HttpLimits(connect_seconds=2, answer_seconds=5, most_bytes=MOST_FRAME + 1)
    }


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (GONE, "The AXL node is not reachable."),
        (HttpAnswer(200, b"{"), "tells no topology:"),
        (HttpAnswer(500, TOPOLOGY.body), "tells no topology."),
        (HttpAnswer(200, b"[]"), "tells no topology."),
        (HttpAnswer(200, b'{"tree": 1}'), "tells no topology."),
    ],
)
async def test_a_node_that_tells_no_topology_is_none(
    monkeypatch: pytest.MonkeyPatch, answer: HttpAnswer | HttpError, words: str
) -> None:
    engine = _engine(monkeypatch, _AskedNode(TOPOLOGY, answer))
    assert await engine.known_nodes() == {"ab", "cd"}
    with pytest.raises(EngineError) as refused:
        await engine.known_nodes()
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (HttpAnswer(200, b""), None),
        (HttpAnswer(400, b""), "does not take the id of scout"),
        (HttpAnswer(500, b""), "cannot reach scout"),
        (GONE, "is not reachable"),
    ],
)
async def test_what_becomes_of_a_message_is_said(
    monkeypatch: pytest.MonkeyPatch, answer: HttpAnswer | HttpError, words: str | None
) -> None:
    node = _AskedNode(answer)
    engine = _engine(monkeypatch, node)
    peer = Peer("scout", "scout", "ab" * 32, "cd" * 32)
    if words is None:
        await engine.send(peer, b"x", keep=False)
    else:
        with pytest.raises(EngineError, match=words):
            await engine.send(peer, b"x", keep=False)
    [(url, headers)] = node.asked
    assert url == "http://127.0.0.1:9600/send"
    assert headers["x-destination-peer-id"] == "cd" * 32
    with pytest.raises(EngineError, match="names no AXL node for scout"):
        await engine.send(Peer("scout", "scout", "ab" * 32), b"x", keep=False)


async def test_a_node_that_is_gone_is_asked_again_after_half_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    class Gone:
        closed = 0
        answers: ClassVar[list[HttpAnswer | HttpError]] = [GONE, GONE, HttpAnswer(200, b"x"), EMPTY]

        async def get(self, *_asked: object) -> HttpAnswer:
            answer = self.answers.pop(0)
            if isinstance(answer, HttpError):
                raise answer
            return answer

        async def close(self) -> None:
            self.closed += 1

    engine, polling, sending = AxlEngine("http://127.0.0.1:9600"), Gone(), Gone()
    assert engine.broken == ""
    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(engine, "_polling", polling)
    monkeypatch.setattr(engine, "_http", sending)
    assert await engine.receive() == (b"x",)
    assert waits == [0.5, 0.5]
    assert engine.broken == ""
    await engine.close()
    assert (polling.closed, sending.closed) == (1, 1)


async def test_after_a_message_the_queue_is_looked_into_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = _engine(monkeypatch, _AskedNode(HttpAnswer(200, b"")))
    engine._wait = 0.25
    await engine.send(Peer("scout", SCOUT, "ab" * 32, "cd"), b"hello", keep=True)
    assert engine._wait == 0.02
