"""What one peer knows of another: its process, what waits for its answer, what it said already."""

from __future__ import annotations

import secrets
import time
from collections import deque
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from agents.mesh.frame import DropCause, DroppedError, FrameHeader
from chain.base.clean_text import clean_text

if TYPE_CHECKING:
    from agents.mesh.peers import Peer

_MOST_BYTES = 1_024


class Introduction(Struct, frozen=True):
    """What a process tells of itself."""

    versions: dict[str, str] = {}
    asks: str = ""
    """The model it asks; empty where it asks none."""


_INTRODUCTION = msgspec.json.Decoder(Introduction)


class PeerSight(Struct, frozen=True):
    """How a peer is seen from here."""

    peer: Peer
    introduction: Introduction
    """Empty where it has not answered."""
    round_trip: float | None
    """The median in seconds."""
    age: float | None
    """Seconds since it was heard of."""
    lost: float
    """Of the greetings sent, the share that was not answered, or not yet."""
    resent: int
    """Messages that were sent more than once."""
    missing: int
    """Of what it sent, what has not come, or not yet."""

    @property
    def visible(self) -> bool:
        return self.age is not None


def new_boot() -> str:
    """Greater than that of any process that was started earlier."""
    return f"{time.time_ns():020d}-{secrets.token_hex(8)}"


def read_introduction(payload: bytes) -> Introduction:
    if len(payload) > _MOST_BYTES:
        raise DroppedError(DropCause.OVERSIZE)
    try:
        told = _INTRODUCTION.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise DroppedError(DropCause.MALFORMED) from None
    versions = {
        clean_text(name, limit=40): clean_text(value, limit=40)
        for name, value in told.versions.items()
    }
    return Introduction(versions, clean_text(told.asks, limit=80))


FIRST_RETRY = 0.25
_BACKOFF = 1.6
_LONGEST_RETRY = 2.0
_WINDOW = 4_096
"""Numbers below the highest by more than this are taken for repeated."""
_TIMES_KEPT = 64


class Unsent(Struct, frozen=True):
    """A message that is not sealed for a process of its recipient yet."""

    header: FrameHeader
    payload: bytes
    attempts: int
    """How often it is tried at most."""
    keep: bool


class Pending(Struct):
    """A message whose receipt was not acknowledged."""

    message: Unsent
    tried: int
    due: float


class SeenNumbers:
    """Which numbers of one process have come: each is taken once."""

    def __init__(self) -> None:
        self._highest = -1
        self._seen: set[int] = set()

    def is_new(self, number: int) -> bool:
        return number > self._highest - _WINDOW and number not in self._seen and number >= 0

    def add(self, number: int) -> None:
        self._seen.add(number)
        self._highest = max(self._highest, number)
        if len(self._seen) > 2 * _WINDOW:
            self._seen = {one for one in self._seen if one > self._highest - _WINDOW}

    @property
    def missing(self) -> int:
        """Numbers below the highest that never came, of those still remembered."""
        lowest = max(0, self._highest - _WINDOW + 1)
        return self._highest + 1 - lowest - sum(1 for one in self._seen if one >= lowest)


class Link(Struct):
    peer: Peer
    boot: str = ""
    """Of the process that answered last; empty before it did."""
    introduction: Introduction = Introduction()
    seen: SeenNumbers = field(default_factory=SeenNumbers)
    next_seq: int = 0
    waiting: deque[Unsent] = field(default_factory=deque)
    pending: dict[int, Pending] = field(default_factory=dict)
    acks: list[int] = field(default_factory=list)
    heard_at: float | None = None
    """By the loop's clock."""
    round_trips: deque[float] = field(default_factory=lambda: deque(maxlen=_TIMES_KEPT))
    greeted: dict[int, float] = field(default_factory=dict)
    """When each hello that was not answered yet was sent, by its number."""
    greetings: list[int] = field(default_factory=list)
    """Its hellos that are not answered yet."""
    greeting_boot: str = ""
    next_hello: float = 0.0
    hello_wait: float = FIRST_RETRY
    hellos: int = 0
    resent: int = 0

    def take_seq(self) -> int:
        self.next_seq += 1
        return self.next_seq - 1

    def meet(self, boot: str) -> None:
        """Another process of the peer: what it has not acknowledged is sealed for it anew."""
        self.boot = boot
        self.seen = SeenNumbers()
        self.acks.clear()
        again = [one.message for one in self.pending.values()]
        self.pending.clear()
        self.waiting.extendleft(reversed(again))

    @property
    def unanswered(self) -> int:
        return len(self.waiting) + len(self.pending)


def retry_wait(tried: int) -> float:
    return float(min(_LONGEST_RETRY, FIRST_RETRY * _BACKOFF ** max(0, tried - 1)))
