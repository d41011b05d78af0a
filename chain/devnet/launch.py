"""Starting the embedded chain as a child process, and ending it; nothing here is dear to import."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Literal

from msgspec import Struct

from chain.base.errors import ZunoError
from chain.contracts.networks import Address, Contracts
from chain.devnet.defaults import DEMO_SEED

_PATIENCE = 10.0
"""Seconds a child gets to end by itself."""


class DevnetError(ZunoError):
    """The embedded chain did not start; what it said stands on stderr."""


class DevnetReady(Struct, frozen=True):
    """The line a child prints when it is ready to answer."""

    url: str
    control: str
    """Where its market is steered, and where the demo exchange publishes."""
    chain_id: int
    wallet: Address
    keystore: Path
    seed: int
    contracts: Contracts


@asynccontextmanager
async def running_devnet(
    *,
    seed: int = DEMO_SEED,
    world: Literal["week", "small"] = "week",
    speed: float = 0,
    port: int = 0,
    chain_id: int | None = None,
    v3: bool = False,
    stderr: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> AsyncIterator[DevnetReady]:
    """A child process for as long as the block lasts; it ends with us, however we end.

    What it narrates goes to our own stderr, or to `stderr`: a screen passes DEVNULL.
    """
    child = await asyncio.create_subprocess_exec(
        *_command(seed=seed, world=world, speed=speed, port=port, chain_id=chain_id, v3=v3),
        stdin=PIPE,
        stdout=PIPE,
        stderr=stderr,
    )
    if child.stdout is None:
        raise DevnetError("The embedded chain has no stdout to read.")
    try:
        while (ready := read_line(await child.stdout.readline(), progress)) is None:
            pass
        yield ready
    finally:
        with suppress(ProcessLookupError):
            child.terminate()
        try:
            await asyncio.wait_for(child.wait(), _PATIENCE)
        except TimeoutError:
            child.kill()
            await child.wait()


@contextmanager
def devnet_process(
    *,
    seed: int = DEMO_SEED,
    world: Literal["week", "small"] = "week",
    speed: float = 0,
    port: int = 0,
    chain_id: int | None = None,
    v3: bool = False,
    stderr: int | None = None,
) -> Iterator[DevnetReady]:
    """The same for callers without an event loop."""
    command = _command(seed=seed, world=world, speed=speed, port=port, chain_id=chain_id, v3=v3)
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=stderr) as child:  # noqa: S603 - our own
        try:
            while (ready := read_line(child.stdout.readline() if child.stdout else b"")) is None:
                pass
            yield ready
        finally:
            child.terminate()
            try:
                child.wait(_PATIENCE)
            except TimeoutExpired:
                child.kill()


def _command(
    *, seed: int, world: str, speed: float, port: int, chain_id: int | None, v3: bool
) -> list[str]:
    options = devnet_arguments(
        seed=seed, world=world, speed=speed, port=port, chain_id=chain_id, v3=v3
    )
    return [sys.executable, "-m", "chain.devnet", *options]


def devnet_arguments(
    *,
    seed: int,
    world: str,
    speed: float,
    port: int,
    chain_id: int | None = None,
    v3: bool = False,
) -> list[str]:
    options: dict[str, object] = {
        "--seed": seed,
        "--world": world,
        "--speed": speed,
        "--port": port,
    }
    if chain_id is not None:
        options["--chain-id"] = chain_id
    # The child watches its stdin, a pipe of ours: should we die, it ends.
    flags = ("--with-parent", "--v3") if v3 else ("--with-parent",)
    return [*(str(part) for pair in options.items() for part in pair), *flags]


def read_line(
    line: bytes, progress: Callable[[int, int], None] = lambda _done, _total: None
) -> DevnetReady | None:
    """What a line of the child says; None for one that says how far it is."""
    if not line:
        raise DevnetError("The embedded chain ended before it was ready; it said why on stderr.")
    fields = json.loads(line)
    if "progress" in fields:
        progress(fields["progress"], fields["of"])
        return None
    contracts = fields["contracts"]
    return DevnetReady(
        url=fields["url"],
        control=fields["control"],
        chain_id=fields["chainId"],
        wallet=fields["wallet"],
        keystore=Path(fields["keystore"]),
        seed=fields["seed"],
        contracts=Contracts(
            pool_manager=contracts["poolManager"],
            position_manager=contracts["positionManager"],
            state_view=contracts["stateView"],
            quoter=contracts["quoter"],
            universal_router=contracts["universalRouter"],
            permit2=contracts["permit2"],
            multicall3=contracts["multicall3"],
            delegate=contracts["delegate"],
        ),
    )
