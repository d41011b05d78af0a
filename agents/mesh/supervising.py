"""Programs kept running: each is started again when it ends, later each time, until the end."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from chain.base.home import FILE_MODE

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
_HEALTHY_SECONDS = 20.0
"""Whoever ran for so long starts anew at once."""
_ENDING_SECONDS = 5.0
_PASSED_ON = ("PATH", "PYTHONPATH", "LANG", "TZ", "VIRTUAL_ENV", "SSL_CERT_FILE", "TMPDIR")
_PASSED_ON_TOO = ("LC_", "OPENAI_", "ZUNO_MODEL", "ZUNO_COINGECKO", "ZUNO_CACHE")
_KEY_SUFFIX = "_API_KEY"


class Program(Struct, frozen=True):
    name: str
    command: tuple[str, ...]
    folder: Path
    """It runs here, this is its home, and its log is in it."""
    log: str
    environment: Mapping[str, str]


def bare_environment(environment: Mapping[str, str], home: Path) -> dict[str, str]:
    """What a program of the mesh is told of ours: nothing that leads to a wallet or a desk."""
    passed = {
        name: value
        for name, value in environment.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_TOO) or name.endswith(_KEY_SUFFIX)
    }
    return {**passed, "HOME": str(home)}


async def supervise(
    programs: Sequence[Program], stop: asyncio.Event, tell: Callable[[str], None]
) -> None:
    """Run all of them until `stop`; then end them, and wait until they are gone."""
    keeping = (_keep(program, stop, tell) for program in programs)
    await asyncio.gather(*keeping, return_exceptions=True)


def next_wait(wait: float, ran: float) -> float:
    """Seconds before the next start, by those before the last one and by how long it ran."""
    return _FIRST_WAIT if ran > _HEALTHY_SECONDS else min(_LONGEST_WAIT, wait * 2)


async def _keep(program: Program, stop: asyncio.Event, tell: Callable[[str], None]) -> None:
    wait = _FIRST_WAIT
    while not stop.is_set():
        began = asyncio.get_running_loop().time()
        code = await _run_once(program, stop, tell)
        if stop.is_set():
            return
        ran = asyncio.get_running_loop().time() - began
        wait = next_wait(wait, ran)
        tell(f"{program.name} ended with {code}; it is started again in {wait:g} s.")
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), wait)


async def _run_once(
    program: Program, stop: asyncio.Event, tell: Callable[[str], None]
) -> int | str:
    descriptor = os.open(
        program.folder / program.log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, FILE_MODE
    )
    try:
        process = await asyncio.create_subprocess_exec(
            *program.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            cwd=program.folder,
            env=dict(program.environment),
            start_new_session=True,
        )
    except OSError as error:
        return f"{error.strerror}"
    finally:
        os.close(descriptor)
    tell(f"{program.name} runs as process {process.pid}.")
    ended = asyncio.create_task(process.wait())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((ended, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not ended.done():
        await _end(process)
    return await ended


async def _end(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _ENDING_SECONDS)
        return
    with suppress(ProcessLookupError):
        process.kill()
