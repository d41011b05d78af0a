"""Processes of Python modules without the loading: one that has imported much forks for each.

A short command spends most of its time importing libraries, and the tests start hundreds of them.
Whoever tests imports, interpreter flags or the start itself takes a process from `subprocess`.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tests.waiting import HUNG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[1]

# Nothing that starts threads, and nothing that reads the environment while it is imported.
PRELOADED = (
    "agents.monitor.judge",
    "agents.monitor.poll",
    "anyio._backends._asyncio",
    "chain.bookkeeping.wallet_history",
    "chain.devnet.process",
    "chain.protocols.v3.protocol",
    "chain.protocols.v4.protocol",
    "concurrent.futures.thread",
    "encodings.ascii",
    "encodings.idna",
    # It has a parser for C read its headers.
    "Crypto.Cipher._mode_ctr",
    "eth_account",
    "eth_hash.backends.pycryptodome",
    "httpcore2",
    "httpx2",
    "websockets.sync.client",
    "zuno_tui.cli.parser",
    "zuno_tui.catalog.command",
    "zuno_tui.catalog.registry",
    "zuno_tui.app.alerts",
    "zuno_tui.app.approve",
    "zuno_tui.app.outbox",
    "zuno_tui.app.positions",
    "zuno_tui.app.debate",
    "zuno_tui.app.demo_place",
    "zuno_tui.app.history",
    "zuno_tui.app.last_block",
    "zuno_tui.app.portfolio",
    "zuno_tui.app.replay",
    "zuno_tui.app.wallet",
    "zuno_tui.app.watch_key",
    "zuno_tui.app.watchlist",
    "zuno_tui.commands.catalog.run_in_session",
    "zuno_tui.features.orders.keeper",
    "zuno_tui.features.orders.signing",
    "zuno_tui.features.orders.what_if",
    "zuno_tui.features.safe.executing",
    "zuno_tui.features.safe.signing",
    "zuno_tui.gate.actions.position",
    "zuno_tui.settings.channels",
)


class ForkServer:
    """The process that forks, seen by the tests; it ends when they do."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                # Not the terminal of whoever runs the tests: a file's output is buffered.
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=ROOT,
            )

    def close(self) -> None:
        self._control.close()
        self._process.wait()

    def run(
        self,
        module: str,
        *arguments: str,
        environment: Mapping[str, str],
        timeout: float = HUNG_SECONDS,
    ) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` of `python -m MODULE`, with nothing on stdin."""
        with (
            Path(os.devnull).open() as stdin,
            tempfile.TemporaryFile("w+") as stdout,
            tempfile.TemporaryFile("w+") as stderr,
        ):
            files = (stdin, stdout, stderr)
            child = self.start(
                module, *arguments, environment=environment, files=[one.fileno() for one in files]
            )
            code = child.ended(timeout)
            if code is None:
                child.kill()
                raise TimeoutError(f"{module} took longer than {timeout} seconds")
            stdout.seek(0)
            stderr.seek(0)
            words = [module, *arguments]
            return subprocess.CompletedProcess(words, code, stdout.read(), stderr.read())

    def start(
        self,
        module: str,
        *arguments: str,
        environment: Mapping[str, str],
        files: list[int],
        at_terminal: bool = False,
    ) -> ForkedProcess:
        """Start `python -m MODULE` with these as stdin, stdout and stderr.

        At a terminal it leads a session of its own, and its stdin is the terminal of that session.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [b"+"], [*files, theirs.fileno()])
        request = [module, arguments, dict(environment), str(Path.cwd()), at_terminal]
        ours.sendall(json.dumps(request).encode() + b"\n")
        return ForkedProcess(ours)


class ForkedProcess:
    def __init__(self, reports: socket.socket) -> None:
        self._reports = reports
        self._code: int | None = None
        self.pid = self._number()

    def ended(self, within: float) -> int | None:
        """The exit code, negative after a signal; None where it still runs after these seconds."""
        if self._code is None and select.select([self._reports], [], [], within)[0]:
            self._code = self._number()
            self._reports.close()
        return self._code

    def kill(self) -> None:
        """It may have ended by itself already, with its report still on the way."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def _number(self) -> int:
        line = b""
        while not line.endswith(b"\n"):
            letter = self._reports.recv(1)
            if not letter:
                raise ChildProcessError("the fork server ended")
            line += letter
        return int(line)


@cache
def fork_server() -> ForkServer:
    """One for all the tests of a worker."""
    server = ForkServer()
    atexit.register(server.close)
    return server


def _serve(control: socket.socket) -> None:
    with import_module("chain.base.other_curves").without_other_curves():
        for name in PRELOADED:
            import_module(name)
    import_module("zuno_tui.catalog.registry").registry().on_command_line()
    _read_tables()
    gc.collect()
    gc.freeze()
    watchers = 0
    while True:
        wanted, descriptors, _, _ = socket.recv_fds(control, 1, 4)
        if not wanted:
            return
        while watchers and os.waitpid(-1, os.WNOHANG)[0]:
            watchers -= 1
        if os.fork() == 0:
            control.close()
            _watch(socket.socket(fileno=descriptors.pop()), descriptors)
            return
        watchers += 1
        for descriptor in descriptors:
            os.close(descriptor)


def _read_tables() -> None:
    """What is shipped is read once."""
    networks = import_module("chain.contracts.networks")
    tokens = import_module("chain.tokens.token")
    devnet = networks.network_named("devnet")
    networks.shipped_code_hashes(devnet)
    tokens.listed_symbols(devnet)
    tokens.named_tokens(devnet)


def _watch(reports: socket.socket, files: list[int]) -> None:
    """Fork once more, and tell how the program ended; only the program returns."""
    with reports.makefile() as lines:
        request = lines.readline()
    program = os.fork()
    if program == 0:
        reports.close()
        _become(files, *json.loads(request))
        return
    for descriptor in files:
        os.close(descriptor)
    reports.sendall(f"{program}\n".encode())
    _, status = os.waitpid(program, 0)
    # Whoever asked may have ended before the process did.
    with suppress(BrokenPipeError):
        reports.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(
    files: list[int],
    module: str,
    arguments: list[str],
    environment: dict[str, str],
    folder: str,
    at_terminal: bool,
) -> None:
    for wanted, descriptor in enumerate(files):
        os.dup2(descriptor, wanted)
        os.close(descriptor)
    if at_terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv[1:] = arguments
    code: object = None
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ending:
        code = ending.code
    if code is None or isinstance(code, int):
        _end_at_once(code or 0)
    sys.exit(str(code))


def _end_at_once(code: int) -> None:
    """As the interpreter ends, but without taking apart module by module what was loaded."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # a program that could not write to it has let go of it
            stream.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
