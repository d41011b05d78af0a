"""The thread behind the screen: chain, model, memory and keys are worked on there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, TypeAlias

from zuno_tui.desk.context import DeskOpening
from zuno_tui.desk.events import Event, HelpAsked, QuitAsked, Said
from zuno_tui.intents.intent import Intent

if TYPE_CHECKING:
    from chain.wallet.secrets import Passphrase
    from zuno_tui.desk.desk import Desk

Errand: TypeAlias = "Callable[[Desk], Awaitable[None]]"


class DeskThread:
    """A desk on an event loop of its own; what it tells is told from that loop's thread.

    `opening` is entered there too, so that starting an embedded chain keeps no screen waiting.
    """

    def __init__(
        self,
        opening: Callable[[], AbstractAsyncContextManager[DeskOpening]],
        tell: Callable[[Event], None],
    ) -> None:
        self._opening = opening
        self._tell = tell
        self._shut = ""
        """Why nobody is in the room; empty while somebody is, or may still come."""
        self._still_opening: asyncio.Task[None] | None = None
        """Ended at once when the person leaves before there is anything to put away."""
        self._loop = asyncio.new_event_loop()
        self._errands: asyncio.Queue[Errand | None] = asyncio.Queue()
        self._thread = threading.Thread(target=self._run, name="zuno desk", daemon=True)

    def start(self) -> None:
        """To be called after the first paint: what the desk imports is heavy."""
        self._thread.start()

    def ask(self, intent: Intent) -> None:
        from zuno_tui.intents.intents import Help, Quit

        # Neither needs the desk, which may still be opening, or never have opened.
        match intent:
            case Quit():
                self._tell(QuitAsked())
            case Help(topic=topic):
                self._tell(HelpAsked(topic))
            case _ if self._shut:
                self._tell(Said(self._shut, "bad", intent.twin))
            case _:
                self._put(lambda desk: desk.ask(intent))

    def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:
        self._put(lambda desk: desk.confirm(approval_hash, word, passphrase))

    def close(self) -> None:
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end)

    def wait_closed(self, seconds: float) -> bool:
        """Whether the room is empty; a transaction that was sent is in the outbox either way."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _put(self, errand: Errand) -> None:
        # A closed room has nobody to ask, and nothing is left undone by it.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._errands.put_nowait, errand)

    def _end(self) -> None:
        self._errands.put_nowait(None)
        if self._still_opening is not None:
            self._still_opening.cancel()

    def _run(self) -> None:
        with (
            suppress(asyncio.CancelledError),
            asyncio.Runner(loop_factory=lambda: self._loop) as runner,
        ):
            runner.run(self._work())

    async def _work(self) -> None:
        from zuno_tui.desk.jobs import fault_words

        self._still_opening = asyncio.current_task()
        try:
            # What it loads may fail, too: a broken installation must be said, and not waited for.
            from zuno_tui.desk.desk import Desk

            async with self._opening() as opening, Desk(opening, self._tell) as desk:
                self._still_opening = None
                while (errand := await self._errands.get()) is not None:
                    await errand(desk)
        except Exception as error:  # the screen stays, and must say why it is alone
            self._shut = fault_words(error)
            self._tell(Said(self._shut, "bad"))
