"""Transactions waiting for a block: one queue of nonces per sender, the best tip first."""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.devnet.node.transactions import TransactionRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chain.contracts.networks import Address
    from chain.devnet.node.transactions import NodeTransaction

CAPACITY = 4096
REPLACEMENT_PERCENT = 110


class PendingTransaction(Struct, frozen=True):
    transaction: NodeTransaction
    arrival: int


class Mempool:
    def __init__(self) -> None:
        self._queues: dict[Address, dict[int, PendingTransaction]] = {}
        self._senders: dict[str, tuple[Address, int]] = {}
        self._arrivals = count()
        self.version = 0
        """Moves with every change, so that what was derived from the pool can be cached."""

    def __len__(self) -> int:
        return len(self._senders)

    def get(self, transaction_hash: str) -> NodeTransaction | None:
        place = self._senders.get(transaction_hash)
        return self._queues[place[0]][place[1]].transaction if place else None

    def add(self, transaction: NodeTransaction, *, nonce: int, balance: int) -> None:
        """Queue a transaction of a sender with this nonce and balance, or refuse it like geth."""
        if transaction.hash in self._senders:
            raise TransactionRefusedError("already known")
        if transaction.nonce < nonce:
            raise TransactionRefusedError(
                f"nonce too low: next nonce {nonce}, tx nonce {transaction.nonce}"
            )
        queue = self._queues.get(transaction.sender, {})
        replaced = queue.get(transaction.nonce)
        others = sum(item.transaction.cost for item in queue.values() if item is not replaced)
        if balance < others + transaction.cost:
            raise TransactionRefusedError(
                f"insufficient funds for gas * price + value: balance {balance}, "
                f"queued cost {others}, tx cost {transaction.cost}, "
                f"overshot {others + transaction.cost - balance}"
            )
        if replaced is not None:
            _refuse_underpriced(replaced.transaction, transaction)
            self.drop(replaced.transaction.hash)
        elif len(self) >= CAPACITY:
            raise TransactionRefusedError("txpool is full")
        self._place(PendingTransaction(transaction, next(self._arrivals)))

    def drop(self, transaction_hash: str) -> bool:
        place = self._senders.pop(transaction_hash, None)
        if place is None:
            return False
        sender, nonce = place
        del self._queues[sender][nonce]
        if not self._queues[sender]:
            del self._queues[sender]
        self.version += 1
        return True

    def clear(self) -> None:
        self.restore(())

    def forget_below(self, sender: Address, nonce: int) -> None:
        """Drop what a mined transaction made impossible."""
        for item in list(self._queues.get(sender, {}).values()):
            if item.transaction.nonce < nonce:
                self.drop(item.transaction.hash)

    def next_nonce(self, sender: Address, nonce: int) -> int:
        """The first nonce from this one on that no waiting transaction has taken."""
        queue = self._queues.get(sender, {})
        while nonce in queue:
            nonce += 1
        return nonce

    def ready(self, base_fee: int, nonce_of: Callable[[Address], int]) -> Iterator[NodeTransaction]:
        """What a block could hold, best tip first; gaps and fees below the base fee wait."""
        heap: list[tuple[int, int, PendingTransaction]] = []

        def offer(sender: Address, nonce: int) -> None:
            item = self._queues[sender].get(nonce)
            if item is not None and item.transaction.max_fee_per_gas >= base_fee:
                heapq.heappush(heap, (-item.transaction.tip(base_fee), item.arrival, item))

        for sender in self._queues:
            offer(sender, nonce_of(sender))
        while heap:
            transaction = heapq.heappop(heap)[2].transaction
            yield transaction
            offer(transaction.sender, transaction.nonce + 1)

    def all(self) -> list[NodeTransaction]:
        return [item.transaction for item in self.contents()]

    def contents(self) -> tuple[PendingTransaction, ...]:
        items = (item for queue in self._queues.values() for item in queue.values())
        return tuple(sorted(items, key=lambda item: item.arrival))

    def restore(self, contents: tuple[PendingTransaction, ...]) -> None:
        self._queues.clear()
        self._senders.clear()
        self.version += 1
        for item in contents:
            self._place(item)

    def _place(self, item: PendingTransaction) -> None:
        transaction = item.transaction
        self._queues.setdefault(transaction.sender, {})[transaction.nonce] = item
        self._senders[transaction.hash] = (transaction.sender, transaction.nonce)
        self.version += 1


def _refuse_underpriced(old: NodeTransaction, new: NodeTransaction) -> None:
    fees = (
        (old.max_fee_per_gas, new.max_fee_per_gas),
        (old.max_priority_fee_per_gas, new.max_priority_fee_per_gas),
    )
    if any(ours <= theirs or ours * 100 < theirs * REPLACEMENT_PERCENT for theirs, ours in fees):
        raise TransactionRefusedError("replacement transaction underpriced")
