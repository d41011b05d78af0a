"""An event loop whose clock jumps over what everybody would wait for: a minute takes no time."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")
_SETTLED_SECONDS = 0.003
"""For what was sent on the loopback to arrive, before it is believed that nobody is at work."""


class _SkippingSelector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= _SETTLED_SECONDS:
            return super().select(timeout)
        ready = super().select(_SETTLED_SECONDS)
        if not ready:
            self.skipped += timeout
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    """Everything that waits in it must wait by its clock or for one of its own sockets."""

    def __init__(self) -> None:
        self._skipping = _SkippingSelector()
        super().__init__(self._skipping)

    def time(self) -> float:
        return super().time() + self._skipping.skipped


def run_skipping(work: Coroutine[None, None, T]) -> T:
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(work)
