"""What each answer of a receiver means: taken, later, or never."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from agents.monitor.alerts.alert import AlertEvent, EventKind
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
from agents.monitor.deliver.telegram import Telegram, TelegramSettings
from agents.monitor.deliver.webhook import Webhook, WebhookSettings
from chain.base.http import HttpAnswer, HttpClient, HttpError, HttpFailure, HttpLimits
from tests.agents.monitor.delivery_kit import START, happen, home_in, raised


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
