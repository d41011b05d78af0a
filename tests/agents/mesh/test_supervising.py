"""Programs of the mesh that end: started again, later each time, and at once after a good run."""

import asyncio
import os
import sys
from itertools import accumulate, repeat
from pathlib import Path

import pytest

from agents.mesh import supervising
from agents.mesh.supervising import Program, bare_environment, next_wait, supervise
from tests.waiting import HUNG_SECONDS, until

pytestmark = pytest.mark.real_time


def test_each_start_waits_twice_as_long_up_to_half_a_minute() -> None:
    waits = list(accumulate(repeat(0.0, 8), next_wait, initial=0.5))

    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert next_wait(30.0, 20.0) == 30.0
    assert next_wait(30.0, 20.1) == 0.5


def test_a_program_is_told_of_models_and_languages_and_of_no_wallet(tmp_path: Path) -> None:
    told = {
        "PATH": "/bin",
        "LANG": "C",
        "LC_ALL": "C",
        "TZ": "UTC",
        "OPENAI_BASE_URL": "https://model",
        "ANTHROPIC_API_KEY": "k",
        "ZUNO_MODEL_KEY": "k",
        "ZUNO_COINGECKO_KEY": "k",
        "ZUNO_CACHE": "/cache",
    }
    secret = {
        "HOME": "/home/me",
        "ZUNO_HOME": "/home/me/zuno",
        "ZUNO_PASSPHRASE": "word",
        "DBUS_SESSION_BUS_ADDRESS": "unix:",
        "MY_API_KEY_FILE": "/file",
    }
    assert bare_environment({**told, **secret}, tmp_path) == {**told, "HOME": str(tmp_path)}


async def test_what_ends_is_started_again_and_all_ends_with_the_supervisor(tmp_path: Path) -> None:
    told: list[str] = []
    stop = asyncio.Event()
    ends = Program("ends", (sys.executable, "-c", "raise SystemExit(3)"), tmp_path, "ends.log", {})
    stays = Program(
        "stays", (sys.executable, "-c", "import time; time.sleep(60)"), tmp_path, "stays.log", {}
    )
    missing = Program("missing", (str(tmp_path / "none"),), tmp_path, "missing.log", {})

    def tell(words: str) -> None:
        told.append(words)
        if sum(words.startswith("ends runs") for words in told) == 2:
            stop.set()

    # A session of its own: what a terminal sends to the supervisor does not reach it.
    alone = "import os, time; print(os.getsid(0) == os.getpid(), flush=True); time.sleep(60)"
    session = Program("session", (sys.executable, "-c", alone), tmp_path, "session.log", {})

    async with asyncio.timeout(HUNG_SECONDS):
        await supervise((ends, stays, missing, session), stop, tell)

    assert "ends ended with 3; it is started again in 1 s." in told
    assert sum(words.startswith("stays runs") for words in told) == 1
    assert "missing ended with No such file or directory; it is started again in 1 s." in told
    assert (tmp_path / "session.log").read_text() == "True\n"
    assert (tmp_path / "stays.log").stat().st_mode & 0o777 == 0o600


async def test_a_program_that_does_not_end_when_asked_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert supervising._ENDING_SECONDS == 5.0
    monkeypatch.setattr(supervising, "_ENDING_SECONDS", 0.2)
    deaf = (
        "import signal, time\n"
        "signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(3600)"
    )
    program = Program("deaf", (sys.executable, "-c", deaf), tmp_path, "deaf.log", {})
    stop = asyncio.Event()
    told: list[str] = []

    async with asyncio.timeout(HUNG_SECONDS):
        running = asyncio.create_task(supervise((program,), stop, told.append))
        log = tmp_path / "deaf.log"
        await until(lambda: log.exists() and log.read_text())
        stop.set()
        await running

    pid = int(told[0].rpartition(" ")[2].rstrip("."))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
