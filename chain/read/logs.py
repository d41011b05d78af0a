"""Logs over any number of blocks, in ranges as wide as the node allows."""

from __future__ import annotations

import itertools
import math
from collections.abc import AsyncIterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from chain.contracts.networks import Address
from chain.read.block_reader import expect
from chain.rpc import errors, requests
from chain.rpc.client import RpcClient
from chain.rpc.endpoint import KnownRange
from chain.rpc.records import Block, Log, LogFilter
from chain.rpc.requests import Request

Topics = tuple[str | tuple[str, ...] | None, ...]
"""What a log must carry, by place; several mean any of them."""

FIRST_BLOCKS = 10_000
"""What is asked of a node nothing is known of: most public ones give this much and no more."""

NARROWABLE = (errors.RangeTooWide, errors.TooLarge, errors.TimedOut)
"""Refusals that a smaller range may overcome."""

_STEADY = 2
"""Ranges answered in a row before a wider one is tried, up to the node's own limit."""

_GROWTH = 8
"""How much wider the next range is while none was refused, or narrower where none was given."""

_MOST_LIMITS = 12
"""Rate limits in a row, each waited out longer, before the endpoint counts as closed."""

_PATIENT = 50
"""The same at a limit that was only guessed: where logs are fewer it may lie higher. Each time more
was refused the next try waits for twice as many."""

MANY_LOGS = 3_000
"""Ranges are made narrower where one holds more, so that memory and answers stay small."""


