"""What the chain is: accounts, blocks, transactions, receipts and logs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from chain.devnet.node.index import LogQuery
from chain.devnet.node.proofs import account_proof
from chain.devnet.node.records import to_hex
from chain.devnet.node.rpc.faults import failed, invalid
from chain.devnet.node.rpc.fields import (
    address,
    array,
    flag,
    optional,
    quantity,
    slot,
    table,
    word,
)
from chain.devnet.node.rpc.references import (
    LATEST,
    Reference,
    height,
    number_or_tag,
    reference,
    state_at,
)
from chain.devnet.node.rpc.render import (
    block_to_json,
    logs_to_json,
    pending_to_json,
    receipt_to_json,
    transaction_to_json,
)
from chain.devnet.node.transactions import decode_transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chain.devnet.node.node import Node
    from chain.devnet.node.records import MinedBlock
    from chain.devnet.node.rpc.faults import Json
    from chain.devnet.node.rpc.fields import Params

CLIENT_VERSION = "zuno-devnet/py-evm/prague"
MAX_TOPICS = 4
MAX_PROOF_SLOTS = 1024


def get_balance(node: Node, params: Params) -> Json:
    account = params.take(address)
    state = state_at(node, params.maybe(reference, LATEST))
    return hex(state.balance(account))


def get_code(node: Node, params: Params) -> Json:
    account = params.take(address)
    state = state_at(node, params.maybe(reference, LATEST))
    return to_hex(state.code(account))


def get_storage_at(node: Node, params: Params) -> Json:
    account = params.take(address)
    wanted = params.take(slot)
    state = state_at(node, params.maybe(reference, LATEST))
    return f"0x{state.storage(account, wanted):064x}"


def get_transaction_count(node: Node, params: Params) -> Json:
    account = params.take(address)
    wanted = params.maybe(reference, LATEST)
    if wanted.is_pending:
        return hex(node.next_nonce(account))
    state = state_at(node, wanted)
    return hex(state.nonce(account))


def get_proof(node: Node, params: Params) -> Json:
    account = params.take(address)
    slots = [slot(item) for item in params.take(array)]
    if len(slots) > MAX_PROOF_SLOTS:
        raise invalid(f"too many slots, want at most {MAX_PROOF_SLOTS}")
    at = height(node, params.maybe(reference, LATEST))
    if at is None:
        raise failed("header not found")
    proof = account_proof(node.ledger.trie_nodes, node.ledger.root(at), account, slots)
    return {
        "address": account,
        "balance": hex(proof.balance),
        "nonce": hex(proof.nonce),
        "codeHash": to_hex(proof.code_hash),
        "storageHash": to_hex(proof.storage_hash),
        "accountProof": [to_hex(item) for item in proof.nodes],
        "storageProof": [
            {
                "key": hex(item.slot),
                "value": hex(item.value),
                "proof": [to_hex(entry) for entry in item.nodes],
            }
            for item in proof.storage
        ],
    }


def get_block_by_number(node: Node, params: Params) -> Json:
    wanted = params.take(number_or_tag)
    full = params.maybe(flag, default=False)
    if wanted.is_pending:
        return pending_to_json(node.pending(), full=full)
    block = _block(node, wanted)
    return block_to_json(block, full=full) if block else None


def get_block_by_hash(node: Node, params: Params) -> Json:
    block = _block(node, Reference(block_hash=params.take(word)))
    return block_to_json(block, full=params.maybe(flag, default=False)) if block else None


def get_block_receipts(node: Node, params: Params) -> Json:
    block = _block(node, params.take(reference))
    return [receipt_to_json(receipt) for receipt in block.receipts] if block else None


def count_transactions(read: Callable[[Json], Reference], node: Node, params: Params) -> Json:
    block = _block(node, params.take(read))
    return hex(len(block.transactions)) if block else None


def get_transaction_by_index(read: Callable[[Json], Reference], node: Node, params: Params) -> Json:
    block = _block(node, params.take(read))
    index = params.take(quantity)
    if block is None or index >= len(block.transactions):
        return None
    transaction = decode_transaction(block.transactions[index])
    return transaction_to_json(transaction, block.receipts[index], block.header)


def get_transaction_by_hash(node: Node, params: Params) -> Json:
    wanted = params.take(word)
    transaction = node.ledger.transaction(wanted)
    receipt = node.ledger.receipt(wanted)
    if transaction is not None and receipt is not None:
        header = node.ledger.block(receipt.block_number).header
        return transaction_to_json(transaction, receipt, header)
    waiting = node.pool.get(wanted)
    return transaction_to_json(waiting) if waiting else None


def get_raw_transaction(node: Node, params: Params) -> Json:
    wanted = params.take(word)
    transaction = node.ledger.transaction(wanted) or node.pool.get(wanted)
    return to_hex(transaction.raw) if transaction else None


def get_receipt(node: Node, params: Params) -> Json:
    receipt = node.ledger.receipt(params.take(word))
    return receipt_to_json(receipt) if receipt else None


def get_logs(node: Node, params: Params) -> Json:
    fields = params.take(table)
    first, last = _range(node, fields)
    addresses = fields.get("address")
    topics = array(fields.get("topics") or [])
    if len(topics) > MAX_TOPICS:
        raise invalid("exceed max topics")
    wanted = LogQuery(
        first_block=first,
        last_block=last,
        addresses=_any_of(addresses, address),
        topics=tuple(_any_of(item, word) for item in topics),
    )
    return logs_to_json(node.ledger.logs(wanted))


def _range(node: Node, fields: Mapping[str, Json]) -> tuple[int, int]:
    block_hash = optional(fields, "blockHash", word)
    first = optional(fields, "fromBlock", number_or_tag)
    last = optional(fields, "toBlock", number_or_tag)
    if block_hash is not None:
        if first or last:
            raise invalid("cannot specify both BlockHash and FromBlock/ToBlock, choose one")
        number = node.ledger.block_number(block_hash)
        if number is None:
            raise failed("unknown block")
        return number, number
    head = node.ledger.head.number
    if first and last and _is_backwards(first, last):
        raise failed("invalid block range params")
    begin, end = (height(node, item or LATEST) for item in (first, last))
    return head + 1 if begin is None else begin, head if end is None else end


def _is_backwards(first: Reference, last: Reference) -> bool:
    """Only two numbers can be: a cursor just beyond the head may well ask up to `latest`."""
    return first.number is not None and last.number is not None and first.number > last.number


def _any_of(value: Json, read: Callable[[Json], str]) -> frozenset[str] | None:
    """What a filter position accepts; null and the empty list accept everything."""
    if value is None or value == []:
        return None
    return frozenset(map(read, value) if isinstance(value, list) else [read(value)])


def _block(node: Node, wanted: Reference) -> MinedBlock | None:
    number = height(node, wanted)
    return None if number is None else node.ledger.block(number)


def _by_hash(value: Json) -> Reference:
    return Reference(block_hash=word(value))


METHODS: Mapping[str, Callable[[Node, Params], Json]] = {
    "eth_accounts": lambda _node, _params: [],
    "eth_blockNumber": lambda node, _params: hex(node.ledger.head.number),
    "eth_chainId": lambda node, _params: hex(node.ledger.chain_id),
    "eth_syncing": lambda _node, _params: False,
    "net_listening": lambda _node, _params: True,
    "net_version": lambda node, _params: str(node.ledger.chain_id),
    "web3_clientVersion": lambda _node, _params: CLIENT_VERSION,
    "eth_getBalance": get_balance,
    "eth_getCode": get_code,
    "eth_getStorageAt": get_storage_at,
    "eth_getTransactionCount": get_transaction_count,
    "eth_getProof": get_proof,
    "eth_getBlockByNumber": get_block_by_number,
    "eth_getBlockByHash": get_block_by_hash,
    "eth_getBlockReceipts": get_block_receipts,
    "eth_getBlockTransactionCountByNumber": partial(count_transactions, number_or_tag),
    "eth_getBlockTransactionCountByHash": partial(count_transactions, _by_hash),
    "eth_getTransactionByBlockNumberAndIndex": partial(get_transaction_by_index, number_or_tag),
    "eth_getTransactionByBlockHashAndIndex": partial(get_transaction_by_index, _by_hash),
    "eth_getTransactionByHash": get_transaction_by_hash,
    "eth_getRawTransactionByHash": get_raw_transaction,
    "eth_getTransactionReceipt": get_receipt,
    "eth_getLogs": get_logs,
}
