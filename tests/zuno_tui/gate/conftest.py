"""One embedded chain a worker for the tests of the gate; what a file did is taken back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.embedded_chain import embedded_chain
from tests.process_guard import opened_again
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk


@pytest.fixture(scope="session")
def _gate_chain() -> Iterator[DevnetReady]:
    with embedded_chain() as ready:
        yield ready


@pytest.fixture(scope="module")
def chain(_gate_chain: DevnetReady) -> Iterator[DevnetReady]:
    """To be changed by one file: approved, sent to, and mined on."""
    snapshot = node_rpc.ask(_gate_chain.url, "evm_snapshot")
    yield _gate_chain
    node_rpc.take_back(_gate_chain.url, snapshot)


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
