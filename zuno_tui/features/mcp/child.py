"""Commands typed for another agent, each in a child without secrets that ends with the call."""

import asyncio
import os
import signal
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import NamedTuple

from chain.base.own_program import own_script
from chain.base.secret_names import without_secrets
from zuno_tui.features.mcp.bounds import clean

Said = Callable[[str], Coroutine[None, None, None]]

TYPED = "import sys; from zuno_tui.cli import main; sys.exit(main())"
_MOST_LINE = 64 * 1024
_MOST_PLANS, _HOUR = 20, 3_600.0


class ChildAnswer(NamedTuple):
    out: bytes
    code: int | None
    last: tuple[str, ...]
    """The last lines that it said beside its answer."""


class ChildFailedError(Exception):
    """What a command said instead of an answer."""


class PlanBound:
    """How many plans one agent may have argued about: each spends a model's tokens."""

    def __init__(self) -> None:
        self._argued: deque[float] = deque(maxlen=_MOST_PLANS)

    def refusal(self, now: float) -> str | None:
        """Counts one more plan, or says why there is none."""
        if len(self._argued) == _MOST_PLANS and now - self._argued[0] < _HOUR:
            return (
                f"{_MOST_PLANS} plans were argued about in the last hour: the most one agent "
                "may ask for. Read those that are there."
            )
        self._argued.append(now)
        return None


def shared_words(arguments: Namespace) -> tuple[str, ...]:
    """What was said of network, endpoint, wallet and home holds for every child."""
    words: list[str] = []
    for name in ("network", "rpc", "address", "unit", "home"):
        value = getattr(arguments, name, None)
        if value is not None:
            words += [f"--{name}", str(value)]
    return (*words, "--alone") if getattr(arguments, "alone", None) else tuple(words)


async def run_child(
    words: Sequence[str], said: Said, *, seconds: float, script: str = TYPED
) -> ChildAnswer:
    child = await asyncio.create_subprocess_exec(
        *own_script(script, *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=without_secrets(os.environ, for_models=True),
        limit=_MOST_LINE,
        start_new_session=True,
    )
    try:
        out, last = await asyncio.wait_for(_heard(child, said), seconds)
    except TimeoutError:
        raise ChildFailedError(f"{words[0]} did not answer within {seconds:g} seconds.") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await asyncio.shield(child.wait())
    return ChildAnswer(out, child.returncode, last)


async def unheard(_: str) -> None:
    """Progress that nobody asked for."""


async def _heard(child: asyncio.subprocess.Process, said: Said) -> tuple[bytes, tuple[str, ...]]:
    """Its answer, and the last of what it said meanwhile, each line told as it comes."""
    assert child.stdout is not None
    assert child.stderr is not None
    answer = asyncio.ensure_future(child.stdout.read())
    last: deque[str] = deque(maxlen=5)
    try:
        while True:
            try:
                line = await child.stderr.readline()
            except ValueError:  # longer than any line of ours
                continue
            if not line:
                break
            last.append(clean(line.decode("utf-8", "replace").strip()))
            await said(last[-1])
        return await answer, tuple(filter(None, last))
    finally:
        answer.cancel()
