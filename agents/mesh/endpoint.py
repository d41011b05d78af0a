"""One peer on the mesh and what it knows of others: greets, signs, acknowledges, tries again."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from agents.mesh.frame import (
    DropCause,
    DroppedError,
    Frame,
    FrameHeader,
    FrameKind,
    PeerSigningKey,
    header_without_number,
    open_frame,
    seal_frame,
)
from agents.mesh.peers import EngineError, MessageEngine, Peer, PeerBook
from chain.base.clean_text import clean_text
from chain.base.errors import error_kind

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
            self._seen = {number for number in self._seen if number > self._highest - _WINDOW}

    @property
    def missing_numbers(self) -> int:
        """Numbers below the highest that never came, of those still remembered."""
        lowest = max(0, self._highest - _WINDOW + 1)
        return self._highest + 1 - lowest - sum(1 for number in self._seen if number >= lowest)


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
        again = [sent.message for sent in self.pending.values()]
        self.pending.clear()
        self.waiting.extendleft(reversed(again))

    @property
    def unanswered_count(self) -> int:
        return len(self.waiting) + len(self.pending)


def retry_wait(tried: int) -> float:
    return float(min(_LONGEST_RETRY, FIRST_RETRY * _BACKOFF ** max(0, tried - 1)))


_TICK = 0.05
_IN_FLIGHT = 16
"""Unacknowledged at once: five peers together stay under the queue of a node."""
_MOST_WAITING = 1_024
_LONGEST_HELLO_WAIT = 2.0
_HELLOS_KEPT = 32
_AT_ONCE = 4
"""Messages handed to the engine side by side."""
STRUCTURAL_ATTEMPTS = 60
THOUGHT_ATTEMPTS = 12


class MeshEndpoint:
    """Use as `async with`; what it takes is handed to `on_frame`, which raises to refuse it."""

    def __init__(
        self,
        key: PeerSigningKey,
        book: PeerBook,
        engine: MessageEngine,
        *,
        versions: Mapping[str, str],
        asks: str = "",
    ) -> None:
        self.dropped: Counter[DropCause] = Counter()
        self.trouble = ""
        """What the engine could not do last."""
        self.on_frame: Callable[[Frame], None] = _refuse
        self.on_boot: Callable[[Peer, bool], None] = lambda _peer, _first: None
        """Told that a process of a peer was met, and whether it is the first."""
        self.versions = dict(versions)
        self._asks = asks
        self.book = book
        self._key = key
        self._engine = engine
        self._boot = new_boot()
        self._links = {peer.key: Link(peer) for peer in book.peers if peer.key != key.name}
        self._tasks: set[asyncio.Task[None]] = set()
        # Of its own for each peer: dialling one that is gone holds nobody else up.
        self._places = {name: asyncio.Semaphore(_AT_ONCE) for name in self._links}
        self._moved = asyncio.Event()

    @property
    def me(self) -> str:
        return self._key.name

    async def __aenter__(self) -> MeshEndpoint:
        await self._engine.open()
        self._start(self._receive())
        self._start(self._repeat())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._engine.close()

    def greet(self, peer: Peer) -> None:
        """Ask whether it is there, and measure how long the answer takes."""
        link = self._links[peer.key]
        seq = link.take_seq()
        link.greeted[seq] = _now()
        link.hellos += 1
        while len(link.greeted) > _HELLOS_KEPT:
            link.greeted.pop(next(iter(link.greeted)))
        header = FrameHeader(FrameKind.HELLO, peer.key, self._boot, seq)
        self._hand_over(link, header, self._introduced())

    async def meet(self, peers: tuple[Peer, ...], seconds: float) -> tuple[Peer, ...]:
        """Greet these, and those of them who answered before so long had passed."""
        links = [self._links[peer.key] for peer in peers]
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while unseen := [link for link in links if link.heard_at is None]:
                    for link in unseen:
                        self._greet_when_due(link)
                    self._moved.clear()
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._moved.wait(), _TICK)
        return tuple(link.peer for link in links if link.heard_at is not None)

    async def wait_for_answers(self, peers: tuple[Peer, ...], seconds: float) -> None:
        """Wait until every greeting of these was answered, or so long has passed."""
        links = [self._links[peer.key] for peer in peers]
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(link.greeted for link in links):
                    self._moved.clear()
                    await self._moved.wait()

    async def wait_drained(self, seconds: float) -> bool:
        """Whether all that was sent is acknowledged before so long has passed."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(link.unanswered_count for link in self._links.values()):
                    self._moved.clear()
                    await self._moved.wait()
        return not any(link.unanswered_count for link in self._links.values())

    def versions_of(self, peer: Peer) -> dict[str, str]:
        """As it told them last; empty before it did."""
        return self._links[peer.key].introduction.versions

    def asks(self, peer: Peer) -> str:
        """The model it asks, by its own word; empty where it asks none."""
        return self._links[peer.key].introduction.asks

    def sight(self, peer: Peer) -> PeerSight:
        link = self._links[peer.key]
        times = sorted(link.round_trips)
        return PeerSight(
            peer,
            link.introduction,
            times[len(times) // 2] if times else None,
            None if link.heard_at is None else _now() - link.heard_at,
            len(link.greeted) / max(1, link.hellos),
            link.resent,
            link.seen.missing_numbers,
        )

    async def send(
        self, peer: Peer, header: FrameHeader, payload: bytes, *, attempts: int, droppable: bool
    ) -> bool:
        """Send until it is acknowledged, or so often; a droppable one is left where many wait."""
        link = self._links[peer.key]
        message = Unsent(header, payload, attempts, keep=not droppable)
        while len(link.waiting) >= _MOST_WAITING:
            if droppable:
                return False
            self._moved.clear()
            await self._moved.wait()
        link.waiting.append(message)
        self._push(link)
        return True

    def send_once(self, peer: Peer, header: FrameHeader, payload: bytes) -> bool:
        """Send with no word of its arrival; False where nobody is known to listen."""
        link = self._links[peer.key]
        if not link.boot:
            return False
        self._hand_over(link, self._addressed(link, header, wants_ack=False), payload)
        return True

    def forget(self, request_id: str) -> None:
        """Try nothing of a request that is over again."""
        for link in self._links.values():
            for seq in [
                seq
                for seq, pending in link.pending.items()
                if pending.message.header.request == request_id
            ]:
                del link.pending[seq]
            kept = [message for message in link.waiting if message.header.request != request_id]
            link.waiting.clear()
            link.waiting.extend(kept)
        self._moved.set()

    async def _receive(self) -> None:
        while True:
            # All that has come is taken before anybody thinks about it.
            for data in await self._engine.receive():
                try:
                    self._take(open_frame(data, self.book, self.me))
                except DroppedError as error:
                    self.dropped[error.cause] += 1
                except Exception as error:  # one bad message may not make this peer deaf
                    self.dropped[DropCause.MALFORMED] += 1
                    self.trouble = f"A message could not be taken ({error_kind(error)})."
            self._acknowledge()

    def _take(self, frame: Frame) -> None:
        header = frame.header
        link = self._links.get(frame.sender.key)
        if link is None:
            raise DroppedError(DropCause.WRONG_ROLE)
        if header.kind is FrameKind.HELLO:
            self._answer_hello(link, frame)
            return
        self._refuse_old(link, header)
        link.heard_at = _now()
        match header.kind:
            case FrameKind.WELCOME:
                self._welcomed(link, frame)
            case FrameKind.READY:
                link.introduction = read_introduction(frame.payload)
            case FrameKind.ACK:
                for number in header.acks:
                    link.pending.pop(number, None)
                self._push(link)
            case _:
                self.on_frame(frame)
        link.seen.add(header.seq)
        if header.wants_ack:
            link.acks.append(header.seq)
        self._moved.set()

    def _refuse_old(self, link: Link, header: FrameHeader) -> None:
        """Refuse what was meant for or sent by another process, and what has come before."""
        if header.to_boot != self._boot:
            if header.kind is FrameKind.DATA and header.boot > link.boot:
                self._greet_when_due(link)
            raise DroppedError(DropCause.STALE)
        if header.boot < link.boot:
            raise DroppedError(DropCause.STALE)
        if header.boot != link.boot:
            # Whoever names this very process is alive, and no later one has answered.
            self._meet(link, header.boot)
        if not link.seen.is_new(header.seq):
            if header.wants_ack:
                link.acks.append(header.seq)
            raise DroppedError(DropCause.REPLAYED)

    def _answer_hello(self, link: Link, frame: Frame) -> None:
        header = frame.header
        if header.boot < link.boot:
            raise DroppedError(DropCause.STALE)
        if header.boot == link.boot:
            if not link.seen.is_new(header.seq):
                raise DroppedError(DropCause.REPLAYED)
            link.seen.add(header.seq)
        if header.boot != link.greeting_boot:
            link.greeting_boot, link.greetings = header.boot, []
        link.greetings.append(header.seq)

    def _welcomed(self, link: Link, frame: Frame) -> None:
        link.introduction = read_introduction(frame.payload)
        for seq in frame.header.acks:
            if (began := link.greeted.pop(seq, None)) is not None:
                link.round_trips.append(_now() - began)
        ready = FrameHeader(FrameKind.READY, link.peer.key, self._boot, link.take_seq())
        self._hand_over(link, replace(ready, to_boot=link.boot), self._introduced())
        self._push(link)

    def _meet(self, link: Link, boot: str) -> None:
        first = not link.boot
        link.meet(boot)
        self.on_boot(link.peer, first)
        self._push(link)

    def _acknowledge(self) -> None:
        """Answer what has come at once: one welcome for all greetings, one word for all numbers."""
        for link in self._links.values():
            if link.greetings:
                numbers, link.greetings = tuple(link.greetings), []
                welcome = FrameHeader(
                    FrameKind.WELCOME,
                    link.peer.key,
                    self._boot,
                    link.take_seq(),
                    to_boot=link.greeting_boot,
                    acks=numbers,
                )
                self._hand_over(link, welcome, self._introduced())
            if link.acks:
                numbers, link.acks = tuple(link.acks), []
                header = replace(header_without_number(FrameKind.ACK, link.peer, ""), acks=numbers)
                self._hand_over(link, self._addressed(link, header, wants_ack=False), b"")

    def _push(self, link: Link) -> None:
        """Send what waits, as much as may be under way at once."""
        if not link.boot:
            if link.waiting:
                self._greet_when_due(link)
            return
        while link.waiting and len(link.pending) < _IN_FLIGHT:
            message = link.waiting.popleft()
            header = self._addressed(link, message.header, wants_ack=True)
            sealed = Unsent(header, message.payload, message.attempts, message.keep)
            link.pending[header.seq] = Pending(sealed, 1, _now() + retry_wait(1))
            self._hand_over(link, header, message.payload, keep=message.keep)
        self._moved.set()

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            for link in self._links.values():
                self._repeat_to(link)

    def _repeat_to(self, link: Link) -> None:
        now = _now()
        for seq, pending in tuple(link.pending.items()):
            if pending.due > now:
                continue
            if pending.tried >= pending.message.attempts:
                del link.pending[seq]
                continue
            pending.tried += 1
            pending.due = now + retry_wait(pending.tried)
            link.resent += 1
            self._hand_over(
                link, pending.message.header, pending.message.payload, keep=pending.message.keep
            )
        if any(sent.tried > 2 for sent in link.pending.values()):
            # The peer may have been started anew, and drop what is sealed for its earlier process.
            self._greet_when_due(link)
        self._push(link)

    def _greet_when_due(self, link: Link) -> None:
        now = _now()
        if now >= link.next_hello:
            answered = not link.greeted
            link.hello_wait = (
                retry_wait(1) if answered else min(_LONGEST_HELLO_WAIT, link.hello_wait * 1.6)
            )
            link.next_hello = now + link.hello_wait
            self.greet(link.peer)

    def _addressed(self, link: Link, header: FrameHeader, *, wants_ack: bool) -> FrameHeader:
        return replace(
            header, boot=self._boot, to_boot=link.boot, seq=link.take_seq(), wants_ack=wants_ack
        )

    def _hand_over(
        self, link: Link, header: FrameHeader, payload: bytes, *, keep: bool = False
    ) -> None:
        data = seal_frame(self._key, header, payload)
        self._start(self._give(link.peer, data, keep=keep))

    async def _give(self, peer: Peer, data: bytes, *, keep: bool) -> None:
        async with self._places[peer.key]:
            try:
                await self._engine.send(peer, data, keep=keep)
            except EngineError as error:
                self.trouble = str(error)
            else:
                self.trouble = ""

    def _introduced(self) -> bytes:
        return msgspec.json.encode(Introduction(self.versions, self._asks))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work, name="mesh")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _refuse(_: Frame) -> None:
    raise DroppedError(DropCause.WRONG_REQUEST)


def _now() -> float:
    return asyncio.get_running_loop().time()
