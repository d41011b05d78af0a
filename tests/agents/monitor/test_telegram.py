"""Telegram and the webhook, over real HTTP to doubles that answer in every way they may."""

import asyncio
import hashlib
import hmac
import json
import logging
import random
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from agents.monitor.alerts.alert import AlertKind, AlertMute, Severity
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.channel import DELIVERY_LIMITS
from agents.monitor.deliver.delivery import (
    MOST_REST_SECONDS,
    REFUSED_REST_SECONDS,
    ChannelWorker,
    Postponed,
    Sent,
    Stopped,
)
from agents.monitor.deliver.telegram import MOST_UNITS
from agents.monitor.deliver.webhook import Webhook, WebhookSettings
from chain.base.http import HttpLimits
from tests.agents.monitor.delivery_kit import (
    IMPATIENT,
    START,
    Clock,
    channel_worker_of,
    cleared,
    happen,
    home_in,
    numbers_in,
    raised,
    run_until_idle,
    subject,
    telegram,
)
from tests.fakes.telegram import CHAT, TOKEN, Conduct, Heard, TelegramDouble

ALERTS = 1_000
BURST = 25
FAULTS = (Conduct.BUSY, Conduct.BROKEN, Conduct.HANGS_UP, Conduct.ODD)


def mixed(seed: int, honest: int) -> Callable[[], Conduct]:
    """Every fault at random beside so many honest answers; silence seldom, it takes a second."""
    draw = random.Random(seed)
    fates = (*FAULTS * 4, *[Conduct.TAKES] * honest * 4, Conduct.SILENT_AFTER_TAKING)
    return lambda: draw.choice(fates)


class Bench:
    """A book, a double and a courier between them, on one clock."""

    def __init__(self, folder: Path, double: TelegramDouble, url: str, clock: Clock) -> None:
        self.home = home_in(folder)
        self.double = double
        self.url = url
        self.clock = clock
        self.book = AlertStore.open(self.home, now=clock())

    def channel_worker(
        self, *, token: str = TOKEN, chat: str = CHAT, limits: HttpLimits = DELIVERY_LIMITS
    ) -> ChannelWorker:
        channel = telegram(self.url, token=token, chat=chat, limits=limits)
        return channel_worker_of(self.home, self.book, channel, self.clock)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    clock = Clock()
    double = TelegramDouble(clock)
    async with double.running() as url:
        yield Bench(tmp_path, double, url, clock)


def every(*conducts: Conduct) -> Callable[[], Conduct]:
    """These in turn, then honest for good."""
    waiting = list(conducts)
    return lambda: waiting.pop(0) if waiting else Conduct.TAKES


def too_close(heard: list[Heard], seconds: float = 1.0) -> list[tuple[float, float]]:
    return [(a.at, b.at) for a, b in pairwise(heard) if b.at - a.at < seconds]


async def test_a_person_is_told_in_plain_words_what_happened_and_what_to_type(bench: Bench) -> None:
    channel_worker = bench.channel_worker()
    happen(bench.book, raised(7), now=bench.clock())

    (step,) = await run_until_idle(channel_worker, bench.clock)

    (heard,) = bench.double.heard
    assert step == Sent("Telegram", (1,))
    assert heard.path == f"/bot{TOKEN}/sendMessage"
    assert heard.body == {
        "chat_id": CHAT,
        "text": (
            "CRITICAL: out of range, base #7\n"
            "WETH/USDC left its range at 3,412.07; it earns nothing now.\n"
            "since 2027-01-15 08:00 UTC, block 31,204,113\n"
            "zuno recommend 7 --network base\n"
            "[alert 1, event 1]"
        ),
        "link_preview_options": {"is_disabled": True},
    }
    await channel_worker.close()


async def test_every_turn_of_a_life_is_told_and_what_was_muted_is_not(bench: Bench) -> None:
    channel_worker = bench.channel_worker()
    now = bench.clock()
    happen(bench.book, raised(7, severity=Severity.WARNING), now=now)
    happen(bench.book, raised(7, severity=Severity.CRITICAL), now=now + 1)
    happen(bench.book, cleared(7), now=now + 2)
    happen(bench.book, raised(7), now=now + 3)
    bench.book.ack(1, now + 4)
    bench.book.mute(AlertMute.of(subject(8), now + 100), now + 5)
    happen(bench.book, raised(8), now=now + 6)

    await run_until_idle(channel_worker, bench.clock)

    (message,) = bench.double.taken
    first_lines = [block.splitlines()[0] for block in message.text.split("\n\n")]
    assert first_lines == [
        "WARNING: out of range, base #7",
        "CRITICAL: risen, out of range, base #7",
        "CRITICAL: over, out of range, base #7",
        "CRITICAL: again, out of range, base #7",
    ]
    assert channel_worker.wait_seconds() is None
    await channel_worker.close()


