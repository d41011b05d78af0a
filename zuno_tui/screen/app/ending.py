"""How a full-screen program ends: asked by a signal, or left without its terminal.

Whoever leads the terminal's processes need not pass a hang-up on: make does not. Textual reads the
end of a lost terminal for ever, and its loop waits for a queue that nobody empties and hears no
signal; so Python's own handlers are used, and a deadline.
"""

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from chain.base.scratch import remove_scratch

_SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
_GRACE_SECONDS = 7.0
"""To put everything away; then the process ends by force."""
_LOOK_MILLISECONDS = 1_000


class Ending:
    """What is done when the program is asked to end; at first it just leaves."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.act: Callable[[signal.Signals], object] = lambda number: sys.exit(128 + number)

    def ask(self, number: int, _frame: FrameType | None = None) -> None:
        if self.code is None:
            self.code = 128 + number
            deadline = threading.Timer(_GRACE_SECONDS, _end_by_force, [self.code])
            deadline.daemon = True
            deadline.start()
        self.act(signal.Signals(number))


@contextmanager
def ending_when_asked() -> Iterator[Ending]:
    """Signals and the loss of the terminal end what runs in the block, within seconds."""
    ending = Ending()
    before = {number: signal.signal(number, ending.ask) for number in _SIGNALS}
    threading.Thread(target=_watch_terminal, name="terminal", daemon=True).start()
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch_terminal() -> None:
    terminal = select.poll()
    terminal.register(0, 0)
    # The kernel does not wake everybody who waits for nothing but a hang-up.
    while not (found := terminal.poll(_LOOK_MILLISECONDS)):
        pass
    if found[0][1] & (select.POLLHUP | select.POLLERR):
        os.kill(os.getpid(), signal.SIGHUP)


def _end_by_force(code: int) -> None:
    # The chain's process ends by itself when our end of its pipe closes.
    remove_scratch()
    os._exit(code)
