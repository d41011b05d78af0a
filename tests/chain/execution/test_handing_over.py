"""How often bytes are handed over, and when."""

import asyncio

import pytest

from chain.execution.outbox.delivery import (
    Handing,
    NotThisWayError,
    hand_over_to,
)
from chain.rpc.errors import HttpFault, RateLimited, SendRefusal, SendRefused, Unreachable
from tests.fakes.told_reader import ToldReader

NO = SendRefused(SendRefusal.UNDERPRICED, -32000, "no")


def test_a_way_that_is_not_named_now_will_not_be_a_moment_later() -> None:
    refusal = NotThisWayError("private")
    assert refusal.lasting
    assert "It is sent through private alone" in refusal.sentence
    assert "ZUNO_SEND_RPC" in refusal.next_step


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waits = list[float]()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return waits


@pytest.mark.parametrize(
    ("retry_after", "waits"),
    [
        (None, [0.4, 1.0, 2.0]),
        (0.0, [0.4, 1.0, 2.0]),
        (1.5, [1.5, 1.5, 2.0]),
        (4.9, [4.9, 4.9, 4.9]),
        (60.0, [5.0, 5.0, 5.0]),
    ],
)
async def test_a_gateway_is_left_alone_for_as_long_as_it_asks_up_to_a_limit(
    slept: list[float], retry_after: float | None, waits: list[float]
) -> None:
    busy = RateLimited(endpoint="x", retry_after=retry_after)
    asked = ToldReader(lambda *_: busy)
    assert await hand_over_to([asked], b"\1") == (Handing.NOT_SENT, busy)
    assert (slept, len(asked.asked)) == (waits, 4)


@pytest.mark.parametrize(
    ("answer", "handing"),
    [
        ("0xab", Handing.TAKEN),
        (NO, Handing.REFUSED),
        (HttpFault(401, endpoint="x"), Handing.NOT_SENT),
        (SendRefused(SendRefusal.NONCE_TOO_LOW, -32000, "low"), Handing.UNCLEAR),
    ],
)
async def test_what_says_enough_is_not_asked_again(
    slept: list[float], answer: object, handing: Handing
) -> None:
    asked = ToldReader(lambda *_: answer)
    error = None if handing is Handing.TAKEN else answer
    assert await hand_over_to([asked], b"\1") == (handing, error)
    assert (slept, len(asked.asked)) == ([], 1)


async def test_every_try_is_with_all_endpoints(slept: list[float]) -> None:
    away = Unreachable("is away", endpoint="x")
    answers: list[object] = [away, "0xab"]
    one, other = ToldReader(lambda *_: away), ToldReader(lambda *_: answers.pop(0))
    assert await hand_over_to([one, other], b"\1") == (Handing.TAKEN, None)
    assert (len(one.asked), len(other.asked), slept) == (2, 2, [0.4])
