"""Waiting for a process, a terminal or a file: until it happens, however slow the machine."""

import asyncio
import time
from collections.abc import Callable, Iterator

HUNG_SECONDS = 300.0
"""Whoever waits longer waits for ever."""


def pauses(what: object = "it", most: float = HUNG_SECONDS) -> Iterator[float]:
    """Seconds until the next look, ever more: what is quick is seen at once, the rest seldom."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < most:
        yield waited / 8
    raise AssertionError(f"{what} never came: {what() if callable(what) else ''}")


async def until(happened: Callable[[], object], what: object = "it") -> None:
    """As `wait_until`, while others are at work on an event loop of real time."""
    waits = pauses(what)
    while not happened():  # noqa: ASYNC110 - it happens in another process
        await asyncio.sleep(next(waits))


def wait_until(happened: Callable[[], object], what: object = "it") -> None:
    """What to call what never came; or what to ask for more about it."""
    waits = pauses(what)
    while not happened():
        time.sleep(next(waits))
