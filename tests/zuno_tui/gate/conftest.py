"""The chain that all tests share, changed by a file of the gate; what it did is taken back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.process_guard import opened_again
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk


@pytest.fixture(scope="module")
def chain(devnet: DevnetReady) -> Iterator[DevnetReady]:
    """To be changed by one file: approved, sent to, and mined on."""
    snapshot = node_rpc.ask(devnet.url, "evm_snapshot")
    yield devnet
    node_rpc.take_back(devnet.url, snapshot)


@pytest.fixture(autouse=True)
def _open_process() -> Iterator[None]:
    with opened_again():
        yield


@pytest.fixture
def desk(chain: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    made = Desk(chain, CommandLine(tmp_path / "home"), capsys)
    made.command.home.mkdir(mode=0o700)
    snapshot = made.ask("evm_snapshot")
    yield made
    node_rpc.take_back(chain.url, snapshot)


@pytest.fixture
def delegated(desk: Desk) -> Desk:
    """Whose account carries orders out."""
    desk.delegate()
    return desk
