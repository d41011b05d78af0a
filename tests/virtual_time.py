"""An event loop on whose clock hours pass at once, and nothing passes while work is being done.

Time jumps to the next timer when nobody in the test's own process is at work, and nobody outside
has been asked for anything: no thread of the loop's executors, no process, no server elsewhere.
"""

import asyncio
import selectors
import socket
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, TypeVar, TypeVarTuple, Unpack

from tests.waiting import HUNG_SECONDS

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class _VirtualSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0
        self.working: set[asyncio.Future[Any]] = set()
        self.children: list[asyncio.SubprocessTransport] = []
        self._waker: int | None = None
        self._ports: set[int] = set()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = super().register(fileobj, events, data)
        if self._waker is None:
            self._waker = key.fd  # the loop's own, by which other threads wake it
        elif (port := _listening_port(key.fd)) is not None:
            self._ports.add(port)
        return key

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # What one end has sent over the loopback is at the other end by now.
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if timeout is None or self._is_anybody_asked():
            if ready := super().select(None if timeout is None else HUNG_SECONDS):
                return ready
            raise TimeoutError("whoever was asked outside of this process does not answer")
        self.now += timeout
        return []

    def _is_anybody_asked(self) -> bool:
        if self.working or any(child.get_returncode() is None for child in self.children):
            return True
        return any(
            key.fd != self._waker and self._is_elsewhere(key.fd, key.events)
            for key in self.get_map().values()
        )

    def _is_elsewhere(self, descriptor: int, events: int) -> bool:
        """Whether a process, or a server that this loop does not run, is at the other end."""
        try:
            end = socket.socket(fileno=descriptor)
        except OSError:
            return True
        try:
            if end.family not in {socket.AF_INET, socket.AF_INET6}:
                return True
            if end.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                return False
            return self._ports.isdisjoint((end.getsockname()[1], end.getpeername()[1]))
        except OSError:
            return bool(events & selectors.EVENT_WRITE)  # it is being connected
        finally:
            end.detach()


def _listening_port(descriptor: int) -> int | None:
    with suppress(OSError):
        end = socket.socket(fileno=descriptor)
        try:
            if end.family in {socket.AF_INET, socket.AF_INET6} and end.getsockopt(
                socket.SOL_SOCKET, socket.SO_ACCEPTCONN
            ):
                return int(end.getsockname()[1])
        finally:
            end.detach()
    return None


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._selector_of_time = _VirtualSelector()
        super().__init__(self._selector_of_time)

    def time(self) -> float:
        return self._selector_of_time.now

    def run_in_executor(
        self,
        executor: Executor | None,
        func: Callable[[Unpack[Ts]], T],
        *args: *Ts,
    ) -> asyncio.Future[T]:
        working = self._selector_of_time.working
        future = super().run_in_executor(executor, func, *args)
        working.add(future)
        future.add_done_callback(working.discard)
        return future

    async def subprocess_exec(
        self, *given: Any, **choices: Any
    ) -> tuple[asyncio.SubprocessTransport, Any]:
        transport, protocol = await super().subprocess_exec(*given, **choices)
        self._selector_of_time.children.append(transport)
        return transport, protocol


def run_virtually(work: Coroutine[None, None, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


def virtual_now() -> float:
    """Seconds by the virtual clock, which only grow."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop), "here time is real: wait for what happens"
    return loop.time()


async def pass_time(seconds: float) -> None:
    """Let so much pass on the virtual clock for everybody on this loop."""
    ends = virtual_now() + seconds
    await asyncio.sleep(ends - virtual_now())
