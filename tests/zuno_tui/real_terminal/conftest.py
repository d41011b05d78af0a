"""A world each test may change at a real terminal: what it did is taken back."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.zuno_tui.real_terminal.ssh_server import SshServer, ssh_server

Node = Callable[..., Any]


@pytest.fixture
def node(devnet: DevnetReady) -> Iterator[Node]:
    """The embedded chain, mining as it is told to, and afterwards as it was."""

    def ask(method: str, *params: object) -> Any:
        return node_rpc.ask(devnet.url, method, *params)

    taken = ask("evm_snapshot")
    yield ask
    node_rpc.take_back(devnet.url, taken)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    if shutil.which("ssh") is None:
        pytest.skip("the real client is asked for: apt install openssh-client")
    folder = tmp_path / "keys"
    folder.mkdir()
    with ssh_server(folder) as running:
        yield running