class RangeWidth(Struct, frozen=True):
    """How many blocks to ask for at once, learned from what the node refuses."""

    blocks: int
    ceiling: int
    """The node refused wider ranges than this."""
    firm: bool = False
    """Whether it named the limit itself."""
    answered: int = 0
    good: int = 0
    """The widest that was given; 0 before any was."""
    refused: bool = False
    tries: int = 0
    """How often more than a guessed limit was refused."""

    @classmethod
    def of(cls, most: int, known: KnownRange | None, at_first: int | None = None) -> RangeWidth:
        """For `most` blocks in all, beginning with what the node gave before or `at_first`."""
        if known is None:
            return cls(max(1, min(most, at_first or FIRST_BLOCKS)), ceiling=max(1, most))
        good = max(1, min(most, known.blocks))
        blocks = good if at_first is None else min(good, at_first)
        return cls(
            blocks,
            ceiling=good if known.most else max(1, most),
            answered=int(blocks == good),
            good=good,
            refused=known.most,
        )

    def ranges(self, first: int, last: int, count: int) -> list[tuple[int, int]]:
        """The next ranges to ask for in one request: several once the width has proved good."""
        count = max(1, count) if self.answered else 1
        starts = range(first, last + 1, self.blocks)[:count]
        return [(start, min(last, start + self.blocks - 1)) for start in starts]

    def ranges_back(self, first: int, last: int, count: int) -> list[tuple[int, int]]:
        """The same from the newest block down, at most so many at once."""
        count = max(1, count) if self.answered else 1
        ends = range(last, first - 1, -self.blocks)[:count]
        return [(max(first, end - self.blocks + 1), end) for end in ends]

    def after_answer(self, asked: int, found: int) -> RangeWidth:
        width = replace(self, good=max(self.good, asked))
        if found > MANY_LOGS:
            return replace(width, blocks=max(1, min(self.blocks, asked) // 2), answered=0)
        if asked < self.blocks == self.ceiling:
            # Of the request in which it grew that far: narrower ranges say nothing of the limit.
            return width
        return width._after_answer(found)

    def _after_answer(self, found: int) -> RangeWidth:
        if 2 * found > MANY_LOGS:
            return replace(self, answered=1)
        answered = self.answered + 1
        if not self.refused and self.blocks < self.ceiling:
            return self._widened(_GROWTH)
        if self.blocks < self.ceiling and answered >= _STEADY:
            return self._widened(2)
        patience = _PATIENT << self.tries
        if self.blocks == self.ceiling and answered >= patience and not self.firm:
            return replace(self, blocks=self.blocks * 2, ceiling=self.ceiling * 2, answered=0)
        return replace(self, answered=answered)

    def _widened(self, times: int) -> RangeWidth:
        """Up to the limit; what was given before needs no proof."""
        blocks = min(self.blocks * times, self.ceiling)
        return replace(self, blocks=blocks, answered=int(blocks <= self.good))

    def after_refusal(self, refusal: errors.RpcError, asked: int) -> RangeWidth:
        half = max(1, asked // 2)
        if not isinstance(refusal, errors.RangeTooWide) or refusal.counted:
            # Too many logs, or too slow: a quieter stretch of the chain may bear more again.
            return replace(self, blocks=half, answered=0, refused=True)
        if refusal.suggested_span is not None and 0 < refusal.suggested_span < asked:
            span = refusal.suggested_span
            proved = min(self.good, span)
            answered = int(proved == span)
            return RangeWidth(span, span, firm=True, answered=answered, good=proved, refused=True)
        if 0 < self.good < asked:
            good = self.good
            tries = self.tries + int(self.refused)
            return RangeWidth(good, good, answered=1, good=good, refused=True, tries=tries)
        if refusal.suggested is not None:
            first, last = refusal.suggested
            half = min(half, last - first + 1) if last >= first else half
        elif refusal.retryable:
            # It may be the range, or it may not: what it is shows sooner with far fewer blocks.
            return RangeWidth(max(1, asked // _GROWTH), ceiling=half, refused=True)
        return RangeWidth(half, ceiling=half, refused=True)


class ScannedRange(Struct, frozen=True):
    last: Block
    logs: tuple[Log, ...]
    """In chain order, each once, whichever of the filters caught it."""


class ScannedPart(Struct, frozen=True):
    end: int
    """The last block of it."""
    header: Block | None
    """That block's; None where a later part of the same request has one."""
    logs: tuple[Log, ...]


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
    address: Address | tuple[Address, ...],
    filters: Sequence[Topics],
    first: int,
    last: int,
    *,
    blocks_at_first: int | None = None,
    most_calls: int | None = None,
) -> AsyncIterator[ScannedRange]:
    """The logs of blocks `first` to `last` that any of the filters catches, range by range.

    Raises `LogsTooNarrow` where the node's limit makes it take more calls than that.
    """
    async for part in scan_parts(
        client,
        address,
        filters,
        first,
        last,
        blocks_at_first=blocks_at_first,
        most_calls=most_calls,
        every_header=True,
    ):
        yield ScannedRange(expect(part.header, Block), part.logs)


async def scan_parts(
    client: RpcClient,
    address: Address | tuple[Address, ...],
    filters: Sequence[Topics],
    first: int,
    last: int,
    *,
    blocks_at_first: int | None = None,
    most_calls: int | None = None,
    every_header: bool = False,
) -> AsyncIterator[ScannedPart]:
    """The same for who needs to know but now and then at which block it stands."""
    width = RangeWidth.of(last - first + 1, client.log_range, blocks_at_first)
    limits = 0
    while first <= last:
        calls = math.ceil((last - first + 1) / width.ceiling)
        if most_calls is not None and calls > most_calls:
            raise errors.LogsTooNarrow(width.ceiling, calls, endpoint=" and ".join(client.labels))
        most = client.calls_at_once
        count = most // (len(filters) + 1) if every_header else (most - 1) // len(filters)
        ranges = width.ranges(first, last, count)
        headed = ranges if every_header else ranges[-1:]
        headers = [requests.block(end) for _, end in headed]
        wanted = [_logs(address, topics, *span) for span in ranges for topics in filters]
        asked = ranges[0][1] - first + 1
        try:
            outcomes = await client.settle([*headers, *wanted])
            limits = 0
            told = dict(zip(headed, outcomes, strict=False))
            answers = iter(outcomes[len(headed) :])
            for start, end in ranges:
                asked = end - start + 1
                found = itertools.islice(answers, len(filters))
                logs = in_chain_order([expect(answer, tuple) for answer in found])
                header = told.get((start, end))
                yield ScannedPart(end, None if header is None else expect(header, Block), logs)
                first = end + 1
                width = width.after_answer(asked, len(logs))
        except errors.RateLimited as limit:
            limits += 1
            await _wait_out(client, limit, limits)
        except NARROWABLE as refusal:
            width = _narrowed(width, refusal, asked)
            if width.firm:
                client.learn_log_range(KnownRange(width.ceiling, most=True))


class ScannedBack(Struct, frozen=True):
    first: int
    """The lowest block that has been read."""
    logs: tuple[Log, ...]
    width: RangeWidth


async def scan_logs_back(
    client: RpcClient,
    address: Address,
    filters: Sequence[Topics],
    first: int,
    last: int,
    *,
    width: RangeWidth,
) -> AsyncIterator[ScannedBack]:
    """The same from the newest block down, for who stops when enough was found."""
    limits = 0
    while last >= first:
        ranges = width.ranges_back(first, last, client.calls_at_once // len(filters))
        asked = ranges[0][1] - ranges[0][0] + 1
        wanted = [_logs(address, topics, *span) for span in ranges for topics in filters]
        try:
            answers = iter(await client.settle(wanted))
            limits = 0
            for start, end in ranges:
                asked = end - start + 1
                found = itertools.islice(answers, len(filters))
                logs = in_chain_order([expect(answer, tuple) for answer in found])
                width = width.after_answer(asked, len(logs))
                last = start - 1
                yield ScannedBack(start, logs, width)
        except errors.RateLimited as limit:
            limits += 1
            await _wait_out(client, limit, limits)
        except NARROWABLE as refusal:
            width = _narrowed(width, refusal, asked)


LOGS_NOT_GIVEN = (
    errors.LogsLeftOut,
    errors.LogsTooNarrow,
    errors.RangeTooWide,
    errors.RpcRefused,
    errors.StatePruned,
)
"""What an endpoint says that does not give the logs of the past, now or later."""


def why_not_given(error: errors.RpcError) -> str:
    """In our own words, since a server's may not travel to a model; what may pass is raised."""
    match error:
        case errors.BlockMissing():
            raise error
        case errors.LogsLeftOut():
            return f"the endpoint leaves logs out: {error.why}"
        case errors.LogsTooNarrow():
            return "the endpoint gives the logs of too few blocks at once"
        case errors.StatePruned():
            return "the endpoint does not keep logs that old"
    return "the endpoint does not give these logs"


async def _wait_out(client: RpcClient, limit: errors.RateLimited, limits: int) -> None:
    """Rest as long as an endpoint asks for, unless it has asked too often in a row."""
    if limits > _MOST_LIMITS:
        raise limit
    await client.wait_out(limit)


def _narrowed(width: RangeWidth, refusal: errors.RpcError, asked: int) -> RangeWidth:
    """Ask for fewer blocks; of one block nothing less can be asked."""
    if asked == 1:
        if isinstance(refusal, errors.RangeTooWide):
            raise errors.RangeTooWide(refusal.message, endpoint=refusal.endpoint, sure=False)
        raise refusal
    return width.after_refusal(refusal, asked)


def _logs(
    address: Address | tuple[Address, ...], topics: Topics, first: int, last: int
) -> Request[tuple[Log, ...]]:
    return requests.logs(LogFilter(address, topics, first, last))


def in_chain_order(answers: Sequence[Sequence[Log]]) -> tuple[Log, ...]:
    unique = {(log.block_number, log.log_index): log for logs in answers for log in logs}
    return tuple(unique[place] for place in sorted(unique))
