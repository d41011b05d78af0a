"""Named work in the back room: one of each name at a time, with progress, an end and a cancel."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from chain.base.errors import error_kind
from chain.base.store import StoreError
from chain.rpc.errors import RpcError
from zuno_tui.desk.events import Event, Said
from zuno_tui.present.failures import explain_known, explain_unexpected
from zuno_tui.present.views import JobView

Progress = Callable[[str], None]
Work = Callable[[Progress], Awaitable[object]]
_LOG = logging.getLogger("zuno.desk")
_QUIET = 2.0
"""Seconds in which what nobody asked for is over before it is worth a line."""


def fault_words(error: Exception) -> str:
    """What happened and what to do about it, in one line."""
    if isinstance(error, TimeoutError):
        return "It took too long and was stopped. Try again, or see what answers: doctor"
    if isinstance(error, StoreError):
        return f"{error} Make room on the disk, or choose another home: zuno --home DIR"
    told = explain_known(error)
    if told is not None:
        return one_line(told[1])
    if isinstance(error, OSError):
        return f"The disk or the network failed: {error.strerror or error_kind(error)}."
    # Frames and kinds only: the words of an unknown error may hold a URL with its key.
    _LOG.error("unforeseen %s", error_kind(error), exc_info=error)
    return f"{explain_unexpected(error)} More in the log: locate"


def sentences_of(error: Exception) -> str | None:
    """What endpoints did, without the next step; None where it is no endpoint's fault."""
    if not isinstance(error, RpcError):
        return None
    return " ".join(fault.sentence for fault in (error, *error.elsewhere))


def one_line(words: str) -> str:
    """Several lines as one, told apart where a line ends without a stop of its own."""
    told = ""
    for line in (each.strip() for each in words.splitlines()):
        between = "" if not told else " " if told.endswith((".", ":", "!", "?")) else "; "
        told += between + line if line else ""
    return told


class _RunningJob(Struct):
    view: JobView
    task: asyncio.Task[None]
    shown: bool


class Jobs:
    """A job that fails becomes one line; nothing that happens in it reaches the others."""

    def __init__(
        self, tell: Callable[[Event], None], changed: Callable[[tuple[JobView, ...]], None]
    ) -> None:
        self._tell = tell
        self._changed = changed
        self._running: dict[str, _RunningJob] = {}

    @property
    def views(self) -> tuple[JobView, ...]:
        return tuple(job.view for job in self._running.values() if job.shown)

    def is_running(self, name: str) -> bool:
        return name in self._running

    def start(
        self,
        name: str,
        words: str,
        work: Work,
        *,
        seconds: float,
        cancellable: bool = True,
        opens_page: bool = False,
        asked: bool = True,
        again: object | None = None,
    ) -> bool:
        """Begin the work, unless work of this name is under way, which is said."""
        if name in self._running:
            self._tell(
                Said(
                    f"{self._running[name].view.words}: still running. "
                    "Wait, or press ctrl+x to cancel.",
                    "warn",
                )
            )
            return False
        view = JobView(name, words, cancellable, opens_page, asked, again)
        task = asyncio.create_task(self._run(name, work, seconds), name=f"zuno {name}")
        self._running[name] = running = _RunningJob(view, task, asked)
        if asked:
            self._changed(self.views)
        else:
            asyncio.get_running_loop().call_later(_QUIET, self._show, running)
        return True

    def cancel(self, name: str | None) -> tuple[str, ...]:
        """End what was named, or everything that may be ended; the names of what was."""
        ended = [
            job
            for job in self._running.values()
            if job.view.cancellable and name in (None, job.view.name)
        ]
        for job in ended:
            job.task.cancel()
        return tuple(job.view.name for job in ended)

    async def idle(self) -> None:
        """Until no work is under way."""
        while self._running:
            await asyncio.wait([job.task for job in self._running.values()])

    async def close(self) -> None:
        for job in self._running.values():
            job.task.cancel()
        await self.idle()

    async def _run(self, name: str, work: Work, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await work(lambda words: self._say(name, words))
        except Exception as error:  # whatever it was, the desk goes on
            self._tell(Said(fault_words(error), "bad"))
        finally:
            if self._running.pop(name).shown:
                self._changed(self.views)

    def _show(self, running: _RunningJob) -> None:
        if not running.task.done():
            running.shown = True
            self._changed(self.views)

    def _say(self, name: str, words: str) -> None:
        running = self._running[name]
        running.view = replace(running.view, words=words)
        if running.shown:
            self._changed(self.views)
