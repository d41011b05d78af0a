"""A desk at the embedded chain that all tests share: whatever a test does there is taken back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk


@contextmanager
def desk_at(
    devnet: DevnetReady, folder: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Desk]:
    desk = Desk(devnet, CommandLine(folder / "home"), capsys)
    before = desk.ask("evm_snapshot")
    yield desk
    node_rpc.take_back(devnet.url, before)


def applied(desk: Desk, approval: dict[str, Any], *, quoted: bool = True) -> dict[str, Any]:
    """What an approval really did, which must be what was shown, with nothing left behind.

    Where an endpoint cannot try all of it, nothing must have been shown.
    """
    spoken = desk.apply(approval["planId"], "--confirm", approval["hash"], "--json")
    assert spoken.code == 0, spoken.words
    result: dict[str, Any] = spoken.data
    assert approval["quoted"] == (result["realised"] if quoted else None)
    assert [one["step"] for one in result["transactions"]] == [
        one["step"] for one in approval["transactions"]
    ]
    contracts = desk.devnet.contracts
    for holder in (contracts.universal_router, contracts.position_manager):
        assert holder is not None
        assert [desk.held(holder, token) for token in approval["tokens"]] == [
            0 for _ in approval["tokens"]
        ]
    return result
