"""Logs over any number of blocks, in ranges as wide as the node allows."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chain.read.block_reader import expected
from chain.rpc import requests
from chain.rpc.errors import RangeTooWide, RpcError, TimedOut, TooLarge
from chain.rpc.records import Block, LogFilter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from chain.contracts.networks import Address
    from chain.rpc.client import RpcClient
    from chain.rpc.records import Log
    from chain.rpc.requests import Request

Topics = tuple[str | tuple[str, ...] | None, ...]
"""What a log must carry, by place; several mean any of them."""

NARROWABLE = (RangeTooWide, TooLarge, TimedOut)
"""Refusals that a smaller range may overcome."""

_STEADY = 2
"""Ranges answered in a row before a wider one is tried, up to the node's own limit."""

_RANGES_AT_ONCE = 4

_PATIENT = 50
"""The same at a limit that was only guessed: where logs are fewer it may lie higher."""

MANY_LOGS = 3_000
"""Ranges are made narrower where one holds more, so that memory and answers stay small."""


class Width(Struct, frozen=True):
    """How many blocks to ask for at once, learned from what the node refuses."""

    blocks: int
    ceiling: int
    """The node refused wider ranges than this."""
    firm: bool = False
    """Whether it named the limit itself."""
    answered: int = 0

    def ranges(self, first: int, last: int) -> list[tuple[int, int]]:
        """The next ranges to ask for in one request: several once the width has proved good."""
        count = _RANGES_AT_ONCE if self.answered else 1
        starts = range(first, last + 1, self.blocks)[:count]
        return [(start, min(last, start + self.blocks - 1)) for start in starts]

    def after_answer(self, found: int = 0) -> Width:
        if found > MANY_LOGS:
            return replace(self, blocks=max(1, self.blocks // 2), answered=0)
        if 2 * found > MANY_LOGS:
            return replace(self, answered=1)
        answered = self.answered + 1
        if self.blocks < self.ceiling and answered >= _STEADY:
            return replace(self, blocks=min(self.blocks * 2, self.ceiling), answered=0)
        if self.blocks == self.ceiling and answered >= _PATIENT and not self.firm:
            return replace(self, blocks=self.blocks * 2, ceiling=self.ceiling * 2, answered=0)
        return replace(self, answered=answered)

    def after_refusal(self, refusal: RpcError, asked: int) -> Width:
        half = max(1, asked // 2)
        if not isinstance(refusal, RangeTooWide):
            # Too many logs, or too slow: a quieter stretch of the chain may bear more again.
            return replace(self, blocks=half, answered=0)
        if refusal.suggested_span is not None and 0 < refusal.suggested_span < asked:
            return Width(refusal.suggested_span, ceiling=refusal.suggested_span, firm=True)
        if refusal.suggested is not None:
            first, last = refusal.suggested
            half = min(half, last - first + 1) if last >= first else half
        return Width(half, ceiling=half)


class ScannedRange(Struct, frozen=True):
    last: Block
    logs: tuple[Log, ...]
    """In chain order, each once, whichever of the filters caught it."""


class ScanProgress(Struct, frozen=True):
    first: int
    last: int
    scanned: int
    """The last block that has been read."""
    found: int

    @property
    def fraction(self) -> float:
        return (self.scanned - self.first + 1) / max(1, self.last - self.first + 1)


async def scan_logs(
    client: RpcClient,
    address: Address,
    filters: Sequence[Topics],
    first: int,
    last: int,
    *,
    blocks_at_first: int | None = None,
) -> AsyncIterator[ScannedRange]:
    """The logs of blocks `first` to `last` that any of the filters catches, range by range."""
    most = last - first + 1
    width = Width(blocks=min(most, blocks_at_first or most), ceiling=most)
    while first <= last:
        ranges = width.ranges(first, last)
        wanted = [
            [requests.block(end), *(_logs(address, topics, start, end) for topics in filters)]
            for start, end in ranges
        ]
        asked = ranges[0][1] - first + 1
        try:
            answers = iter(await client.settle([one for each in wanted for one in each]))
            for start, end in ranges:
                asked = end - start + 1
                header, *found = itertools.islice(answers, len(filters) + 1)
                logs = in_chain_order([expected(answer, tuple) for answer in found])
                yield ScannedRange(expected(header, Block), logs)
                first = end + 1
                width = width.after_answer(len(logs))
        except NARROWABLE as refusal:
            if asked == 1:
                raise
            width = width.after_refusal(refusal, asked)


def _logs(address: Address, topics: Topics, first: int, last: int) -> Request[tuple[Log, ...]]:
    return requests.logs(LogFilter(address, topics, first, last))


def in_chain_order(answers: Sequence[Sequence[Log]]) -> tuple[Log, ...]:
    unique = {(log.block_number, log.log_index): log for logs in answers for log in logs}
    return tuple(unique[place] for place in sorted(unique))
