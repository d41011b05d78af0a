"""A process that raises alerts and posts them as fast as it can, until it is killed."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from agents.monitor.alerts.state import MonitorState
from agents.monitor.alerts.store import AlertStore
from agents.monitor.deliver.delivery import ChannelWorker
from agents.monitor.deliver.webhook import Webhook, WebhookSettings
from chain.base.home import Home
from tests.agents.monitor.delivery_kit import happen, raised


async def run(home: Home, url: str, most: int) -> None:
    """Raise so many alerts more; with none to raise, only carry what waits."""
    book = AlertStore.open(home, now=time.time())
    channel_worker = ChannelWorker(
        Webhook(WebhookSettings(url)), book, MonitorState(home.database), time.time
    )
    first = len(book.current())
    for number in range(first, first + most):
        happen(book, raised(number), now=time.time())
        await channel_worker.step()
    while channel_worker.wait_seconds() is not None:
        await channel_worker.step()
        await asyncio.sleep(0)
    await channel_worker.close()


if __name__ == "__main__":
    root = Path(sys.argv[1])
    asyncio.run(run(Home(root, root), sys.argv[2], int(sys.argv[3])))
