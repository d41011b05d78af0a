"""The real screen while three agents speak at once; how late its event loop was goes to a file."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from zuno_tui.desk.debates import SpeakerProse
from zuno_tui.desk.events import DebateChanged
from zuno_tui.present.views import DebateView
from zuno_tui.screen.app.app import ZunoApp
from zuno_tui.screen.full_collections import FullCollections

if TYPE_CHECKING:
    from chain.wallet.secrets import Passphrase
    from zuno_tui.intents.intent import Intent

SECONDS = 10.0
TOKENS_A_SECOND = 100
ROLES = ("scout", "strategist", "critic")
MARKER = "speaking"
_WORDS = ("The", "range", "holds", "for", "a", "day", "and", "pays", "less", "than", "moving.")
_BETWEEN_LOOKS = 0.01


class Nobody:
    """A desk that is asked nothing."""

    def ask(self, intent: Intent) -> None: ...

    def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None: ...

    def close(self) -> None: ...


def main() -> None:
    late: list[float] = []
    tasks = []

    def begin() -> None:
        tasks.append(asyncio.create_task(look()))
        Thread(target=lambda: asyncio.run(speak()), daemon=True).start()

    async def look() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(_BETWEEN_LOOKS)
            late.append((time.perf_counter() - before - _BETWEEN_LOOKS) * 1000)

    async def speak() -> None:
        """At the pace that was asked for, however late a pause ends."""
        app.hear(DebateChanged(DebateView("req", "three at once")))
        reader = SpeakerProse(app.hear)
        began, said = time.perf_counter(), 0
        while (elapsed := time.perf_counter() - began) < SECONDS:
            for token in range(said, int(elapsed * TOKENS_A_SECOND)):
                for role in ROLES:
                    reader.hear(role, f"{_WORDS[token % len(_WORDS)]} ")
                said = token + 1
            await asyncio.sleep(1 / TOKENS_A_SECOND)
        app.call_from_thread(app.exit)

    collections = FullCollections(time.monotonic)  # as at the desk
    app = ZunoApp(Nobody(), after_first_paint=begin, collections=collections)
    app.run(mouse=False)
    Path(sys.argv[1]).write_text("\n".join(map(str, late)), "utf-8")


if __name__ == "__main__":
    main()
