"""The embedded chain in a process of its own, without loading libraries again."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Unpack

from chain.devnet.launch import DevnetChoices, DevnetReady, devnet_arguments, read_line
from tests.fork_server import fork_server

_PATIENCE = 10.0


@contextmanager
def embedded_chain(**choices: Unpack[DevnetChoices]) -> Iterator[DevnetReady]:
    """A chain for as long as the block lasts; it ends with us, however we end."""
    chosen: DevnetChoices = {"seed": 7, "world": "small", **choices}
    arguments = devnet_arguments(**chosen)
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