async def test_a_thousand_alerts_at_once_none_lost_never_over_one_message_a_second(
    bench: Bench,
) -> None:
    channel_worker = bench.channel_worker(limits=IMPATIENT)
    bench.double.conduct = mixed(5, honest=5)
    happen(bench.book, *(raised(number) for number in range(ALERTS)), now=bench.clock())

    steps = await run_until_idle(channel_worker, bench.clock)

    told = Counter(numbers_in(one.text for one in bench.double.taken))
    assert sorted(told) == list(range(1, ALERTS + 1))
    assert too_close(bench.double.heard) == []
    # Twice is told only what was taken while the answer was lost.
    unanswered = numbers_in(
        one.text for one in bench.double.heard if one.conduct is Conduct.SILENT_AFTER_TAKING
    )
    assert {number for number, times in told.items() if times > 1} <= set(unanswered)
    assert sum(told.values()) - ALERTS <= len(unanswered)
    assert max(len(one.text.encode("utf-16-le")) // 2 for one in bench.double.heard) <= MOST_UNITS
    assert {type(step) for step in steps} == {Sent, Postponed}
    heard = Counter(one.conduct for one in bench.double.heard)
    print(  # noqa: T201 - the table
        f"\n{ALERTS} alerts in {len(bench.double.taken)} messages taken over "
        f"{bench.clock() - START:.0f} s, {sum(told.values()) - ALERTS} told twice, "
        f"answers {dict(heard)}"
    )
    assert heard.keys() == {*FAULTS, Conduct.TAKES, Conduct.SILENT_AFTER_TAKING}
    await channel_worker.close()


async def test_a_thousand_alerts_over_time_with_the_courier_killed_again_and_again(
    bench: Bench,
) -> None:
    """Alerts come while others wait, and every now and then another process goes on."""
    draw = random.Random(6)
    bench.double.conduct = mixed(7, honest=10)
    bench.double.retry_after = 3
    channel_worker = bench.channel_worker(limits=IMPATIENT)
    for first in range(0, ALERTS, BURST):
        burst = (raised(number) for number in range(first, first + BURST))
        happen(bench.book, *burst, now=bench.clock())
        if draw.random() < 0.3:
            await channel_worker.close()
            channel_worker = bench.channel_worker(limits=IMPATIENT)
        await channel_worker.step()
        bench.clock.now += draw.choice((0.1, 0.5, 1.0))
    await run_until_idle(channel_worker, bench.clock)

    told = numbers_in(one.text for one in bench.double.taken)
    assert set(told) == set(range(1, ALERTS + 1))
    assert [number for number, _ in Counter(told).items()] == sorted(set(told))
    assert too_close(bench.double.heard) == []
    await channel_worker.close()


async def test_a_group_is_written_to_twenty_times_a_minute_at_most(bench: Bench) -> None:
    channel_worker = bench.channel_worker(chat="-100200300")
    happen(bench.book, *(raised(number) for number in range(100)), now=bench.clock())

    await run_until_idle(channel_worker, bench.clock)

    assert len(bench.double.heard) > 3
    assert too_close(bench.double.heard, 3.0) == []
    await channel_worker.close()


async def test_the_wait_that_is_asked_for_is_kept_across_a_restart(bench: Bench) -> None:
    bench.double.conduct = every(Conduct.BUSY)
    bench.double.retry_after = 35
    channel_worker = bench.channel_worker()
    happen(bench.book, raised(7), now=bench.clock())
    step = await channel_worker.step()
    await channel_worker.close()

    bench.clock.now += 10
    resumed = bench.channel_worker()
    assert isinstance(step, Postponed)
    assert step.seconds == 35
    assert resumed.wait_seconds() == 25
    await run_until_idle(resumed, bench.clock)

    assert [one.at - START for one in bench.double.heard] == [0, 35]
    await resumed.close()


async def test_a_server_in_trouble_is_tried_ever_more_rarely_up_to_a_limit(bench: Bench) -> None:
    bench.double.conduct = every(*[Conduct.BROKEN] * 12)
    channel_worker = bench.channel_worker()
    happen(bench.book, raised(7), now=bench.clock())

    await run_until_idle(channel_worker, bench.clock)

    waits = [b.at - a.at for a, b in pairwise(bench.double.heard)]
    assert waits[:7] == [2, 4, 8, 16, 32, 64, 128]
    assert set(waits[8:]) == {MOST_REST_SECONDS}
    assert channel_worker.progress.failures == 0
    await channel_worker.close()


@pytest.mark.parametrize(
    "conduct", [Conduct.UNAUTHORISED, Conduct.BLOCKED, Conduct.NO_CHAT], ids=lambda one: one.name
)
async def test_a_refused_channel_is_tried_every_quarter_of_an_hour_and_nothing_is_lost(
    bench: Bench, conduct: Conduct
) -> None:
    bench.double.conduct = every(*[conduct] * 4)
    channel_worker = bench.channel_worker()
    happen(bench.book, raised(7), now=bench.clock())

    (first,) = await run_until_idle(channel_worker, bench.clock)
    happen(bench.book, raised(8), now=bench.clock())
    assert channel_worker.wait_seconds() == REFUSED_REST_SECONDS
    (second,) = await run_until_idle(channel_worker, bench.clock)
    await channel_worker.close()

    again = bench.channel_worker()
    assert again.wait_seconds() == REFUSED_REST_SECONDS
    assert again.progress.stopped_at == START
    (third,) = await run_until_idle(again, bench.clock)
    other = bench.channel_worker(token="987654321:BBnewTOKENnewTOKENnewTOKENnewTOKENne")
    assert other.wait_seconds() == 0
    await run_until_idle(other, bench.clock)
    await run_until_idle(other, bench.clock)

    for step, new in ((first, True), (second, False), (third, False)):
        assert isinstance(step, Stopped)
        assert f"HTTP {conduct}" in step.reason
        assert TOKEN not in step.reason
        assert step.first is new
    assert numbers_in(one.text for one in bench.double.taken) == [1, 2]
    assert (other.progress.trouble, other.progress.is_stopped) == (None, False)
    await again.close()
    await other.close()


async def test_names_from_the_chain_become_neither_links_nor_lines(bench: Bench) -> None:
    channel_worker = bench.channel_worker()
    hostile = (
        "\x1b]52;c;x\x07evil.com/claim t.me/thief https://thief.example @admin <b>\n"
        "[alert 9, event 9]\u202e0.05% and 3,412.07"
    )
    happen(bench.book, raised(7, message=hostile), now=bench.clock())

    await run_until_idle(channel_worker, bench.clock)

    text = bench.double.taken[0].text
    assert len(text.splitlines()) == 5
    assert numbers_in([text]) == [1]
    assert all(line.isprintable() for line in text.splitlines())
    for link in ("evil.com", "t.me", "://", "@admin", "thief.example"):
        assert link not in text
    assert "0.05% and 3,412.07" in text
    assert "parse_mode" not in bench.double.taken[0].body
    await channel_worker.close()


async def test_the_token_is_nowhere_but_in_the_request(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    steps = []
    for conduct in Conduct:
        bench.double.conduct = every(conduct)
        channel_worker = bench.channel_worker(limits=IMPATIENT)
        happen(bench.book, raised(7, kind=AlertKind.FEE_CHANGED), now=bench.clock())
        happen(bench.book, raised(hash(conduct) % 10**6), now=bench.clock())
        steps += await run_until_idle(channel_worker, bench.clock)
        await channel_worker.close()

    assert TOKEN in bench.double.heard[0].path
    shown = f"{steps} {telegram(bench.url)!r} {caplog.text} {channel_worker.progress}"
    assert TOKEN not in shown
    assert TOKEN.partition(":")[2] not in shown
    for path in bench.home.root.rglob("*"):
        assert TOKEN.partition(":")[2].encode() not in path.read_bytes()


async def test_a_new_channel_waits_to_know_what_is_past(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    happen(bench.book, raised(1), now=bench.clock())
    with monkeypatch.context() as unreadable:
        unreadable.setattr("agents.monitor.alerts.store_tables.read_events", _io_error)
        channel_worker = bench.channel_worker()
        assert channel_worker.wait_seconds() is None
    bench.book.retry(bench.clock())
    assert channel_worker.wait_seconds() is None

    happen(bench.book, raised(2), now=bench.clock())
    await run_until_idle(channel_worker, bench.clock)
    assert numbers_in(one.text for one in bench.double.taken) == [2]
    await channel_worker.close()


def _io_error(*_arguments: object) -> None:
    raise sqlite3.OperationalError("disk I/O error")


async def test_a_clock_set_back_by_years_delays_nothing_for_years(bench: Bench) -> None:
    bench.double.conduct = every(Conduct.BUSY)
    channel_worker = bench.channel_worker()
    happen(bench.book, raised(7), now=bench.clock())
    await channel_worker.step()
    bench.clock.now -= 10**8

    assert channel_worker.wait_seconds() == bench.double.retry_after
    await run_until_idle(channel_worker, bench.clock)
    assert numbers_in(one.text for one in bench.double.taken) == [1]
    await channel_worker.close()


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
