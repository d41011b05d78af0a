"""The webhook: one signed POST an event, over real HTTP to a server that answers as it likes."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.delivery import Postponed, Sent, Stopped
from agents.monitor.deliver.webhook import Webhook, WebhookSettings
from tests.agents.monitor.delivery_kit import (
    IMPATIENT,
    START,
    Clock,
    channel_worker_of,
    happen,
    home_in,
    raised,
    run_until_idle,
)

SECRET = "a-secret-that-two-sides-know"


@dataclass
class Receiver:
    """Takes POSTs and answers with these heads in turn, then with 204."""

    answers: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hooks/CANARY?key=CANARY"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
            self.heads.append(head)
            self.bodies.append(await reader.readexactly(length))
            answer = self.answers.pop(0) if self.answers else "204 Taken"
            if answer != "silence":
                writer.write(f"HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n".encode())
                await writer.drain()
            else:
                await reader.read()  # until who asked gives up and hangs up
        finally:
            writer.close()


def _header(head: str, name: str) -> str:
    return head.partition(f"\r\n{name}: ")[2].partition("\r\n")[0]


async def test_each_event_is_one_post_with_an_id_and_a_signature(tmp_path: Path) -> None:
    home, clock, receiver = home_in(tmp_path), Clock(), Receiver()
    book = AlertStore.open(home, now=clock())
    async with receiver.running() as url:
        webhook = Webhook(WebhookSettings(url, SECRET), IMPATIENT)
        channel_worker = channel_worker_of(home, book, webhook, clock)
        happen(book, raised(7), raised(2**200), now=clock())
        steps = await run_until_idle(channel_worker, clock)
        await channel_worker.close()

    assert steps == [Sent("webhook", (1,)), Sent("webhook", (2,))]
    first, second = (json.loads(body) for body in receiver.bodies)
    assert first["happened"] == "opened"
    assert first["alert"]["positionId"] == "7"
    assert first["alert"]["nextCommand"] == "zuno recommend 7 --network base"
    assert second["alert"]["positionId"] == str(2**200)
    assert first["id"] != second["id"]
    for head, body in zip(receiver.heads, receiver.bodies, strict=True):
        expected = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        assert _header(head, "x-zuno-signature") == f"sha256={expected}"
        assert _header(head, "x-zuno-event") == json.loads(body)["id"]
        assert _header(head, "content-type") == "application/json"
        assert SECRET not in head


async def test_what_fails_is_posted_again_with_the_same_id_and_later_ones_wait(
    tmp_path: Path,
) -> None:
    home, clock = home_in(tmp_path), Clock()
    receiver = Receiver(["500 Broken", "503 Busy\r\nretry-after: 40", "silence", "200 OK"])
    book = AlertStore.open(home, now=clock())
    async with receiver.running() as url:
        channel_worker = channel_worker_of(
            home, book, Webhook(WebhookSettings(url), IMPATIENT), clock
        )
        happen(book, raised(7), raised(8), now=clock())
        steps = await run_until_idle(channel_worker, clock)
        await channel_worker.close()

    ids = [json.loads(body)["id"] for body in receiver.bodies]
    assert ids == [*[ids[0]] * 4, ids[4]]
    assert ids[4] != ids[0]
    waits = [step.seconds for step in steps if isinstance(step, Postponed)]
    assert waits == [2, 40, 8]
    assert clock() == START + 50
    assert all("x-zuno-signature" not in head for head in receiver.heads)


@pytest.mark.parametrize(
    "answer", ["400 No", "401 No", "403 No", "404 No", "410 Gone", "302 There\r\nlocation: /x"]
)
async def test_a_refusal_stops_it_and_shows_nothing_of_the_address(
    tmp_path: Path, answer: str
) -> None:
    home, clock, receiver = home_in(tmp_path), Clock(), Receiver([answer])
    book = AlertStore.open(home, now=clock())
    async with receiver.running() as url:
        webhook = Webhook(WebhookSettings(url), IMPATIENT)
        channel_worker = channel_worker_of(home, book, webhook, clock)
        happen(book, raised(7), now=clock())
        (step,) = await run_until_idle(channel_worker, clock)
        await channel_worker.close()

    assert isinstance(step, Stopped)
    assert step.reason.startswith(f"HTTP {answer[:3]}")
    assert ("secret" in step.reason) is not answer.startswith("3")
    assert len(receiver.bodies) == 1
    shown = f"{step} {channel_worker.progress} {webhook!r} {WebhookSettings(url, SECRET)!r}"
    assert "CANARY" not in shown
    assert SECRET not in shown
