"""Finding transactions by hash and logs by address and topic without walking the chain."""

from __future__ import annotations

from bisect import bisect_left
from heapq import merge
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from chain.contracts.networks import Address
    from chain.devnet.node.records import MinedBlock, MinedLog

TopicFilter = tuple[frozenset[str] | None, ...]
"""One entry per position: the topics that match it, or None for any."""

_Key = tuple[int, str]
_ADDRESS = -1


class LogQuery(Struct, frozen=True):
    first_block: int
    last_block: int
    addresses: frozenset[Address] | None = None
    topics: TopicFilter = ()

    def matches(self, log: MinedLog) -> bool:
        if self.addresses is not None and log.address not in self.addresses:
            return False
        if len(self.topics) > len(log.topics):
            return False
        return all(
            wanted is None or topic in wanted
            for wanted, topic in zip(self.topics, log.topics, strict=False)
        )


class IndexPlace(Struct, frozen=True):
    block_number: int
    index: int


class Index:
    """Grows with each block and shrinks with a reorg; logs are numbered through the chain."""

    def __init__(self) -> None:
        self._places: dict[str, IndexPlace] = {}
        self._logs: list[MinedLog] = []
        self._first_log: list[int] = []
        self._postings: dict[_Key, list[int]] = {}

    def place(self, transaction_hash: str) -> IndexPlace | None:
        return self._places.get(transaction_hash)

    def add(self, block: MinedBlock) -> None:
        self._first_log.append(len(self._logs))
        for receipt in block.receipts:
            self._places[receipt.transaction_hash] = IndexPlace(
                receipt.block_number, receipt.transaction_index
            )
            for log in receipt.logs:
                for key in _keys(log):
                    self._postings.setdefault(key, []).append(len(self._logs))
                self._logs.append(log)

    def remove_last(self, block: MinedBlock) -> None:
        for receipt in reversed(block.receipts):
            del self._places[receipt.transaction_hash]
            for log in reversed(receipt.logs):
                self._logs.pop()
                for key in _keys(log):
                    self._postings[key].pop()
        self._first_log.pop()

    def logs(self, wanted: LogQuery) -> list[MinedLog]:
        first = self._position(wanted.first_block)
        end = self._position(wanted.last_block + 1)
        return [
            log
            for position in self._candidates(wanted, first, end)
            if wanted.matches(log := self._logs[position])
        ]

    def _position(self, block_number: int) -> int:
        if block_number >= len(self._first_log):
            return len(self._logs)
        return self._first_log[max(block_number, 0)]

    def _candidates(self, wanted: LogQuery, first: int, end: int) -> Iterable[int]:
        """The shortest list that holds every match: all logs in range, or one of the postings."""
        best: Iterable[int] = range(first, end)
        fewest = max(end - first, 0)
        for position, values in enumerate((wanted.addresses, *wanted.topics), start=_ADDRESS):
            if values is None:
                continue
            slices = [
                _between(self._postings.get((position, value), ()), first, end) for value in values
            ]
            if (count := sum(map(len, slices))) < fewest:
                best, fewest = merge(*slices), count
        return best


def _keys(log: MinedLog) -> list[_Key]:
    return [(_ADDRESS, log.address), *enumerate(log.topics)]


def _between(posting: Sequence[int], first: int, end: int) -> Sequence[int]:
    return posting[bisect_left(posting, first) : bisect_left(posting, end)]
