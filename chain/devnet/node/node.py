"""A chain one can send to: pending pool, mining on demand, time control, snapshots and reorgs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.devnet.node.mempool import Mempool
from chain.devnet.node.transactions import (
    NodeTransaction,
    TransactionRefusedError,
    decode_transaction,
    refuse_unminable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from chain.contracts.networks import Address
    from chain.devnet.node.block import OpenBlock
    from chain.devnet.node.execution import BlockState
    from chain.devnet.node.ledger import ChainLedger
    from chain.devnet.node.mempool import PendingTransaction
    from chain.devnet.node.messages import Override
    from chain.devnet.node.records import MinedBlock

BLOCK_SECONDS = 12

logger = logging.getLogger(__name__)


class ControlRefusedError(ValueError):
    """A wish for the clock or the chain's length that cannot be granted."""


class Snapshot(Struct, frozen=True):
    head_hash: str
    root: bytes
    waiting: tuple[PendingTransaction, ...]
    seconds_ahead: int
    next_timestamp: int | None


class _PendingKey(Struct, frozen=True):
    head_hash: str
    root: bytes
    pool_version: int


class Node:
    def __init__(
        self,
        ledger: ChainLedger,
        *,
        block_time: Callable[[int], int] = lambda head_timestamp: head_timestamp + BLOCK_SECONDS,
        automine: bool = True,
    ) -> None:
        """`block_time` maps the head's time to the next block's, unless a caller names one."""
        self.ledger = ledger
        self.pool = Mempool()
        self.automine = automine
        self._block_time = block_time
        self._seconds_ahead = 0
        self._next_timestamp: int | None = None
        self._snapshots: dict[int, Snapshot] = {}
        self._snapshots_taken = 0
        self._pending: tuple[_PendingKey, OpenBlock] | None = None

    def send(self, raw: bytes) -> str:
        """Admit a signed transaction, and mine it at once when automining."""
        transaction = decode_transaction(raw)
        state = self.ledger.state()
        refuse_unminable(transaction, state.environment)
        self.pool.add(
            transaction,
            nonce=state.nonce(transaction.sender),
            balance=state.balance(transaction.sender),
        )
        if self.automine and any(self._ready()):
            self.mine()
        return transaction.hash

    def mine(
        self, *, timestamp: int | None = None, transactions: Sequence[NodeTransaction] = ()
    ) -> MinedBlock:
        """One block: the given transactions first, then what waits in the pool."""
        opened = self._fill(self._timestamp(timestamp), transactions)
        block = self.ledger.commit(opened)
        self._next_timestamp = None
        self._seconds_ahead = 0
        for inclusion in opened.inclusions:
            self.pool.forget_below(inclusion.transaction.sender, inclusion.transaction.nonce + 1)
        return block

    def next_nonce(self, address: Address) -> int:
        return self.pool.next_nonce(address, self.ledger.state().nonce(address))

    def pending(self) -> OpenBlock:
        """The block that would be mined now; it is rebuilt when head or pool have moved."""
        key = _PendingKey(self.ledger.head.hash, self.ledger.root(), self.pool.version)
        cached = self._pending
        if cached is None or cached[0] != key or cached[1].state.is_spoilt:
            opened = self._fill(self._timestamp(None), ())
            # Filling may have dropped transactions that can no longer pay.
            key = _PendingKey(key.head_hash, key.root, self.pool.version)
            self._pending = cached = (key, opened)
        return cached[1]

    def pending_state(self, overrides: Mapping[Address, Override] | None = None) -> BlockState:
        """The state after the block that would be mined now."""
        if not overrides:
            return self.pending().state
        state = self._fill(self._timestamp(None), ()).state
        state.override(overrides)
        return state

    def increase_time(self, seconds: int) -> int:
        """Move the next block this much further ahead."""
        self._seconds_ahead += seconds
        return self._seconds_ahead

    def set_next_timestamp(self, timestamp: int) -> None:
        self._refuse_past(timestamp)
        self._next_timestamp = timestamp

    def snapshot(self) -> int:
        self._snapshots_taken += 1
        self._snapshots[self._snapshots_taken] = Snapshot(
            head_hash=self.ledger.head.hash,
            root=self.ledger.root(),
            waiting=self.pool.contents(),
            seconds_ahead=self._seconds_ahead,
            next_timestamp=self._next_timestamp,
        )
        return self._snapshots_taken

    def revert(self, snapshot_id: int) -> bool:
        """Go back to a snapshot, which is spent by it, as are all later ones."""
        snapshot = self._snapshots.get(snapshot_id)
        if snapshot is None:
            return False
        for spent in [number for number in self._snapshots if number >= snapshot_id]:
            del self._snapshots[spent]
        number = self.ledger.block_number(snapshot.head_hash)
        if number is None:
            return False
        self.ledger.rewind(number)
        self.ledger.change_root(snapshot.root)
        self.pool.restore(snapshot.waiting)
        self._seconds_ahead = snapshot.seconds_ahead
        self._next_timestamp = snapshot.next_timestamp
        return True

    def reorg(self, depth: int) -> None:
        """Replace the last `depth` blocks by empty ones; their transactions are gone."""
        head = self.ledger.head.number
        if not 0 < depth <= head:
            raise ControlRefusedError(
                f"a reorg of depth {depth} does not fit a chain of {head} blocks"
            )
        timestamps = [
            self.ledger.block(number).header.timestamp
            for number in range(head - depth + 1, head + 1)
        ]
        self.ledger.rewind(head - depth)
        for timestamp in timestamps:
            # Equal content at an equal time would be the equal block: one second tells them apart.
            self.ledger.mine(timestamp=timestamp + 1)

    def rollback(self, depth: int) -> None:
        """Forget the last `depth` blocks."""
        if not 0 <= depth <= self.ledger.head.number:
            raise ControlRefusedError(f"there are no {depth} blocks to roll back")
        self.ledger.rewind(self.ledger.head.number - depth)

    def pending_hashes(self) -> frozenset[str]:
        """Which of the waiting transactions the next block would hold."""
        return frozenset(item.transaction.hash for item in self.pending().inclusions)

    def _timestamp(self, wanted: int | None) -> int:
        if wanted is None:
            wanted = self._next_timestamp
        if wanted is not None:
            self._refuse_past(wanted)
            return wanted
        head = self.ledger.head.timestamp
        return max(head + 1, self._block_time(head)) + self._seconds_ahead

    def _refuse_past(self, timestamp: int) -> None:
        if timestamp <= self.ledger.head.timestamp:
            raise ControlRefusedError(
                f"timestamp {timestamp} is not later than the head's {self.ledger.head.timestamp}"
            )

    def _ready(self) -> Iterator[NodeTransaction]:
        base_fee = self.ledger.next_environment(0).base_fee_per_gas
        return self.pool.ready(base_fee, self.ledger.state().nonce)

    def _fill(self, timestamp: int, transactions: Sequence[NodeTransaction]) -> OpenBlock:
        opened = self.ledger.open_block(timestamp=timestamp)
        for transaction in transactions:
            opened.add(transaction)
        stopped: set[Address] = set()
        for transaction in list(self.pool.ready(opened.base_fee, opened.state.nonce)):
            if transaction.sender in stopped:
                continue
            if transaction.gas > opened.gas_left:
                stopped.add(transaction.sender)
                continue
            try:
                opened.add(transaction)
            except TransactionRefusedError:
                # An earlier transaction of the sender spent what this one needs.
                stopped.add(transaction.sender)
                self.pool.drop(transaction.hash)
            except Exception:
                # A fault inside py-evm leaves the block half-changed: start over without the cause.
                logger.exception("Dropped %s, which the EVM could not run", transaction.hash)
                self.pool.drop(transaction.hash)
                return self._fill(timestamp, transactions)
        return opened
