"""What each answer of a receiver means, and where a channel stands: neither guessed nor lost."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertEvent, EventKind
from agents.monitor.alerts.state import MonitorState
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.channel import (
    DELIVERY_LIMITS,
    ChannelRefused,
    Delayed,
    Delivered,
    Outcome,
    event_id,
    is_news,
)
from agents.monitor.deliver.delivery import (
    REFUSALS_BEFORE_SUSPECT,
    SUSPECT_AFTER,
    ChannelWorker,
)
from agents.monitor.deliver.telegram import Telegram, TelegramSettings
from agents.monitor.deliver.webhook import Webhook, WebhookSettings
from chain.base.home import Home
from chain.base.http import HttpAnswer, HttpClient, HttpError, HttpFailure, HttpLimits
from tests.agents.monitor.delivery_kit import (
    START,
    Clock,
    channel_worker_of,
    happen,
    home_in,
    numbers_in,
    raised,
    run_until_idle,
    telegram,
)
from tests.fakes.telegram import TelegramDouble


@pytest.fixture
def event(tmp_path: Path) -> AlertEvent:
    book = AlertStore.open(home_in(tmp_path), now=START)
    [opened] = happen(book, raised(7), now=START)
    book.close()
    return opened


def answering(
    monkeypatch: pytest.MonkeyPatch, answer: HttpAnswer | HttpError
) -> list[Mapping[str, str]]:
    """Every post is answered so; the headers it was sent with."""
    sent: list[Mapping[str, str]] = []

    async def post(
        _: HttpClient, url: str, body: bytes, limits: HttpLimits, headers: Mapping[str, str] = {}
    ) -> HttpAnswer:
        assert url
        assert body
        assert limits == DELIVERY_LIMITS
        sent.append(headers)
        if isinstance(answer, HttpError):
            raise answer
        return answer

    monkeypatch.setattr(HttpClient, "post", post)
    return sent


@pytest.mark.parametrize(
    ("status", "kind", "answered"),
    [
        (199, ChannelRefused, None),
        (200, Delivered, None),
        (204, Delivered, None),
        (299, Delivered, None),
        (300, ChannelRefused, None),
        (302, ChannelRefused, None),
        (400, ChannelRefused, None),
        (407, ChannelRefused, None),
        (408, Delayed, False),
        (425, Delayed, False),
        (429, Delayed, False),
        (499, ChannelRefused, None),
        (500, Delayed, True),
        (503, Delayed, True),
    ],
)
async def test_a_webhook(
    monkeypatch: pytest.MonkeyPatch,
    event: AlertEvent,
    status: int,
    kind: type[Outcome],
    answered: bool | None,
) -> None:
    sent = answering(monkeypatch, HttpAnswer(status, b"", "40"))
    hook = Webhook(WebhookSettings("http://127.0.0.1:9"))
    outcome = await hook.send(hook.letter([event]), now=START)

    assert isinstance(outcome, kind)
    if isinstance(outcome, Delayed):
        assert (outcome.asked_seconds, outcome.answered) == (40.0, answered)
    if isinstance(outcome, ChannelRefused):
        assert ("elsewhere" in outcome.reason) is (300 <= status < 400)
    assert sent == [{"x-zuno-event": event_id(event)}]


@pytest.mark.parametrize(
    ("status", "body", "kind", "seconds", "answered"),
    [
        (200, {"ok": True}, Delivered, None, None),
        (200, {"ok": 1}, Delayed, None, False),
        (200, [], Delayed, None, False),
        (429, {"parameters": {"retry_after": 7}}, Delayed, 7.0, False),
        (429, {"parameters": {"retry_after": True}}, Delayed, 40.0, False),
        (429, {"parameters": {"retry_after": "7"}}, Delayed, 40.0, False),
        (429, {"parameters": 7}, Delayed, 40.0, False),
        (300, {}, ChannelRefused, None, None),
        (399, {}, ChannelRefused, None, None),
        (400, {}, ChannelRefused, None, None),
        (499, {}, ChannelRefused, None, None),
        (500, {}, Delayed, None, True),
        (201, {}, Delayed, None, True),
    ],
)
async def test_telegram(
    monkeypatch: pytest.MonkeyPatch,
    event: AlertEvent,
    status: int,
    body: object,
    kind: type[Outcome],
    seconds: float | None,
    answered: bool | None,
) -> None:
    answering(monkeypatch, HttpAnswer(status, json.dumps(body).encode(), "40"))
    channel = Telegram(TelegramSettings("1:TOKEN", "42", "http://127.0.0.1:9"))
    outcome = await channel.send(channel.letter([event]), now=START)

    assert isinstance(outcome, kind)
    if isinstance(outcome, Delayed):
        assert (outcome.asked_seconds, outcome.answered) == (seconds, answered)
    if isinstance(outcome, ChannelRefused):
        assert ("elsewhere" in outcome.reason) is (300 <= status < 400)


async def test_silence_is_no_answer(monkeypatch: pytest.MonkeyPatch, event: AlertEvent) -> None:
    answering(monkeypatch, HttpError(HttpFailure.TIMED_OUT, "within 15 s"))
    for channel in (
        Webhook(WebhookSettings("http://127.0.0.1:9")),
        Telegram(TelegramSettings("1:TOKEN", "42", "http://127.0.0.1:9")),
    ):
        outcome = await channel.send(channel.letter([event]), now=START)
        assert outcome == Delayed("it did not answer within 15 s")
        assert not outcome.answered


def test_an_event_has_one_id_and_a_reminder_another(event: AlertEvent) -> None:
    reminder = AlertEvent(0, EventKind.REMINDED, event.alert, START + 0.5)

    assert event_id(event) == f"1-{round(START * 1000)}"
    assert event_id(reminder) == f"reminder-1-{round(START * 1000) + 500}"


@pytest.mark.parametrize(
    ("kind", "news"),
    [
        (EventKind.OPENED, True),
        (EventKind.REOPENED, True),
        (EventKind.RISEN, True),
        (EventKind.RESOLVED, True),
        (EventKind.UNMUTED, True),
        (EventKind.ACKED, False),
        (EventKind.MUTED, False),
    ],
)
def test_what_a_person_must_hear_of(event: AlertEvent, kind: EventKind, news: bool) -> None:
    told = replace(event, kind=kind)
    muted = replace(told, alert=replace(event.alert, muted_until=START + 1))
    ended = replace(told, alert=replace(event.alert, muted_until=START))

    assert (is_news(told), is_news(muted), is_news(ended)) == (news, False, news)


def told(double: TelegramDouble) -> list[int]:
    return numbers_in(one.text for one in double.taken)


def rename_table(home: Home, one: str, other: str) -> None:
    with closing(sqlite3.connect(home.database)) as connection, connection:
        connection.execute(f"ALTER TABLE {one} RENAME TO {other}")


async def test_a_book_that_cannot_be_read_moves_nobody(tmp_path: Path) -> None:
    home, clock = home_in(tmp_path), Clock()
    double = TelegramDouble(clock)
    with closing(AlertStore.open(home, now=START)) as book:
        async with double.running() as url:
            channel_worker = channel_worker_of(home, book, telegram(url), clock)
            happen(book, raised(1), raised(2), now=clock())
            await run_until_idle(channel_worker, clock)
            before = channel_worker.progress.cursor
            rename_table(home, "alert_events", "elsewhere")

            assert channel_worker.wait_seconds() is None
            assert channel_worker.progress.cursor == before == 2

            rename_table(home, "elsewhere", "alert_events")
            happen(book, raised(3), now=clock())
            await run_until_idle(channel_worker, clock)
            await channel_worker.close()

    assert told(double) == [1, 2, 3]


async def test_all_of_a_book_that_was_begun_anew_is_told(tmp_path: Path) -> None:
    clock = Clock()
    double = TelegramDouble(clock)
    first, second = home_in(tmp_path / "first"), home_in(tmp_path / "second")
    async with double.running() as url:
        with closing(AlertStore.open(first, now=START)) as book:
            channel_worker = channel_worker_of(first, book, telegram(url), clock)
            happen(book, *(raised(number) for number in range(3)), now=clock())
            await run_until_idle(channel_worker, clock)
            await channel_worker.close()
        with closing(AlertStore.open(second, now=START)) as book:
            happen(book, raised(7), now=clock())
            channel_worker = ChannelWorker(telegram(url), book, MonitorState(first.database), clock)
            await run_until_idle(channel_worker, clock)
            await channel_worker.close()

    assert told(double) == [1, 2, 3, 1]


@pytest.mark.parametrize("count", [0, 3])
def test_a_new_channel_begins_behind_what_was(tmp_path: Path, count: int) -> None:
    home, clock = home_in(tmp_path), Clock()
    with closing(AlertStore.open(home, now=START)) as book:
        happen(book, *(raised(number) for number in range(count)), now=START)
        channel_worker = channel_worker_of(home, book, telegram("http://127.0.0.1:9"), clock)

        assert channel_worker.progress.cursor == count
        assert channel_worker.wait_seconds() is None


async def test_without_its_notebook_a_channel_waits(tmp_path: Path) -> None:
    home, clock = home_in(tmp_path), Clock()
    notes, aside = tmp_path / "notes.db", tmp_path / "aside.db"
    double = TelegramDouble(clock)
    with closing(AlertStore.open(home, now=START)) as book:
        async with double.running() as url:
            kept = MonitorState(notes)
            channel_worker = ChannelWorker(telegram(url), book, kept, clock)
            happen(book, raised(1), raised(2), now=clock())
            await run_until_idle(channel_worker, clock)
            await channel_worker.close()
            kept.close()
            notes.rename(aside)
            notes.mkdir()

            channel_worker = ChannelWorker(telegram(url), book, MonitorState(notes), clock)
            happen(book, raised(3), now=clock())
            assert channel_worker.wait_seconds() is None
            assert await channel_worker.step() is None
            channel_worker.warn("the disk is full")
            await run_until_idle(channel_worker, clock)
            assert "the disk is full" in double.taken[-1].text
            assert told(double) == [1, 2]

            notes.rmdir()
            aside.rename(notes)
            await run_until_idle(channel_worker, clock)
            await channel_worker.close()

    assert told(double) == [1, 2, 3]


def test_on_trial_is_one_suspect_at_a_time(tmp_path: Path) -> None:
    home, clock = home_in(tmp_path), Clock()
    with closing(AlertStore.open(home, now=START)) as book:
        channel_worker = channel_worker_of(home, book, telegram("http://127.0.0.1:9"), clock)
        happen(book, *(raised(number) for number in range(4)), now=START)
        assert channel_worker.wait_seconds() == 0

        def chosen(**changes: object) -> list[int]:
            channel_worker.progress = replace(channel_worker.progress, **changes)
            return [one.number for one in channel_worker._chosen(channel_worker._plan())]

        assert chosen() == [1, 2, 3, 4]
        assert chosen(suspects=(3, 2), trial=0) == [3]
        assert chosen(suspects=(9,), trial=0) == [1, 2, 3, 4]
        assert chosen(suspects=(), trial=None, failures=SUSPECT_AFTER - 1) == [1, 2, 3, 4]
        # The first every second time, the others in turn.
        tried = [chosen(failures=number) for number in range(8, 14)]
        assert tried == [[1], [3], [1], [4], [1], [2]]
        stopped = {"stopped_at": START, "failures": REFUSALS_BEFORE_SUSPECT - 1}
        assert chosen(**stopped) == [1, 2, 3, 4]
        assert len(chosen(stopped_at=START, failures=REFUSALS_BEFORE_SUSPECT)) == 1
        assert (REFUSALS_BEFORE_SUSPECT, SUSPECT_AFTER) == (2, 8)
