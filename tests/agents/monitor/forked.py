"""Work in a child process that can be killed, limited or stripped of its rights."""

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Child:
    pid: int
    pipe: int
    said: bytes = b""

    def kill(self) -> None:
        """As a power cut does it: nothing is told beforehand."""
        os.kill(self.pid, signal.SIGKILL)

    def wait_for(self, lines: int) -> None:
        """Until the child has said so many lines, or nothing more."""
        while self.said.count(b"\n") < lines and (part := os.read(self.pipe, 1 << 16)):
            self.said += part

    def read(self) -> str:
        """All the child said until it ended; half a line at the end was not said."""
        while part := os.read(self.pipe, 1 << 16):
            self.said += part
        return self.said.rpartition(b"\n")[0].decode()


@contextmanager
def forked(work: Callable[[Callable[[str], None]], None]) -> Iterator[Child]:
    """The work in a copy of this process, given a way to say something; it must end well."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read_end)
            work(lambda line: void(os.write(write_end, f"{line}\n".encode())))
            status = 0
        except BaseException:
            os.write(write_end, f"{traceback.format_exc()}\n".encode())
        finally:
            os._exit(status)
    os.close(write_end)
    child = Child(pid, read_end)
    try:
        yield child
        said = child.read()
        _, status = os.waitpid(pid, 0)
        ended = os.waitstatus_to_exitcode(status)
        assert ended in (0, -signal.SIGKILL), said
    finally:
        os.close(read_end)


def void(_: object) -> None:
    """Takes what nobody wants."""
