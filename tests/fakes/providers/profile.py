"""What a provider is like: what it gives at once, how often, how late, and its words."""

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
    page: bool = False
    """Whether it is a page of a gateway instead of JSON."""
    retry_after: int | None = None
    reset: bool = False
    """Whether the connection is cut instead."""
    empty: bool = False
    """Whether nothing at all is said."""


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

    some_requests: tuple[float, Refusal] | None = None
    """A share of all requests that a gateway answers instead."""
    each_request: tuple[int, Refusal] | None = None
    """Every so many requests that are refused whole."""
    null_blocks: float = 0.0
    """A share of questions for a block that are answered with null."""
    null_methods: tuple[str, ...] = ()
    empty_logs: float = 0.0
    """A share of questions for logs that are answered with none."""
    fewest_logs: int | None = None
    """No more are given at once, and nothing is said of the rest."""
    alone_in_batch: tuple[str, Refusal] | None = None
    """A method of which a batch may hold one call."""
    refused_tags: tuple[tuple[str, Refusal], ...] = ()
    quota: tuple[int, Refusal] | None = None
    """After so many requests all are refused."""
    receipts_late: float = 0.0
    """Seconds after which a receipt that was asked for is told."""
    overrides: Refusal | None = None
    """What is said to a call on a state that is not the chain's."""
    sends: Literal["", "answer lost", "already known", "refused", "dropped"] = ""
    """What becomes of a transaction that is sent through it."""
    line: Literal["", "gzip", "chunked", "idle close", "::1"] = ""
    """How its answers travel."""
    answers_after: float = 0.0
    """Seconds of the wall's clock before every answer."""
    ids_as_text: bool = False
    shuffled: bool = False
    drops_of_batch: bool = False
    """Whether the last call of a batch gets no answer."""
    extra_fields: bool = False

    @property
    def serves(self) -> bool:
        """Whether anybody gets an answer from it."""
        return self.closed is None and math.isfinite(self.latency)
