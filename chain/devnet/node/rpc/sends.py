"""Taking signed transactions in; this node holds no keys and signs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.devnet.node.rpc.fields import data
from chain.devnet.node.rpc.render import transaction_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from chain.devnet.node.node import Node
    from chain.devnet.node.rpc.faults import Json
    from chain.devnet.node.rpc.fields import Params
    from chain.devnet.node.transactions import NodeTransaction


def send_raw_transaction(node: Node, params: Params) -> Json:
    return node.send(params.take(data))


def pool_status(node: Node, _params: Params) -> Json:
    pending = len(node.pending_hashes())
    return {"pending": hex(pending), "queued": hex(len(node.pool) - pending)}


def pool_content(node: Node, _params: Params) -> Json:
    """Waiting transactions by sender and nonce: those the next block takes, and those that wait."""
    pending = node.pending_hashes()
    waiting = node.pool.all()
    return {
        "pending": _by_sender(item for item in waiting if item.hash in pending),
        "queued": _by_sender(item for item in waiting if item.hash not in pending),
    }


def _by_sender(transactions: Iterable[NodeTransaction]) -> Json:
    senders: dict[str, dict[str, Json]] = {}
    for transaction in transactions:
        of_sender = senders.setdefault(transaction.sender, {})
        of_sender[str(transaction.nonce)] = transaction_to_json(transaction)
    return {**senders}


METHODS: Mapping[str, Callable[[Node, Params], Json]] = {
    "eth_sendRawTransaction": send_raw_transaction,
    "txpool_status": pool_status,
    "txpool_content": pool_content,
}
