"""The model's endpoint in a thread of its own, for programs that are watched without a loop."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.fakes.model_endpoint import Conduct, model_endpoint
from tests.waiting import HUNG_SECONDS


@contextmanager
def model_in_a_thread(*conducts: Conduct) -> Iterator[dict[str, str]]:
    """What a program's environment says of it, for as long as it answers."""
    ready, stop = threading.Event(), asyncio.Event()
    loop = asyncio.SelectorEventLoop()  # of real time, whatever the test waits on
    environment = {"OPENAI_API_KEY": "sk-none", "ZUNO_DETERMINISTIC": ""}

    async def serve() -> None:
        async with model_endpoint(*conducts) as endpoint:
            environment["OPENAI_BASE_URL"] = endpoint.url
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(HUNG_SECONDS), "the endpoint never listened"
    try:
        yield environment
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(HUNG_SECONDS)
        loop.close()
