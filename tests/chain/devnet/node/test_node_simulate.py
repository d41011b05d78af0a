"""`eth_simulateV1`: sequences that see their own writes and cost what they cost when mined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chain.base.units import GWEI
from chain.contracts import abi
from chain.devnet.node.records import from_hex, to_hex
from tests.chain.devnet.node.kit import (
    ALICE,
    BLOCKHASH,
    BOB,
    COUNTER,
    ECHO,
    ETHER,
    FORWARD,
    GENESIS_TIME,
    INIT_CODE,
    INVALID,
    LOOP,
    NOBODY,
    PAUPER,
    REVERT,
    STORE,
    FaultError,
    signed,
    word,
)

if TYPE_CHECKING:
    from tests.chain.devnet.node.kit import Client

TRANSFER = abi.topic("Transfer(address,address,uint256)")
FEES = {"maxFeePerGas": hex(2 * GWEI), "maxPriorityFeePerGas": hex(GWEI // 10)}


def simulate(rpc: Client, *blocks: object, at: object = "latest", **options: object) -> Any:
    return rpc("eth_simulateV1", {"blockStateCalls": list(blocks), **options}, at)


def padded(address: str) -> str:
    return "0x" + "00" * 12 + address[2:]


def test_later_calls_see_earlier_writes_and_nothing_stays(rpc: Client) -> None:
    calls = [{"from": ALICE, "to": COUNTER}] * 2
    first, second = simulate(rpc, {"calls": calls}, {"calls": calls})
    data = [call["returnData"] for block in (first, second) for call in block["calls"]]
    assert data == [word(42), word(43), word(44), word(45)]
    assert (first["number"], second["number"]) == ("0x1", "0x2")
    assert int(first["timestamp"], 16) == GENESIS_TIME + 12
    assert second["parentHash"] == first["hash"]
    log = first["calls"][1]["logs"][0]
    assert (log["logIndex"], log["transactionIndex"]) == ("0x1", "0x1")
    assert log["blockHash"] == first["hash"]
    assert log["transactionHash"] == first["transactions"][1]
    assert rpc.count() == 41
    assert rpc.height() == 0


def test_simulated_gas_is_mined_gas(rpc: Client) -> None:
    write, clear = (from_hex(word(1) + word(value)[2:]) for value in (5, 0))
    steps: list[tuple[dict[str, str], Any]] = [
        ({"to": COUNTER}, signed(nonce=0)),
        ({"to": STORE, "data": to_hex(write)}, signed(nonce=1, to=STORE, data=write)),
        ({"to": STORE, "data": to_hex(clear)}, signed(nonce=2, to=STORE, data=clear)),
        ({"to": FORWARD, "value": "0x5"}, signed(nonce=3, to=FORWARD, value=5)),
        ({"data": to_hex(INIT_CODE)}, signed(nonce=4, to=None, data=INIT_CODE)),
        ({"to": ECHO, "data": "0x" + "11" * 900}, signed(nonce=5, to=ECHO, data=b"\x11" * 900)),
        ({"to": REVERT, "data": "0x1234"}, signed(nonce=6, to=REVERT, data=b"\x12\x34")),
        ({"to": INVALID}, signed(nonce=7, to=INVALID)),
    ]
    calls = [{"from": ALICE, "gas": hex(100_000), **FEES, **call} for call, _ in steps]
    (block,) = simulate(rpc, {"calls": calls}, validation=True)
    rpc("evm_setAutomine", False)
    hashes = [rpc.send(transaction) for _, transaction in steps]
    rpc("evm_mine")
    mined = [rpc.receipt(item) for item in hashes]
    for field in ("gasUsed", "status"):
        assert [call[field] for call in block["calls"]] == [item[field] for item in mined]
    assert block["gasUsed"] == mined[-1]["cumulativeGasUsed"]
    real = rpc("eth_getBlockByNumber", "latest", False)
    assert block["stateRoot"] == real["stateRoot"]
    assert block["receiptsRoot"] == real["receiptsRoot"]


def test_a_failed_call_says_why_and_leaves_nothing(rpc: Client) -> None:
    error = abi.selector("Refused(uint256)") + abi.encode(["uint256"], [7])
    (block,) = simulate(
        rpc,
        {
            "calls": [
                {"to": REVERT, "data": to_hex(error)},
                {"to": LOOP, "gas": hex(50_000)},
                {"to": COUNTER},
            ]
        },
    )
    reverted, exhausted, counted = block["calls"]
    assert reverted["status"] == exhausted["status"] == "0x0"
    assert reverted["returnData"] == "0x"
    assert reverted["error"] == {"code": 3, "message": "execution reverted", "data": to_hex(error)}
    assert exhausted["error"] == {"code": -32015, "message": "out of gas"}
    assert counted["returnData"] == word(42)
    assert "error" not in counted


def test_ether_transfers_can_be_traced(rpc: Client) -> None:
    call = {"from": ALICE, "to": FORWARD, "value": "0x5"}
    (block,) = simulate(rpc, {"calls": [call]}, traceTransfers=True)
    logs = block["calls"][0]["logs"]
    assert [log["address"] for log in logs] == ["0x" + "ee" * 20] * 2
    assert [log["topics"] for log in logs] == [
        [TRANSFER, padded(ALICE), padded(FORWARD)],
        [TRANSFER, padded(FORWARD), padded(NOBODY)],
    ]
    assert [log["data"] for log in logs] == [word(5)] * 2
    (block,) = simulate(rpc, {"calls": [call]})
    assert block["calls"][0]["logs"] == []


@pytest.mark.filterwarnings("ignore:SELFDESTRUCT")
def test_a_selfdestruct_is_a_transfer_too(rpc: Client) -> None:
    end = {PAUPER: {"code": f"0x73{BOB[2:]}ff", "balance": "0x9"}}
    (block,) = simulate(
        rpc, {"stateOverrides": end, "calls": [{"to": PAUPER}]}, traceTransfers=True
    )
    (log,) = block["calls"][0]["logs"]
    assert log["topics"] == [TRANSFER, padded(PAUPER), padded(BOB)]
    assert log["data"] == word(9)


def test_state_and_block_can_be_overridden(rpc: Client) -> None:
    (gap, block) = simulate(
        rpc,
        {
            "blockOverrides": {
                "number": "0x2",
                "time": hex(GENESIS_TIME + 1000),
                "gasLimit": hex(1_000_000),
            },
            "stateOverrides": {
                COUNTER: {"stateDiff": {word(0): word(9)}},
                NOBODY: {"balance": hex(ETHER)},
            },
            "calls": [
                {"to": COUNTER},
                {"from": NOBODY, "to": BOB, "value": hex(ETHER)},
                {"to": BLOCKHASH},
            ],
        },
    )
    assert (gap["number"], gap["calls"]) == ("0x1", [])
    assert int(block["timestamp"], 16) == GENESIS_TIME + 1000
    assert [call["status"] for call in block["calls"]] == ["0x1"] * 3
    assert block["calls"][0]["returnData"] == word(10)
    assert block["calls"][2]["returnData"] == gap["hash"]


def test_storage_can_be_replaced_again_and_again(rpc: Client) -> None:
    count = {"calls": [{"to": COUNTER}] * 2}
    blocks = simulate(
        rpc,
        {"stateOverrides": {COUNTER: {"state": {word(0): word(7)}}}, **count},
        count,
        {"stateOverrides": {COUNTER: {"state": {}}}, **count},
        {"stateOverrides": {COUNTER: {"state": {word(0): word(70)}}}, **count},
    )
    data = [int(call["returnData"], 16) for block in blocks for call in block["calls"]]
    assert data == [8, 9, 10, 11, 1, 2, 71, 72]


def test_starts_from_an_old_block(rpc: Client) -> None:
    rpc.send(signed(nonce=0))
    (block,) = simulate(rpc, {"calls": [{"to": COUNTER}]}, at="0x0")
    assert block["calls"][0]["returnData"] == word(42)
    with pytest.raises(FaultError, match="header not found"):
        simulate(rpc, {"calls": []}, at="0x63")


def test_full_transactions_on_request(rpc: Client) -> None:
    (block,) = simulate(
        rpc, {"calls": [{"from": ALICE, "to": COUNTER}]}, returnFullTransactions=True
    )
    (transaction,) = block["transactions"]
    assert (transaction["from"], transaction["to"], transaction["nonce"]) == (ALICE, COUNTER, "0x0")


def test_validation_charges_for_gas(rpc: Client) -> None:
    call = {"from": ALICE, "to": COUNTER, "gas": hex(100_000), **FEES}
    (block,) = simulate(rpc, {"calls": [call, {**call, "nonce": "0x1"}]}, validation=True)
    assert [item["status"] for item in block["calls"]] == ["0x1", "0x1"]
    assert block["baseFeePerGas"] == hex(GWEI)


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        ({"nonce": "0x5", **FEES}, -38011, "nonce too high"),
        ({}, -38012, "max fee per gas less than block base fee"),
        ({"gas": hex(20_000), **FEES}, -38013, "intrinsic gas too low"),
        ({"value": hex(101 * ETHER), **FEES}, -38014, "insufficient funds"),
        ({"gas": hex(31_000_000), **FEES}, -38015, "block gas limit reached"),
    ],
)
def test_validation_refuses_what_a_block_would(
    rpc: Client, call: dict[str, str], code: int, words: str
) -> None:
    wanted = {"from": ALICE, "to": COUNTER, "gas": hex(100_000), **call}
    with pytest.raises(FaultError, match=words) as caught:
        simulate(rpc, {"calls": [wanted]}, validation=True)
    assert caught.value.code == code


def test_a_used_nonce_is_too_low(rpc: Client) -> None:
    rpc.send(signed(nonce=0))
    call = {"from": ALICE, "to": COUNTER, "nonce": "0x0", "gas": hex(100_000), **FEES}
    with pytest.raises(FaultError, match="nonce too low") as caught:
        simulate(rpc, {"calls": [call]}, validation=True)
    assert caught.value.code == -38010


@pytest.mark.parametrize(
    ("blocks", "code"),
    [
        ([], -32602),
        ([{"blockOverrides": {"number": "0x0"}}], -38020),
        ([{"blockOverrides": {"number": "0x200"}}], -38026),
        ([{"blockOverrides": {"time": hex(GENESIS_TIME)}}], -38021),
        ([{"blockOverrides": {"random": "0x1"}}], -32602),
        ([{"call": []}], -32602),
    ],
)
def test_impossible_sequences_are_refused(rpc: Client, blocks: list[Any], code: int) -> None:
    with pytest.raises(FaultError) as caught:
        simulate(rpc, *blocks)
    assert caught.value.code == code
