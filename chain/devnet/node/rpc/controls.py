"""Steering the chain in tests: mining, time, snapshots, reorgs, irregular state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.devnet.node.rpc.faults import invalid
from chain.devnet.node.rpc.fields import (
    address,
    array,
    data,
    flag,
    nonce,
    number,
    optional,
    slot,
    table,
    word,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chain.devnet.node.node import Node
    from chain.devnet.node.rpc.faults import Json
    from chain.devnet.node.rpc.fields import Params

MAX_BLOCKS_AT_ONCE = 10_000


def mine(node: Node, params: Params) -> Json:
    """`evm_mine`: one block, at a time if given; or `{timestamp, blocks}` as anvil takes it."""
    order = params.maybe(lambda value: value, None)
    if isinstance(order, dict):
        fields = table(order)
        timestamp = optional(fields, "timestamp", number)
        blocks = optional(fields, "blocks", number)
        _mine_several(node, 1 if blocks is None else blocks, timestamp, None)
    else:
        node.mine(timestamp=None if order is None else number(order))
    return "0x0"


def mine_many(node: Node, params: Params) -> Json:
    """`anvil_mine` and `hardhat_mine`: a number of blocks, a number of seconds apart."""
    blocks = params.maybe(number, 1)
    _mine_several(node, blocks, None, params.maybe(number, None))
    return None


def _mine_several(node: Node, blocks: int, timestamp: int | None, interval: int | None) -> None:
    if blocks > MAX_BLOCKS_AT_ONCE:
        raise invalid(f"too many blocks, want at most {MAX_BLOCKS_AT_ONCE}")
    for position in range(blocks):
        if position and interval is not None:
            timestamp = node.ledger.head.timestamp + interval
        node.mine(timestamp=timestamp)
        timestamp = None


def set_automine(node: Node, params: Params) -> Json:
    node.automine = params.take(flag)
    return True


def increase_time(node: Node, params: Params) -> Json:
    return node.increase_time(params.take(number))


def set_next_timestamp(node: Node, params: Params) -> Json:
    node.set_next_timestamp(params.take(number))
    return None


def snapshot(node: Node, _params: Params) -> Json:
    return hex(node.snapshot())


def revert(node: Node, params: Params) -> Json:
    return node.revert(params.take(number))


def reorg(node: Node, params: Params) -> Json:
    depth = params.take(number)
    if params.maybe(array, []):
        raise invalid("a reorg here leaves empty blocks: send the transactions again after it")
    node.reorg(depth)
    return None


def rollback(node: Node, params: Params) -> Json:
    node.rollback(params.maybe(number, 1))
    return None


def drop_transaction(node: Node, params: Params) -> Json:
    wanted = params.take(word)
    return wanted if node.pool.drop(wanted) else None


def drop_all(node: Node, _params: Params) -> Json:
    node.pool.clear()
    return None


def set_balance(node: Node, params: Params) -> Json:
    node.ledger.set_balance(params.take(address), params.take(number))
    return None


def set_nonce(node: Node, params: Params) -> Json:
    node.ledger.set_nonce(params.take(address), params.take(nonce))
    return None


def set_code(node: Node, params: Params) -> Json:
    node.ledger.set_code(params.take(address), params.take(data))
    return None


def set_storage_at(node: Node, params: Params) -> Json:
    node.ledger.set_storage(params.take(address), params.take(slot), params.take(slot))
    return True


METHODS: Mapping[str, Callable[[Node, Params], Json]] = {
    "evm_mine": mine,
    "evm_setAutomine": set_automine,
    "evm_increaseTime": increase_time,
    "evm_setNextBlockTimestamp": set_next_timestamp,
    "evm_snapshot": snapshot,
    "evm_revert": revert,
    "anvil_reorg": reorg,
    "anvil_rollback": rollback,
    "anvil_dropAllTransactions": drop_all,
    "anvil_getAutomine": lambda node, _params: node.automine,
} | {
    f"{tool}_{name}": method
    for tool in ("anvil", "hardhat")
    for name, method in {
        "mine": mine_many,
        "dropTransaction": drop_transaction,
        "setBalance": set_balance,
        "setNonce": set_nonce,
        "setCode": set_code,
        "setStorageAt": set_storage_at,
    }.items()
}
