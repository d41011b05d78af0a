"""What a provider is like: what it gives at once, how often, how late, and its words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Refusal:
    code: int
    words: str
    """`{asked}` and `{most}` stand for what was asked and what is given."""
    status: int = 200
    """The HTTP status it comes with."""


@dataclass(frozen=True)
class RateLimit:
    calls_a_second: float
    burst: float
    each_item: bool
    """Whether single items of a batch are refused, or the whole request."""
    refusal: Refusal = Refusal(429, "Too Many Requests", 429)
    retry_after: int | None = None


@dataclass(frozen=True)
class Profile:
    name: str
    network: str = "base"
    most_blocks: int | None = None
    too_many_blocks: Refusal = Refusal(-32602, "range {asked} exceeds limit of {most}")
    most_logs: int | None = None
    too_many_logs: Refusal = Refusal(-32005, "query returned more than {most} results")
    most_in_batch: int | None = None
    batch_too_large: Refusal = Refusal(-32600, "batch too large")
    most_body_bytes: int | None = None
    rate: RateLimit | None = None
    latency: float = 0.1
    seconds_a_million_blocks: float = 0.0
    slow: Refusal | None = None
    """What is said of a query that takes longer than `slow_seconds`; None lets it take its time."""
    slow_seconds: float = 10.0
    share_behind: float = 0.0
    """Of calls that a machine answers which is one block behind."""
    state_kept: int | None = None
    """Of how many blocks the state is there."""
    logs_kept: int | None = None
    old_logs: Literal["refused", "left out"] = "refused"
    takes_hashes: bool = True
    refused_methods: tuple[tuple[str, Refusal], ...] = ()
    closed: int | None = None
    """The HTTP status with which it refuses everybody."""
    call_gas: int = 50_000_000
    """A call of more reverts for want of gas; asking for one id's owner takes about 4,000."""

    @property
    def serves(self) -> bool:
        """Whether anybody gets an answer from it."""
        return self.closed is None and math.isfinite(self.latency)
