"""The command line as a person runs it: a process of its own, with a home of its own."""

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from tests.chain.moves import Moves
from tests.fork_server import fork_server
from tests.virtual_time import VirtualLoop
from tests.zuno_tui.drawing_on_demand import drawn_when_looked_at
from tests.zuno_tui.parsed_styles import styles_parsed_once


@dataclass(frozen=True)
class Spoken:
    code: int
    out: str
    words: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class CommandLine:
    home: Path

    def __call__(self, *arguments: str, **environment: str) -> Spoken:
        done = fork_server().run(
            "zuno_tui",
            *arguments,
            environment={**os.environ, "ZUNO_HOME": str(self.home), **environment},
        )
        return Spoken(done.returncode, done.stdout, done.stderr)


@pytest.fixture(autouse=True, scope="session")
def _styles_parsed_once() -> Iterator[None]:
    with styles_parsed_once():
        yield


@pytest.fixture(autouse=True)
def _drawn_on_demand(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("every_update") is not None:
        yield
        return
    with drawn_when_looked_at():
        yield


class _VirtualHere(asyncio.DefaultEventLoopPolicy):
    """A command that runs in the test's own thread waits on the virtual clock."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        here = threading.current_thread() is threading.main_thread()
        return VirtualLoop() if here else super().new_event_loop()


@pytest.fixture(autouse=True)
def _commands_wait_virtually(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.node.get_closest_marker("real_time") is not None:
        yield
        return
    asyncio.set_event_loop_policy(_VirtualHere())
    yield
    asyncio.set_event_loop_policy(None)


@pytest.fixture
def zuno(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "home")


@pytest.fixture
def on_devnet(devnet: DevnetReady) -> tuple[str, ...]:
    return ("--network", "devnet", "--rpc", devnet.url)


@pytest.fixture
def moves(devnet: DevnetReady) -> Iterator[Moves]:
    """What people do on the embedded chain, undone when the test is over."""
    with httpx2.Client(verify=False) as http:
        made = Moves(http, devnet.url, network_named("devnet"))
        with made.undone():
            yield made
