"""A real NATS server that keeps a stream, for as long as a test needs it."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.agents.mesh.processes import free_ports, is_listening, nats_program
from tests.waiting import wait_until


@contextmanager
def nats_server(folder: Path) -> Iterator[tuple[int, Callable[[], None]]]:
    """Its port, and what cuts it off."""
    program, [port] = nats_program(), free_ports(1)
    assert program is not None
    server = subprocess.Popen(
        [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def cut() -> None:
        server.kill()
        server.wait()

    try:
        wait_until(lambda: is_listening(port), "the NATS server")
        yield port, cut
    finally:
        cut()
