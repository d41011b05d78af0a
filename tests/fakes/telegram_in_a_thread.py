"""Telegram's double in a thread of its own, for commands that have a loop themselves."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.fakes.telegram import TelegramDouble
from tests.waiting import HUNG_SECONDS


@contextmanager
def telegram_served(double: TelegramDouble) -> Iterator[str]:
    """Its URL, for as long as it answers."""
    ready, stop = threading.Event(), asyncio.Event()
    loop = asyncio.SelectorEventLoop()  # of real time, whatever the test waits on
    urls: list[str] = []

    async def serve() -> None:
        async with double.running() as url:
            urls.append(url)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(HUNG_SECONDS), "it never listened"
    try:
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(HUNG_SECONDS)
        loop.close()
