"""Starting the embedded chain as a child process, and ending it; nothing here is dear to import."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Literal, TypedDict, Unpack

from msgspec import Struct

from chain.base.errors import ZunoError
from chain.base.own_program import own_program
from chain.contracts.networks import Address, Contracts

_PATIENCE = 10.0
"""Seconds a child gets to end by itself."""

Progress = Callable[[int, int], None]
"""Is told how many of how many blocks are written."""

_SILENT: Progress = lambda _done, _total: None  # noqa: E731 - a default, said once


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


class DevnetChoices(TypedDict, total=False):
    """What a child is started with; it has its own defaults."""

    seed: int
    world: Literal["week", "small"]
    speed: float
    port: int
    chain_id: int
    v3: bool


@contextmanager
def started_devnet(
    stderr: int | None = None, **choices: Unpack[DevnetChoices]
) -> Iterator[Popen[bytes]]:
    """A child process for as long as the block lasts; it ends with us, however we end.

    What it narrates goes to our own stderr, or to `stderr`: a screen passes a file.
    """
    command = own_program("chain.devnet", *devnet_arguments(**choices))
    with Popen(command, stdin=PIPE, stdout=PIPE, stderr=stderr) as child:  # noqa: S603 - our own
        try:
            yield child
        finally:
            child.terminate()
            try:
                child.wait(_PATIENCE)
            except TimeoutExpired:
                child.kill()


@contextmanager
def devnet_process(
    stderr: int | None = None, **choices: Unpack[DevnetChoices]
) -> Iterator[DevnetReady]:
    """A child that is ready to answer."""
    with started_devnet(stderr, **choices) as child:
        yield when_ready(child)


def devnet_arguments(**choices: Unpack[DevnetChoices]) -> list[str]:
    """Unless a speed is chosen the market stands still."""
    named = {"speed": 0, **choices}
    v3 = named.pop("v3", False)
    options = [f"--{name.replace('_', '-')}={choice}" for name, choice in named.items()]
    # The child watches its stdin, a pipe of ours: should we die, it ends.
    return [*options, "--with-parent", *(("--v3",) if v3 else ())]


def when_ready(child: Popen[bytes], progress: Progress = _SILENT) -> DevnetReady:
    """Wait for the line that says where everything is."""
    while (ready := read_line(child.stdout.readline() if child.stdout else b"", progress)) is None:
        pass
    return ready


def read_line(line: bytes, progress: Progress = _SILENT) -> DevnetReady | None:
    """What a line of the child says; None for one that says how far it is."""
    if not line:
        raise DevnetError("The embedded chain ended before it was ready; the reason is on stderr.")
    fields = json.loads(line)
    if "progress" in fields:
        progress(fields["progress"], fields["of"])
        return None
    contracts, keystore = fields.pop("contracts"), Path(fields.pop("keystore"))
    return DevnetReady(
        chain_id=fields.pop("chainId"),
        keystore=keystore,
        contracts=Contracts(*(contracts[camel(name)] for name in Contracts.__struct_fields__)),
        **fields,
    )


def camel(name: str) -> str:
    """As the line names a field."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
