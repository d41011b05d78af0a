"""An SSH server on loopback that gives every session a terminal of its own, as sshd does."""

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

from tests.waiting import HUNG_SECONDS

Terminal = list[int | list[bytes | int]]

_READ_AT_ONCE = 65_536


@dataclass
class Session:
    """One login: the program that runs there and how its terminal stood before and after."""

    process: subprocess.Popen[bytes]
    before: Terminal
    after: Terminal | None = None


@dataclass
class SshServer:
    folder: Path
    port: int = 0
    sessions: list[Session] = field(default_factory=list)
    serving: set[asyncio.Future[None]] = field(default_factory=set)

    def client(self, command: str) -> list[str]:
        """The real `ssh`, as a person calls it, with keys of its own and nobody's settings."""
        options = ("IdentitiesOnly=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null")
        chosen = [word for option in (*options, "LogLevel=ERROR") for word in ("-o", option)]
        key = str(self.folder / "client")
        address = ("-p", str(self.port), "person@127.0.0.1")
        return ["ssh", "-F", "/dev/null", "-i", key, *chosen, "-C", "-tt", *address, command]

    async def serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        """Until the program ends, or the line does: then the program hears of it."""
        serving = asyncio.ensure_future(self._serve(process))
        self.serving.add(serving)
        await serving

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        cols, rows, *_ = process.term_size
        master, slave = pty.openpty()
        _set_size(slave, cols, rows)
        session = Session(_started(process, slave), termios.tcgetattr(slave))
        self.sessions.append(session)
        typing = asyncio.create_task(_pass_on(process, master, slave))
        ended = asyncio.create_task(asyncio.to_thread(session.process.wait))
        os.set_blocking(master, False)
        loop = asyncio.get_running_loop()
        loop.add_reader(master, _show, process, master)
        try:
            await asyncio.wait((typing, ended), return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                session.after = termios.tcgetattr(slave)
                _show(process, master)
                process.exit(ended.result())
        finally:
            typing.cancel()
            loop.remove_reader(master)
            # Without its other side the terminal hangs up, and tells the program so.
            os.close(master)
            os.close(slave)
            await ended


@contextmanager
def ssh_server(folder: Path) -> Iterator[SshServer]:
    """Runs in a thread of its own, with keys made for this once."""
    server = SshServer(folder)
    keys = {name: asyncssh.generate_private_key("ssh-ed25519") for name in ("host", "client")}
    keys["client"].write_private_key(str(folder / "client"))
    (folder / "client").chmod(0o600)
    known = asyncssh.import_authorized_keys(keys["client"].export_public_key().decode())
    ready, stop = threading.Event(), asyncio.Event()
    loop = asyncio.SelectorEventLoop()  # of real time, whatever the test waits on

    async def listen() -> None:
        listener = await asyncssh.create_server(
            asyncssh.SSHServer,
            "127.0.0.1",
            0,
            server_host_keys=[keys["host"]],
            authorized_client_keys=known,
            process_factory=server.serve,
            encoding=None,
            line_editor=False,
        )
        server.port = listener.get_port()
        ready.set()
        await stop.wait()
        listener.close()
        await asyncio.gather(*server.serving, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(listen(),), daemon=True)
    thread.start()
    assert ready.wait(HUNG_SECONDS), "the server never listened"
    try:
        yield server
    finally:
        for session in server.sessions:
            if session.process.poll() is None:
                session.process.kill()
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def _started(process: asyncssh.SSHServerProcess[bytes], slave: int) -> subprocess.Popen[bytes]:
    assert process.command is not None
    return subprocess.Popen(
        # The first terminal that the leader of a session opens becomes the session's own.
        ["sh", "-c", f'exec 0<>"$0"; exec {process.command}', os.ttyname(slave)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": process.term_type or "dumb"},
        start_new_session=True,
    )


async def _pass_on(process: asyncssh.SSHServerProcess[bytes], master: int, slave: int) -> None:
    with contextlib.suppress(asyncssh.Error):
        while True:
            try:
                typed = await process.stdin.read(_READ_AT_ONCE)
            except asyncssh.TerminalSizeChanged as size:
                _set_size(slave, size.width, size.height)
                continue
            if not typed:
                return
            os.write(master, typed)


def _show(process: asyncssh.SSHServerProcess[bytes], master: int) -> None:
    with contextlib.suppress(BlockingIOError, BrokenPipeError):
        while True:
            process.stdout.write(os.read(master, _READ_AT_ONCE))


def _set_size(slave: int, cols: int, rows: int) -> None:
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
