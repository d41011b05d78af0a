"""Mining on demand, time, snapshots, reorgs and irregular state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chain.base.units import GWEI
from tests.chain.devnet.node.kit import (
    ALICE,
    BOB_KEY,
    COUNTER,
    ETHER,
    GENESIS_TIME,
    INVALID,
    NOBODY,
    FaultError,
    signed,
    word,
)

if TYPE_CHECKING:
    from tests.chain.devnet.node.kit import Client


def head_time(rpc: Client) -> int:
    return int(rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)


def test_mines_blocks_on_demand(rpc: Client) -> None:
    assert rpc("evm_mine") == "0x0"
    assert (rpc.height(), head_time(rpc)) == (1, GENESIS_TIME + 12)
    rpc("evm_mine", GENESIS_TIME + 100)
    assert head_time(rpc) == GENESIS_TIME + 100
    rpc("evm_mine", {"timestamp": GENESIS_TIME + 200, "blocks": 3})
    assert (rpc.height(), head_time(rpc)) == (5, GENESIS_TIME + 224)
    rpc("anvil_mine", "0x3", 60)
    assert (rpc.height(), head_time(rpc)) == (8, GENESIS_TIME + 224 + 12 + 120)
    rpc("hardhat_mine")
    assert rpc.height() == 9
    with pytest.raises(FaultError, match="not later than the head"):
        rpc("evm_mine", GENESIS_TIME)
    with pytest.raises(FaultError, match="too many blocks"):
        rpc("anvil_mine", 10_001)
    assert rpc.height() == 9


def test_time_can_be_moved(rpc: Client) -> None:
    assert rpc("evm_increaseTime", 3600) == 3600
    assert rpc("evm_increaseTime", "0x3c") == 3660
    assert int(rpc("eth_getBlockByNumber", "pending", False)["timestamp"], 16) == (
        GENESIS_TIME + 12 + 3660
    )
    rpc("evm_mine")
    assert head_time(rpc) == GENESIS_TIME + 12 + 3660
    rpc("evm_mine")
    assert head_time(rpc) == GENESIS_TIME + 24 + 3660
    rpc("evm_setNextBlockTimestamp", GENESIS_TIME + 10_000)
    rpc.send(signed(nonce=0))
    assert head_time(rpc) == GENESIS_TIME + 10_000
    with pytest.raises(FaultError, match="not later than the head"):
        rpc("evm_setNextBlockTimestamp", GENESIS_TIME + 10_000)


def test_automining_can_be_switched_off(rpc: Client) -> None:
    assert rpc("anvil_getAutomine") is True
    rpc("evm_setAutomine", False)
    rpc.send(signed(nonce=0))
    assert rpc.height() == 0
    rpc("evm_mine")
    assert rpc.count() == 42


def test_a_revert_undoes_everything_since_the_snapshot(rpc: Client) -> None:
    rpc.send(signed(nonce=0))
    snapshot = rpc("evm_snapshot")
    before = rpc("eth_getBlockByNumber", "latest", False)
    rpc("evm_setAutomine", False)
    mined = rpc.send(signed(nonce=1))
    rpc("evm_mine")
    waiting = rpc.send(signed(nonce=2))
    rpc("anvil_setBalance", NOBODY, "0x5")
    rpc("evm_increaseTime", 500)
    assert rpc("evm_revert", snapshot) is True
    assert rpc("eth_getBlockByNumber", "latest", False) == before
    assert rpc.receipt(mined) is None
    assert rpc("eth_getTransactionByHash", mined) is None
    assert rpc("eth_getTransactionByHash", waiting) is None
    assert rpc.nonce(ALICE, "pending") == 1
    assert rpc.count() == 42
    assert rpc("eth_getBalance", NOBODY) == "0x0"
    rpc("evm_mine")
    assert head_time(rpc) == int(before["timestamp"], 16) + 12
    assert rpc("evm_revert", snapshot) is False


def test_a_revert_brings_back_what_was_waiting(rpc: Client) -> None:
    rpc("evm_setAutomine", False)
    waiting = rpc.send(signed(nonce=0))
    snapshot = rpc("evm_snapshot")
    rpc("evm_mine")
    assert rpc.receipt(waiting) is not None
    rpc("evm_revert", snapshot)
    assert rpc.receipt(waiting) is None
    assert rpc("eth_getTransactionByHash", waiting)["blockHash"] is None


def test_a_revert_spends_later_snapshots(rpc: Client) -> None:
    first = rpc("evm_snapshot")
    rpc("evm_mine")
    second = rpc("evm_snapshot")
    assert rpc("evm_revert", first) is True
    assert rpc("evm_revert", second) is False
    assert rpc("evm_revert", "0x63") is False


def test_a_snapshot_of_a_lost_block_cannot_be_reverted_to(rpc: Client) -> None:
    rpc.send(signed(nonce=0))
    snapshot = rpc("evm_snapshot")
    rpc("anvil_rollback")
    assert rpc("evm_revert", snapshot) is False
    assert rpc.height() == 0


def test_a_reorg_replaces_blocks_by_others_of_the_same_height(rpc: Client) -> None:
    hashes = [rpc.send(signed(nonce=nonce)) for nonce in range(3)]
    old = [rpc("eth_getBlockByNumber", hex(number), False)["hash"] for number in range(4)]
    rpc("anvil_reorg", 2)
    new = [rpc("eth_getBlockByNumber", hex(number), False)["hash"] for number in range(4)]
    assert rpc.height() == 3
    assert [ours == theirs for ours, theirs in zip(old, new, strict=True)] == [
        True,
        True,
        False,
        False,
    ]
    assert [rpc.receipt(item) is not None for item in hashes] == [True, False, False]
    assert rpc.nonce(ALICE) == 1
    assert rpc.send(signed(nonce=1)) == hashes[1]  # the same bytes, sent again, are mined again
    assert rpc.receipt(hashes[1])["blockNumber"] == "0x4"
    with pytest.raises(FaultError, match="does not fit"):
        rpc("anvil_reorg", 99)
    with pytest.raises(FaultError, match="send the transactions again"):
        rpc("anvil_reorg", 1, [["0x00", 0]])
    with pytest.raises(FaultError, match="no 99 blocks"):
        rpc("anvil_rollback", 99)


@pytest.mark.parametrize("tool", ["anvil", "hardhat"])
def test_state_can_be_set_and_lasts(rpc: Client, tool: str) -> None:
    rpc(f"{tool}_setBalance", NOBODY, hex(5 * ETHER))
    rpc(f"{tool}_setNonce", NOBODY, "0x7")
    rpc(f"{tool}_setCode", NOBODY, "0x602b5f5260205ff3")
    rpc(f"{tool}_setStorageAt", COUNTER, "0x0", word(100))
    for _ in range(2):
        assert rpc("eth_getBalance", NOBODY) == hex(5 * ETHER)
        assert rpc.nonce(NOBODY) == 7
        assert rpc("eth_call", {"to": NOBODY}) == word(43)
        assert rpc.count() >= 100
        rpc.send(signed(nonce=rpc.nonce(ALICE)))
    assert rpc.count() == 102


def test_the_base_fee_rises_with_full_blocks_and_falls_to_its_floor(rpc: Client) -> None:
    assert rpc("eth_gasPrice") == hex(GWEI + GWEI // 10)
    assert rpc("eth_maxPriorityFeePerGas") == hex(GWEI // 10)
    rpc.send(signed(nonce=0, to=INVALID, gas=30_000_000))
    rpc("evm_mine")
    rpc("evm_mine")
    history = rpc("eth_feeHistory", "0x3", "latest", [])
    assert [int(fee, 16) for fee in history["baseFeePerGas"]] == [
        GWEI,
        GWEI * 9 // 8,
        GWEI,
        GWEI,
    ]
    assert history["gasUsedRatio"] == [1, 0, 0]


def test_fee_history_weighs_tips_by_gas(rpc: Client) -> None:
    rpc("evm_setAutomine", False)
    rpc.send(signed(nonce=0, tip=5, to=INVALID, gas=30_000))
    rpc.send(signed(BOB_KEY, nonce=0, tip=9, to=INVALID, gas=90_000))
    rpc("evm_mine")
    rpc("evm_mine")
    history = rpc("eth_feeHistory", 2, "latest", [0, 20, 25, 26, 100])
    assert history["oldestBlock"] == "0x1"
    assert history["reward"] == [["0x5", "0x5", "0x5", "0x9", "0x9"], ["0x0"] * 5]
    assert len(history["baseFeePerGas"]) == 3
    assert history["gasUsedRatio"] == [120_000 / 30_000_000, 0]
    assert rpc("eth_feeHistory", "0x400", "0x1", [])["oldestBlock"] == "0x0"
    with pytest.raises(FaultError, match="beyond head"):
        rpc("eth_feeHistory", "0x1", "0x9", [])


def test_other_methods_can_be_plugged_in(rpc: Client) -> None:
    rpc("evm_mine")
    assert rpc("zuno_height") == 1
