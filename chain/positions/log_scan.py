"""Logs over any number of blocks, in ranges as wide as the node allows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from chain.positions.one_block import expected
from chain.rpc import requests
from chain.rpc.errors import RangeTooWide, RpcError, TimedOut, TooLarge
from chain.rpc.types import Block, LogFilter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from chain.networks import Address
    from chain.positions.holdings import Topics
    from chain.rpc.client import RpcClient
    from chain.rpc.types import Log

NARROWABLE = (RangeTooWide, TooLarge, TimedOut)
"""Refusals that a smaller range may overcome."""

_STEADY = 8
"""Ranges answered in a row before a wider one is tried."""


@dataclass(frozen=True, slots=True)
class Width:
    """How many blocks to ask for at once, learned from what the node refuses."""

    blocks: int
    ceiling: int
    """The node refuses ranges wider than this whatever they hold."""
    answered: int = 0

    def after_answer(self) -> Width:
        if self.answered + 1 < _STEADY:
            return replace(self, answered=self.answered + 1)
        return replace(self, blocks=min(self.blocks * 2, self.ceiling), answered=0)

    def after_refusal(self, refusal: RpcError, asked: int) -> Width:
        narrower = max(1, asked // 2)
        if not isinstance(refusal, RangeTooWide):
            # Too many logs, or too slow: a quieter stretch of the chain may bear more again.
            return replace(self, blocks=narrower, answered=0)
        named = refusal.suggested_span
        if refusal.suggested is not None:
            named = refusal.suggested[1] - refusal.suggested[0] + 1
        if named is not None and 0 < named < asked:
            narrower = named
        return Width(blocks=narrower, ceiling=max(narrower, asked - 1))


@dataclass(frozen=True, slots=True)
class ScannedRange:
    last: Block
    logs: tuple[Log, ...]
    """In chain order, each once, whichever of the filters caught it."""


@dataclass(frozen=True, slots=True)
class ScanProgress:
    first: int
    last: int
    scanned: int
    """The last block that has been read."""
    found: int

    @property
    def fraction(self) -> float:
        return (self.scanned - self.first + 1) / max(1, self.last - self.first + 1)


async def scan_logs(
    client: RpcClient, address: Address, filters: Sequence[Topics], first: int, last: int
) -> AsyncIterator[ScannedRange]:
    """The logs of blocks `first` to `last` that any of the filters catches, range by range."""
    width = Width(blocks=last - first + 1, ceiling=last - first + 1)
    while first <= last:
        through = min(last, first + width.blocks - 1)
        asked = through - first + 1
        try:
            scanned = await _scan(client, address, filters, first, through)
        except NARROWABLE as refusal:
            if asked == 1:
                raise
            width = width.after_refusal(refusal, asked)
            continue
        width = width.after_answer()
        first = through + 1
        yield scanned


async def _scan(
    client: RpcClient, address: Address, filters: Sequence[Topics], first: int, through: int
) -> ScannedRange:
    wanted = [LogFilter(address, topics, first, through) for topics in filters]
    block, *found = await client.settle([requests.block(through), *map(requests.logs, wanted)])
    logs = in_chain_order([expected(answer, tuple) for answer in found])
    return ScannedRange(expected(block, Block), logs)


def in_chain_order(answers: Sequence[Sequence[Log]]) -> tuple[Log, ...]:
    unique = {(log.block_number, log.log_index): log for logs in answers for log in logs}
    return tuple(unique[place] for place in sorted(unique))
