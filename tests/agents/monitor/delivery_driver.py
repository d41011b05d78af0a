"""A process that raises alerts and posts them as fast as it can, until it is killed."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from agents.monitor.book import AlertBook
from agents.monitor.courier import Courier
from agents.monitor.notebook import Notebook
from agents.monitor.webhook import Webhook, WebhookSettings
from chain.home import Home
from tests.agents.monitor.delivery_kit import happen, raised


async def run(home: Home, url: str, most: int) -> None:
    """Raise so many alerts more; with none to raise, only carry what waits."""
    book = AlertBook.open(home, now=time.time())
    courier = Courier(Webhook(WebhookSettings(url)), book, Notebook(home.database), time.time)
    first = len(book.current())
    for number in range(first, first + most):
        happen(book, raised(number), now=time.time())
        await courier.step()
    while courier.wait_seconds() is not None:
        await courier.step()
        await asyncio.sleep(0)
    await courier.close()


if __name__ == "__main__":
    root = Path(sys.argv[1])
    asyncio.run(run(Home(root, root), sys.argv[2], int(sys.argv[3])))
