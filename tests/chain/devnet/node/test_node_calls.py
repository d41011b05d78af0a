"""Calls, estimates and state overrides, and the words for what goes wrong in them."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import pytest
from eth import EVM_RECURSION_LIMIT

from chain.contracts import abi
from chain.devnet.node.records import from_hex, to_hex
from chain.devnet.node.rpc import messages
from tests.chain.devnet.node.kit import (
    ALICE,
    BLOCKHASH,
    COUNTER,
    ECHO,
    ETHER,
    FORWARD,
    GASEOUS,
    INIT_CODE,
    INVALID,
    LOOP,
    NESTS_DEEP,
    NOBODY,
    RECURSE,
    REVERT,
    STORE,
    FaultError,
    signed,
    word,
)

if TYPE_CHECKING:
    from tests.chain.devnet.node.kit import Client

CUSTOM_ERROR = abi.selector("Refused(uint256)") + abi.encode(["uint256"], [7])
TEXT_ERROR = abi.selector("Error(string)") + abi.encode(["string"], ["no \x1b[31m way"])
PANIC = abi.selector("Panic(uint256)") + abi.encode(["uint256"], [0x11])


def _pairs(*points: tuple[int, ...]) -> str:
    return "0x" + "".join(f"{number:0128x}" for point in points for number in point)


def test_the_pairing_of_bls12_381_is_there_when_a_contract_asks_for_it(
    rpc: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chain.devnet.node.rpc.calls.CALL_SECONDS", 60.0)
    g1 = (
        0x17F1D3A73197D7942695638C4FA9AC0FC3688C4F9774B905A14E3A3F171BAC586C55E83FF97A1AEFFB3AF00ADB22C6BB,
        0x08B3F481E3AAA0F1A09E30ED741D8AE4FCF5E095D5D00AF600DB18CB2C04B3EDD03CC744A2888AE40CAA232946C5E7E1,
    )
    field = 0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB  # noqa: E501
    g2 = (
        0x024AA2B2F08F0A91260805272DC51051C6E47AD4FA403B02B4510B647AE3D1770BAC0326A805BBEFD48056C8C121BDB8,
        0x13E02B6052719F607DACD3A088274F65596BD0D09920B61AB5DA61BBDC7F5049334CF11213945D57E5AC7D055D042B7E,
        0x0CE5D527727D6E118CC9CDC6DA2E351AADFD9BAA8CBDD3A76D429A695160D12C923AC9CC3BACA289E193548608B82801,
        0x0606C4A02EA734CC32ACD2B02BC28B99CB3E287E85A763AF267492AB572E99AB3F370D275CEC1DA1AAA9075FF05F79BE,
    )
    negative = (g1[0], field - g1[1])
    precompile = "0x000000000000000000000000000000000000000f"

    one = rpc("eth_call", {"to": precompile, "data": _pairs(g1, g2)}, "latest")
    cancelled = rpc("eth_call", {"to": precompile, "data": _pairs(g1, g2, negative, g2)}, "latest")

    assert int(one, 16) == 0
    assert int(cancelled, 16) == 1


def test_calls_take_data_or_input(rpc: Client) -> None:
    assert rpc("eth_call", {"to": ECHO, "data": "0x1234"}) == "0x1234"
    assert rpc("eth_call", {"to": ECHO, "input": "0x1234"}) == "0x1234"
    assert rpc("eth_call", {"to": ECHO, "input": "0x12", "data": "0x12"}, "pending") == "0x12"
    with pytest.raises(FaultError, match='"data" and "input"'):
        rpc("eth_call", {"to": ECHO, "input": "0x12", "data": "0x34"})


def test_a_call_leaves_no_trace(rpc: Client) -> None:
    assert [rpc("eth_call", {"to": COUNTER}) for _ in range(3)] == [word(42)] * 3
    assert rpc.count() == 41


def test_a_poor_sender_may_call(rpc: Client) -> None:
    assert rpc("eth_call", {"from": NOBODY, "to": COUNTER, "nonce": "0x9"}) == word(42)
    with pytest.raises(FaultError, match="insufficient funds for gas"):
        rpc("eth_call", {"from": NOBODY, "to": COUNTER, "value": "0x1"})
    with pytest.raises(FaultError, match="insufficient funds for gas"):
        rpc("eth_call", {"from": NOBODY, "to": COUNTER, "gas": "0x5208", "gasPrice": hex(10**9)})
    with pytest.raises(FaultError, match="less than block base fee"):
        rpc("eth_call", {"from": ALICE, "to": COUNTER, "gas": "0xffff", "gasPrice": "0x1"})
    with pytest.raises(FaultError, match="both gasPrice and"):
        rpc("eth_call", {"to": COUNTER, "gasPrice": "0x1", "maxFeePerGas": "0x1"})


def test_a_call_can_try_a_creation(rpc: Client) -> None:
    assert rpc("eth_call", {"data": to_hex(INIT_CODE)}) == "0x602a60005260206000f3"


def test_a_custom_error_arrives_with_its_data(rpc: Client) -> None:
    with pytest.raises(FaultError, match=r"^execution reverted$") as caught:
        rpc("eth_call", {"to": REVERT, "data": to_hex(CUSTOM_ERROR)})
    assert (caught.value.code, caught.value.data) == (3, to_hex(CUSTOM_ERROR))
    with pytest.raises(FaultError) as caught:
        rpc("eth_estimateGas", {"to": REVERT, "data": to_hex(CUSTOM_ERROR)})
    assert (caught.value.code, caught.value.data) == (3, to_hex(CUSTOM_ERROR))


def test_a_reason_is_part_of_the_message(rpc: Client) -> None:
    with pytest.raises(FaultError) as caught:
        rpc("eth_call", {"to": REVERT, "data": to_hex(TEXT_ERROR)})
    assert caught.value.message == "execution reverted: no \x1b[31m way"
    assert caught.value.data == to_hex(TEXT_ERROR)
    with pytest.raises(FaultError, match="execution reverted: arithmetic underflow or overflow"):
        rpc("eth_call", {"to": REVERT, "data": to_hex(PANIC)})
    with pytest.raises(FaultError, match=r"^execution reverted$"):
        rpc("eth_call", {"to": REVERT, "data": to_hex(TEXT_ERROR[:40])})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({"to": INVALID}, "invalid opcode"),
        ({"to": LOOP, "gas": hex(100_000)}, "out of gas"),
        (
            {"to": ECHO, "gas": hex(20_000)},
            "intrinsic gas too low: gas 20000, minimum needed 21000",
        ),
        ({"to": ECHO, "gas": hex(40_000), "data": "0x" + "11" * 1000}, "floor data gas cost"),
        ({"data": "0x" + "00" * 49_153}, "max initcode size exceeded"),
    ],
)
def test_failures_are_in_the_words_of_geth(rpc: Client, call: dict[str, str], words: str) -> None:
    with pytest.raises(FaultError, match=words) as caught:
        rpc("eth_call", call)
    assert caught.value.code == -32000


def test_a_runaway_call_is_stopped_and_the_node_goes_on(
    rpc: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chain.devnet.node.rpc.calls.CALL_SECONDS", 0.3)
    began = time.monotonic()
    with pytest.raises(FaultError, match="execution aborted"):
        rpc("eth_call", {"to": LOOP})
    assert time.monotonic() - began < 3
    assert rpc("eth_call", {"to": COUNTER}) == word(42)
    with pytest.raises(FaultError, match="execution aborted"):
        rpc("eth_call", {"to": LOOP}, "pending")
    assert rpc("eth_call", {"to": COUNTER}, "pending") == word(42)


def test_a_call_may_use_more_gas_than_a_block(rpc: Client) -> None:
    """The reads of 500 positions in one call take some 15 M gas; 50 M are allowed."""
    assert messages.CALL_GAS_CAP == 50_000_000
    assert rpc("eth_call", {"to": ECHO, "gas": hex(10**12)}) == "0x"


@NESTS_DEEP
def test_calls_nest_as_deep_as_gas_allows(rpc: Client) -> None:
    assert rpc("eth_call", {"to": RECURSE}) == "0x"


def test_code_sees_the_block_it_is_asked_at(rpc: Client) -> None:
    rpc("anvil_mine", 3)
    hashes = [rpc("eth_getBlockByNumber", hex(number), False)["hash"] for number in range(4)]
    assert rpc("eth_call", {"to": BLOCKHASH}, "0x2") == hashes[1]
    assert rpc("eth_call", {"to": BLOCKHASH}, "latest") == hashes[2]
    assert rpc("eth_call", {"to": BLOCKHASH}, "pending") == hashes[3]


def test_overrides_change_what_a_call_sees(rpc: Client) -> None:
    def counted(override: object) -> str:
        return str(rpc("eth_call", {"to": COUNTER}, "latest", {COUNTER: override}))

    assert counted({"stateDiff": {word(0): word(99)}}) == word(100)
    assert counted({"state": {word(5): word(1)}}) == word(1)
    assert counted({"code": "0x602b5f5260205ff3"}) == word(43)
    rich = {NOBODY: {"balance": hex(ETHER), "nonce": "0x5"}}
    call = {"from": NOBODY, "to": COUNTER, "value": hex(ETHER)}
    assert rpc("eth_call", call, "latest", rich) == word(42)
    assert rpc("eth_call", call, "pending", rich) == word(42)
    with pytest.raises(FaultError, match="both 'state' and 'stateDiff'"):
        counted({"state": {}, "stateDiff": {}})
    with pytest.raises(FaultError, match="unknown field 'balances'"):
        counted({"balances": "0x1"})
    with pytest.raises(FaultError, match="is not a nonce"):
        counted({"nonce": hex(2**64)})
    assert rpc("eth_call", {"to": COUNTER}) == word(42)


def test_an_estimate_is_enough_and_barely_more(rpc: Client) -> None:
    calls = [
        ({"from": ALICE, "to": COUNTER}, signed(nonce=0, gas=500_000)),
        (
            {"from": ALICE, "to": STORE, "data": word(1) + word(5)[2:]},
            signed(nonce=1, to=STORE, data=from_hex(word(1) + word(5)[2:]), gas=500_000),
        ),
        (  # clearing a slot earns a refund, which comes only after the gas was there to spend
            {"from": ALICE, "to": STORE, "data": word(1) + word(0)[2:]},
            signed(nonce=2, to=STORE, data=from_hex(word(1) + word(0)[2:]), gas=500_000),
        ),
        (
            {"from": ALICE, "to": FORWARD, "value": "0x5"},
            signed(nonce=3, to=FORWARD, value=5, gas=500_000),
        ),
        ({"from": ALICE, "to": NOBODY, "value": "0x5"}, signed(nonce=4, to=NOBODY, value=5)),
    ]
    for call, transaction in calls:
        estimate = int(rpc("eth_estimateGas", call), 16)
        assert rpc("eth_call", {**call, "gas": hex(estimate)}) is not None
        used = int(rpc.receipt(rpc.send(transaction))["gasUsed"], 16)
        assert used <= estimate <= used * 1.27 + 2_400


def test_a_plain_transfer_is_estimated_exactly(rpc: Client) -> None:
    call = {"from": ALICE, "to": NOBODY, "value": "0x5"}
    assert rpc("eth_estimateGas", call) == hex(21_000)


def test_an_estimate_finds_gas_that_is_only_looked_at(rpc: Client) -> None:
    estimate = int(rpc("eth_estimateGas", {"to": GASEOUS}), 16)
    assert 221_000 <= estimate < 230_000


def test_an_estimate_refuses_what_cannot_be_paid(rpc: Client) -> None:
    with pytest.raises(FaultError, match="gas required exceeds allowance"):
        rpc("eth_estimateGas", {"from": NOBODY, "to": ECHO, "gasPrice": hex(10**9)})
    with pytest.raises(FaultError, match="gas required exceeds allowance"):
        rpc("eth_estimateGas", {"to": LOOP, "gas": hex(100_000)})


def test_no_library_leaves_python_to_call_deeper_than_the_machine_needs() -> None:
    assert sys.getrecursionlimit() == EVM_RECURSION_LIMIT
