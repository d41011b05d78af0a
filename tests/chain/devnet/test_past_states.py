"""States of past blocks: bounded in bytes, and those in which positions changed go last."""

import tempfile
from pathlib import Path

import pytest

from chain.devnet.anvil import running_anvil
from chain.devnet.json_rpc import NodeClient, NodeRefusedError
from chain.devnet.past_states import thin_states

TRADER, PERSON, NOBODY = ("0x" + digit * 40 for digit in "abc")
EVENT = 40
BLOCKS = 600
"""More than Anvil keeps in memory."""


def _send(node: NodeClient, sender: str) -> None:
    node.ask("anvil_setBalance", sender, hex(10**18))
    node.ask("anvil_impersonateAccount", sender)
    node.ask("eth_sendTransaction", {"from": sender, "to": NOBODY, "value": "0x1"})
    node.ask("evm_mine")


def _has_state(node: NodeClient, number: int) -> bool:
    try:
        node.ask("eth_getBalance", NOBODY, hex(number))
    except NodeRefusedError:
        return False
    return True


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("0x*.json"))


def test_they_are_thinned_to_a_size_and_changes_by_people_can_still_be_looked_back_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with (
        running_anvil(("--accounts", "0", "--no-mining"), market=[TRADER]) as anvil,
        NodeClient(anvil.url) as node,
    ):
        node.ask_all([("evm_mine", ())] * (EVENT - 1))
        _send(node, PERSON)
        _send(node, TRADER)
        node.ask_all([("evm_mine", ())] * BLOCKS)
        assert all(_has_state(node, number) for number in range(EVENT))
        (folder,) = tmp_path.glob("zuno-run-anvil-*/home")
        before, most = _bytes(folder), _bytes(folder) // 3

        thin_states(folder, node, [TRADER], most)

        assert 0 < _bytes(folder) <= most < before
        assert _has_state(node, EVENT)
        assert _has_state(node, EVENT - 1)
        older, newer = range(BLOCKS // 2), range(BLOCKS // 2, BLOCKS)
        known = [sum(_has_state(node, number) for number in half) for half in (older, newer)]
        assert 2 < known[0] < known[1], "the older, the sparser"

        thin_states(folder, node, [TRADER], 1)

        assert _bytes(folder) <= 1
