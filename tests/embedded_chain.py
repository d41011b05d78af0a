"""The embedded chain in a process of its own, without loading libraries again."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from chain.devnet.launch import devnet_arguments, read_line
from tests.fork_server import fork_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.devnet.launch import DevnetReady

_PATIENCE = 10.0


@contextmanager
def embedded_chain(
    *,
    seed: int = 7,
    world: Literal["week", "small"] = "small",
    speed: float = 0,
    port: int = 0,
    chain_id: int | None = None,
    v3: bool = False,
) -> Iterator[DevnetReady]:
    """A chain for as long as the block lasts; it ends with us, however we end."""
    arguments = devnet_arguments(
        seed=seed, world=world, speed=speed, port=port, chain_id=chain_id, v3=v3
    )
    stdin, ending = os.pipe()
    ready, stdout = os.pipe()
    child = fork_server().start(
        "chain.devnet", *arguments, environment=os.environ, files=[stdin, stdout, 2]
    )
    os.close(stdin)
    os.close(stdout)
    try:
        with os.fdopen(ready, "rb") as lines:
            while (chain := read_line(lines.readline())) is None:
                pass
            yield chain
    finally:
        os.close(ending)
        if child.ended(_PATIENCE) is None:
            child.kill()
