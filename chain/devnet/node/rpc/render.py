"""Blocks, transactions, receipts and logs as JSON-RPC writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA256, EMPTY_UNCLE_HASH

from chain.contracts.networks import NATIVE
from chain.devnet.node.block import block_size, bloom_of
from chain.devnet.node.records import ZERO_HASH, to_hex
from chain.devnet.node.transactions import LEGACY, SET_CODE, decode_transaction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chain.devnet.node.block import OpenBlock
    from chain.devnet.node.records import Header, MinedBlock, MinedLog, MinedReceipt
    from chain.devnet.node.rpc.faults import Json
    from chain.devnet.node.transactions import NodeTransaction

BLOOM_BYTES = 256


def header_to_json(header: Header) -> dict[str, Json]:
    return {
        "number": hex(header.number),
        "hash": header.hash,
        "parentHash": header.parent_hash,
        "nonce": "0x" + "00" * 8,
        "mixHash": ZERO_HASH,
        "sha3Uncles": to_hex(EMPTY_UNCLE_HASH),
        "logsBloom": bloom_to_json(header.logs_bloom),
        "stateRoot": header.state_root,
        "transactionsRoot": header.transactions_root,
        "receiptsRoot": header.receipts_root,
        "withdrawalsRoot": to_hex(BLANK_ROOT_HASH),
        "parentBeaconBlockRoot": ZERO_HASH,
        "requestsHash": to_hex(EMPTY_SHA256),
        "miner": NATIVE,
        "difficulty": "0x0",
        "extraData": "0x",
        "gasLimit": hex(header.gas_limit),
        "gasUsed": hex(header.gas_used),
        "timestamp": hex(header.timestamp),
        "baseFeePerGas": hex(header.base_fee_per_gas),
        "blobGasUsed": "0x0",
        "excessBlobGas": "0x0",
        "uncles": [],
        "withdrawals": [],
    }


def block_to_json(block: MinedBlock, *, full: bool) -> dict[str, Json]:
    transactions: list[Json]
    if full:
        transactions = [
            transaction_to_json(decode_transaction(raw), receipt, block.header)
            for raw, receipt in zip(block.transactions, block.receipts, strict=True)
        ]
    else:
        transactions = [receipt.transaction_hash for receipt in block.receipts]
    return {
        **header_to_json(block.header),
        "size": hex(block_size(block)),
        "transactions": transactions,
    }


def pending_to_json(opened: OpenBlock, *, full: bool) -> dict[str, Json]:
    """The block being filled: what only a sealed block has is null."""
    environment = opened.state.environment
    transactions = [inclusion.transaction for inclusion in opened.inclusions]
    return {
        "number": hex(environment.number),
        "hash": None,
        "parentHash": opened.parent_hash,
        "nonce": None,
        "miner": None,
        "logsBloom": None,
        "gasLimit": hex(environment.gas_limit),
        "gasUsed": hex(opened.gas_used),
        "timestamp": hex(environment.timestamp),
        "baseFeePerGas": hex(environment.base_fee_per_gas),
        "uncles": [],
        "withdrawals": [],
        "transactions": [
            transaction_to_json(transaction) if full else transaction.hash
            for transaction in transactions
        ],
    }


def transaction_to_json(
    transaction: NodeTransaction, receipt: MinedReceipt | None = None, header: Header | None = None
) -> dict[str, Json]:
    signed = transaction.signed
    base_fee = header.base_fee_per_gas if header else None
    fields: dict[str, Json] = {
        "blockHash": receipt.block_hash if receipt else None,
        "blockNumber": hex(receipt.block_number) if receipt else None,
        "transactionIndex": hex(receipt.transaction_index) if receipt else None,
        "hash": transaction.hash,
        "type": hex(transaction.kind),
        "from": transaction.sender,
        "to": transaction.to,
        "nonce": hex(transaction.nonce),
        "value": hex(transaction.value),
        "gas": hex(transaction.gas),
        "gasPrice": hex(
            transaction.max_fee_per_gas if base_fee is None else transaction.gas_price(base_fee)
        ),
        "input": to_hex(transaction.data),
        "r": hex(signed.r),
        "s": hex(signed.s),
    }
    if transaction.chain_id is not None:
        fields["chainId"] = hex(transaction.chain_id)
    if transaction.kind == LEGACY:
        return {**fields, "v": hex(_legacy_v(transaction))}
    fields |= {"v": hex(signed.y_parity), "yParity": hex(signed.y_parity)}
    fields["accessList"] = [
        {"address": to_hex(account), "storageKeys": [f"0x{key:064x}" for key in keys]}
        for account, keys in signed.access_list
    ]
    if transaction.is_dynamic_fee:
        fields["maxFeePerGas"] = hex(transaction.max_fee_per_gas)
        fields["maxPriorityFeePerGas"] = hex(transaction.max_priority_fee_per_gas)
    if transaction.kind == SET_CODE:
        fields["authorizationList"] = [
            {
                "chainId": hex(item.chain_id),
                "address": to_hex(item.address),
                "nonce": hex(item.nonce),
                "yParity": hex(item.y_parity),
                "r": hex(item.r),
                "s": hex(item.s),
            }
            for item in signed.authorization_list
        ]
    return fields


def _legacy_v(transaction: NodeTransaction) -> int:
    """EIP-155 writes the chain id into the parity of a legacy signature."""
    if transaction.chain_id is None:
        return 27 + transaction.signed.y_parity
    return 35 + 2 * transaction.chain_id + transaction.signed.y_parity


def receipt_to_json(receipt: MinedReceipt) -> dict[str, Json]:
    return {
        "transactionHash": receipt.transaction_hash,
        "transactionIndex": hex(receipt.transaction_index),
        "blockHash": receipt.block_hash,
        "blockNumber": hex(receipt.block_number),
        "from": receipt.sender,
        "to": receipt.to,
        "contractAddress": receipt.contract_address,
        "type": hex(receipt.transaction_type),
        "status": hex(receipt.success),
        "gasUsed": hex(receipt.gas_used),
        "cumulativeGasUsed": hex(receipt.cumulative_gas_used),
        "effectiveGasPrice": hex(receipt.effective_gas_price),
        "logs": logs_to_json(receipt.logs),
        "logsBloom": bloom_to_json(bloom_of(receipt.logs)),
    }


def logs_to_json(logs: Iterable[MinedLog]) -> list[Json]:
    return [
        {
            "address": log.address,
            "topics": list(log.topics),
            "data": to_hex(log.data),
            "blockNumber": hex(log.block_number),
            "blockHash": log.block_hash,
            "transactionHash": log.transaction_hash,
            "transactionIndex": hex(log.transaction_index),
            "logIndex": hex(log.log_index),
            "removed": False,
        }
        for log in logs
    ]


def bloom_to_json(bloom: int) -> str:
    return to_hex(bloom.to_bytes(BLOOM_BYTES, "big"))
