"""Whatever is killed: no process is left, what happened is said, and the next start is clean."""

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady, devnet_arguments, read_line
from tests import node_rpc
from tests.fork_server import ForkedProcess, fork_server
from tests.waiting import HUNG_SECONDS, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")

SEED = 7
A_FEW, MANY = 1, 20


@dataclass(frozen=True)
class Driver:
    """The process that drives a chain, and what it started."""

    process: ForkedProcess
    words: Path
    lines: Iterator[bytes]

    def ready(self) -> DevnetReady:
        while (ready := read_line(next(self.lines, b""))) is None:
            pass
        return ready

    def children(self) -> dict[str, int]:
        """By the name of their program."""
        found = {}
        for status in Path("/proc").glob("[0-9]*/stat"):
            fields = _stat(status)
            if fields is not None and int(fields[3]) == self.process.pid:
                found[fields[1].strip("()")] = int(fields[0])
        return found


def _stat(path: Path) -> list[str] | None:
    try:
        name, _, rest = path.read_text().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    number, _, program = name.partition(" (")
    return [number, program, *rest.split()]


def runs(pid: int) -> bool:
    fields = _stat(Path(f"/proc/{pid}/stat"))
    # A dead process that nobody has waited for yet is no orphan.
    return fields is not None and fields[2] != "Z"


def wait_until_gone(pids: Iterable[int]) -> None:
    watched = tuple(pids)
    wait_until(lambda: not any(map(runs, watched)))


def _states_folder(pid: int) -> Path:
    """Where the node keeps the states of past blocks."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return Path(words[words.index(b"--cache-path") + 1].decode())


@contextmanager
def driver(folder: Path, *, cache: Path | None = None) -> Iterator[Driver]:
    arguments = devnet_arguments(seed=SEED, world="small")
    environment = dict(os.environ) | ({"ZUNO_CACHE": str(cache)} if cache else {})
    stdin, ending = os.pipe()
    output, stdout = os.pipe()
    words = folder / "stderr"
    with words.open("w") as stderr:
        files = [stdin, stdout, stderr.fileno()]
        process = fork_server().start(
            "chain.devnet", *arguments, environment=environment, files=files
        )
    os.close(stdin)
    os.close(stdout)
    try:
        with os.fdopen(output, "rb") as lines:
            yield Driver(process, words, lines)
    finally:
        os.close(ending)
        if process.ended(HUNG_SECONDS) is None:
            process.kill()


@pytest.mark.parametrize("times", [A_FEW, pytest.param(MANY, marks=pytest.mark.soak)])
def test_a_killed_driver_takes_the_node_along(tmp_path: Path, times: int) -> None:
    for _ in range(times):
        with driver(tmp_path) as chain:
            url = chain.ready().url
            children = chain.children()
            assert set(children) == {"anvil", "sh"}
            assert int(node_rpc.ask(url, "eth_chainId"), 16) == 31337
            states = _states_folder(children["anvil"])
            assert states.is_dir()
            chain.process.kill()
            assert chain.process.ended(HUNG_SECONDS) == -signal.SIGKILL
            wait_until_gone(children.values())
            assert not states.exists()


@pytest.mark.parametrize("times", [A_FEW, pytest.param(MANY, marks=pytest.mark.soak)])
def test_a_killed_node_ends_its_driver_which_says_so(tmp_path: Path, times: int) -> None:
    for _ in range(times):
        with driver(tmp_path) as chain:
            chain.ready()
            children = chain.children()
            os.kill(children["anvil"], signal.SIGKILL)
            assert chain.process.ended(HUNG_SECONDS) == 1
            wait_until_gone(children.values())
        assert chain.words.read_text() == (
            "Anvil ended while the embedded chain ran. It was ended by signal 9.\n"
        )


@pytest.mark.parametrize("times", [1, pytest.param(MANY, marks=pytest.mark.soak)])
def test_a_kill_while_the_world_is_made_leaves_nothing_half_made(
    bare_cache: Path, tmp_path: Path, times: int
) -> None:
    for victim in ("anvil", "driver") * times:
        with driver(tmp_path, cache=bare_cache) as chain:
            next(chain.lines)
            children = chain.children()
            pid = chain.process.pid if victim == "driver" else children["anvil"]
            os.kill(pid, signal.SIGKILL)
            code = chain.process.ended(HUNG_SECONDS)
            wait_until_gone(children.values())
        assert code == (-signal.SIGKILL if victim == "driver" else 1)
        if victim == "anvil":
            assert "It was ended by signal 9." in chain.words.read_text()
        assert not list((bare_cache / "worlds").glob("*.world"))
    with driver(tmp_path, cache=bare_cache) as chain:
        assert chain.ready().seed == SEED
    assert list((bare_cache / "worlds").glob("*.world"))
