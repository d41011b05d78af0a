"""web3.py as a client: what people's own scripts will use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_account import Account
from web3 import HTTPProvider, Web3
from web3.exceptions import ContractCustomError, ContractLogicError, TransactionNotFound

from chain.base.units import GWEI
from chain.contracts import abi
from tests.chain.devnet.node.kit import ALICE_KEY, COUNTER, INIT_CODE, LOGGER, REVERT, word

if TYPE_CHECKING:
    from tests.chain.devnet.node.kit import Client

CUSTOM_ERROR = abi.selector("Refused(uint256)") + abi.encode(["uint256"], [7])
TEXT_ERROR = abi.selector("Error(string)") + abi.encode(["string"], ["no way"])


@pytest.fixture
def web3(rpc: Client) -> Web3:
    return Web3(HTTPProvider(rpc.url))


def to_call(address: str, data: bytes = b"") -> Any:
    return {"to": Web3.to_checksum_address(address), "data": data}


def send(web3: Web3, **fields: object) -> Any:
    """Fill in, sign and send a transaction as the library's own middleware would."""
    account = Account.from_key(ALICE_KEY)
    transaction: Any = {
        "from": account.address,
        "chainId": web3.eth.chain_id,
        "nonce": web3.eth.get_transaction_count(account.address, "pending"),
        "maxFeePerGas": 2 * web3.eth.gas_price,
        "maxPriorityFeePerGas": web3.eth.max_priority_fee,
        "value": 0,
        **fields,
    }
    transaction["gas"] = web3.eth.estimate_gas(transaction)
    signed = account.sign_transaction(transaction)
    return web3.eth.wait_for_transaction_receipt(
        web3.eth.send_raw_transaction(signed.raw_transaction), timeout=5, poll_latency=0.05
    )


def test_deploys_calls_and_reads(web3: Web3) -> None:
    assert web3.is_connected()
    assert web3.eth.chain_id == 31337
    receipt = send(web3, data=INIT_CODE)
    assert receipt["status"] == 1
    assert web3.eth.call(to_call(receipt["contractAddress"])) == bytes(31) + b"\x2a"
    block: Any = web3.eth.get_block("latest", full_transactions=True)
    assert block["transactions"][0]["hash"] == receipt["transactionHash"]
    assert web3.eth.get_block(block["hash"])["number"] == block["number"] == 1
    assert web3.eth.get_transaction(receipt["transactionHash"])["blockNumber"] == 1
    with pytest.raises(TransactionNotFound):
        web3.eth.get_transaction("0x" + "77" * 32)  # type: ignore[arg-type]


def test_sees_old_blocks_logs_and_storage(web3: Web3) -> None:
    counter = Web3.to_checksum_address(COUNTER)
    for _ in range(2):
        send(web3, to=counter)
    assert int.from_bytes(web3.eth.get_storage_at(counter, 0, 1), "big") == 42
    wanted: Any = {"fromBlock": 0, "address": counter, "topics": [word(7)]}
    logs = web3.eth.get_logs(wanted)
    assert [log["blockNumber"] for log in logs] == [1, 2]
    assert web3.eth.get_block_receipts(2)[0]["logs"][0] == logs[1]
    get_proof: Any = web3.eth.get_proof
    proof = get_proof(counter, [0], "latest")
    assert int.from_bytes(proof["storageProof"][0]["value"], "big") == 43


def test_decodes_reverts(web3: Web3) -> None:
    with pytest.raises(ContractCustomError) as custom:
        web3.eth.call(to_call(REVERT, CUSTOM_ERROR))
    assert custom.value.data == "0x" + CUSTOM_ERROR.hex()
    with pytest.raises(ContractLogicError, match="no way"):
        web3.eth.call(to_call(REVERT, TEXT_ERROR))
    with pytest.raises(ContractCustomError):
        web3.eth.estimate_gas(to_call(REVERT, CUSTOM_ERROR))


def test_overrides_state_and_reads_fees(web3: Web3) -> None:
    counter = Web3.to_checksum_address(COUNTER)
    changed: Any = {counter: {"stateDiff": {word(0): word(99)}}}
    assert int.from_bytes(web3.eth.call(to_call(COUNTER), "latest", changed), "big") == 100
    history = web3.eth.fee_history(1, "latest", [50])
    assert history["baseFeePerGas"] == [GWEI, GWEI]
    assert history["reward"] == [[0]]


def test_simulates_a_sequence(web3: Web3) -> None:
    calls: Any = [to_call(COUNTER), to_call(COUNTER), to_call(LOGGER)]
    payload: Any = {"blockStateCalls": [{"calls": calls}], "validation": False}
    (block,) = web3.eth.simulate_v1(payload, "latest")
    data = [int.from_bytes(call["returnData"], "big") for call in block["calls"]]
    assert data == [42, 43, 0]
    assert [len(call["logs"]) for call in block["calls"]] == [1, 1, 1]


def test_batches(web3: Web3) -> None:
    with web3.batch_requests() as batch:
        batch.add(web3.eth.get_block("latest"))
        batch.add(web3.eth.get_block("earliest"))
        first, second = batch.execute()
    assert first == second
