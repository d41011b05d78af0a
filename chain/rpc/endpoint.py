"""One RPC endpoint and what has been learned about it; its URL is used, never shown."""

from __future__ import annotations

import hashlib
import math
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Literal, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from msgspec import Struct, to_builtins

from chain.base.clean_text import clean_text
from chain.base.store import Store, StoreError, read_as
from chain.contracts.networks import Network
from chain.rpc.errors import NoEndpoint, RpcError
from chain.rpc.requests import RequestLimits

_MEASURED_SECONDS = 1.0
_LEAST_RATE = 0.5
_LONGEST_TURN = 5.0
"""Seconds that one request is paid for: the rate is a guess, and some count requests, not calls."""
_FEW_CALLS = 10
_RATE_STEP = 0.5
"""What every answered request adds to the calls a second."""


class RequestPace:
    """Unlimited until the endpoint first says that it was asked too often."""

    def __init__(self, first_rest: float, longest_rest: float) -> None:
        self._first_rest = first_rest
        self._longest_rest = longest_rest
        self.rate = math.inf
        """Calls a second."""
        self.limits_in_a_row = 0
        self._free_at = 0.0
        self._sent: deque[tuple[float, int]] = deque()

    def wait(self, now: float) -> float:
        """Seconds until the next request; 0 when it may go out now."""
        return max(0.0, self._free_at - now)

    def at_once(self, calls: int) -> int:
        """How many of these may go out together: what a second allows, once there is a limit.

        Not fewer than a few, unless these are refused, too: some count requests, not calls.
        """
        least = max(1, _FEW_CALLS >> self.limits_in_a_row)
        return calls if self.rate == math.inf else min(calls, max(least, int(self.rate)))

    def record_request(self, calls: int, now: float) -> None:
        self._sent.append((now, calls))
        self._forget(now)
        if self.rate < math.inf:
            turn = min(calls / self.rate, _LONGEST_TURN)
            self._free_at = max(now, self._free_at) + turn

    def record_answer(self) -> None:
        self.limits_in_a_row = 0
        self.rate += _RATE_STEP

    def back_off(self, now: float, retry_after: float | None) -> None:
        """Go half as fast after a rest, which doubles while nothing is answered."""
        if self.limits_in_a_row and now < self._free_at:
            return  # one of several requests that met the same limit
        self._forget(now)
        measured = sum(calls for _, calls in self._sent) / _MEASURED_SECONDS
        self.rate = max(_LEAST_RATE, min(self.rate, max(1.0, measured)) / 2)
        rest = self._first_rest * 2.0 ** min(self.limits_in_a_row, 16)
        self.limits_in_a_row += 1
        self._free_at = now + min(rest if retry_after is None else retry_after, self._longest_rest)

    def _forget(self, now: float) -> None:
        while self._sent and self._sent[0][0] < now - _MEASURED_SECONDS:
            self._sent.popleft()


class EndpointStatus(Struct, frozen=True):
    label: str
    state: Literal["ready", "untried", "resting", "wrong chain"]
    wait_seconds: float
    answered_chain_id: int | None
    """Set when it answered for another chain."""
    last_fault: str | None
    most_in_batch: int | None
    """The largest batch it takes, where it refused a larger one."""
    pins_by_hash: bool


def status_of(endpoint: Endpoint, now: float) -> EndpointStatus:
    wait = endpoint.wait(now)
    state: Literal["ready", "untried", "resting", "wrong chain"] = "ready"
    if endpoint.wrong_chain_id is not None:
        state = "wrong chain"
    elif wait > 0:
        state = "resting"
    elif not endpoint.chain_checked:
        state = "untried"
    return EndpointStatus(
        label=endpoint.label,
        state=state,
        wait_seconds=wait,
        answered_chain_id=endpoint.wrong_chain_id,
        last_fault=endpoint.last_fault.sentence if endpoint.last_fault else None,
        most_in_batch=endpoint.most_in_batch,
        pins_by_hash=endpoint.pins_by_hash,
    )


class Breaker:
    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits
        self.faults = 0
        """In a row, since the last success."""
        self._rests_until = 0.0
        self._probing = False

    def wait(self, now: float) -> float:
        """Seconds until a try is welcome; 0 when it is welcome now."""
        if self._probing:
            return self._limits.rest_seconds
        return max(0.0, self._rests_until - now)

    def admit(self, now: float) -> bool:
        """Take the right to one try; after a rest only one try at a time is let through."""
        if self.wait(now) > 0:
            return False
        self._probing = self.faults >= self._limits.faults_to_rest
        return True

    def record_success(self) -> None:
        self.faults = 0
        self._probing = False
        self._rests_until = 0.0

    def record_failure(self, now: float) -> None:
        self.faults += 1
        self._probing = False
        beyond = self.faults - self._limits.faults_to_rest
        if beyond >= 0:
            rest = self._limits.rest_seconds * 2.0 ** min(beyond, 16)
            self._rests_until = now + min(rest, self._limits.most_rest_seconds)

    def release(self) -> None:
        """A try that ended without telling anything, such as one that was cancelled."""
        self._probing = False


_SECRET_LENGTH = 8


class BatchLimits(Struct, frozen=True):
    """What an endpoint was found to take in one request."""

    most: int | None = None
    """The largest batch it took after it refused a larger one."""
    alone: tuple[str, ...] = ()
    """Methods of which it takes no more than one call in a batch."""
    learned_at: float = 0.0


LEARNED_KEPT_SECONDS = 86_400.0
"""A plan may change, or what a provider gives."""


class Endpoint(Struct, eq=False):
    label: str
    host: str
    url: str
    authorization: str | None
    secrets: tuple[str, ...]
    breaker: Breaker
    pace: RequestPace
    chain_checked: bool = False

    def __repr__(self) -> str:
        return f"Endpoint({self.label})"

    wrong_chain_id: int | None = None
    """The other chain it answered for; it is not asked again."""
    batches: BatchLimits = BatchLimits()
    pins_by_hash: bool = True
    """Whether it takes a block's hash where a block is named (EIP-1898)."""
    behind_until: float = 0.0
    """Until when the others are asked first, because it failed or its head was stale."""
    rests_until: float = 0.0
    """When it said it may be asked again."""
    last_fault: RpcError | None = None

    @property
    def most_in_batch(self) -> int | None:
        return self.batches.most

    @property
    def fingerprint(self) -> str:
        """Tells it from others, also of the same host, without telling its key."""
        return hashlib.sha256(self.url.encode()).hexdigest()[:16]

    def wait(self, now: float) -> float:
        """Seconds until it may be asked; 0 when it may be asked now."""
        return max(self.rests_until - now, self.breaker.wait(now), 0.0)

    def clean(self, server_text: str) -> str:
        """What a server said, fit to show: servers like to quote the key they were called with."""
        for secret in self.secrets:
            server_text = server_text.replace(secret, "[hidden]")
        return clean_text(server_text)


READING_SCHEMES = ("http", "https")
SOCKET_SCHEMES = ("ws", "wss")


def endpoints_of(
    urls: Sequence[str], limits: RequestLimits, schemes: tuple[str, str] = READING_SCHEMES
) -> tuple[Endpoint, ...]:
    """The endpoints in order of preference, each with a label of its own."""
    parts = [_parts(url, place, schemes) for place, url in enumerate(urls, 1)]
    hosts = [_host(part) for part in parts]
    return tuple(
        Endpoint(
            label=host if hosts.count(host) == 1 else f"{host} (endpoint {place})",
            host=part.hostname or "",
            url=part._replace(netloc=part.netloc.rpartition("@")[2]).geturl(),
            authorization=_authorization(part),
            secrets=_secrets(url, part),
            breaker=Breaker(limits),
            pace=RequestPace(limits.limited_seconds, limits.most_rest_seconds),
        )
        for place, (url, part, host) in enumerate(zip(urls, parts, hosts, strict=True), 1)
    )


def _parts(url: str, place: int, schemes: tuple[str, str]) -> SplitResult:
    try:
        part = urlsplit(url)
        usable = part.scheme in schemes and bool(part.hostname) and part.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise NoEndpoint(f"Endpoint {place} is not an {' or '.join(schemes)} address.")
    return part


def _host(part: SplitResult) -> str:
    host = clean_text(part.hostname or "", limit=80)
    host = f"[{host}]" if ":" in host else host
    return host if part.port is None else f"{host}:{part.port}"


def _authorization(part: SplitResult) -> str | None:
    if part.username is None:
        return None
    pair = f"{unquote(part.username)}:{unquote(part.password or '')}"
    return "Basic " + b64encode(pair.encode()).decode()


def _secrets(url: str, part: SplitResult) -> tuple[str, ...]:
    """Every piece of the URL that may be a key, the longest first."""
    pieces = {
        url,
        part.path,
        part.query,
        part.username or "",
        part.password or "",
        *part.path.split("/"),
        *(value for _, value in parse_qsl(part.query)),
    }
    pieces |= {unquote(piece) for piece in pieces}
    return tuple(sorted((p for p in pieces if len(p) >= _SECRET_LENGTH), key=len, reverse=True))


T = TypeVar("T")

_BATCHES, _RANGES = "endpoint batches", "log range"
_FEWEST_FOLLOWED = 50


class KnownRange(Struct, frozen=True):
    """Of how many blocks an endpoint was found to give the logs at once."""

    blocks: int
    most: bool
    """Whether it refused more."""

    @property
    def gives_logs(self) -> bool:
        """Enough of them to follow a wallet by: less is gone by when somebody looks again."""
        return self.blocks >= _FEWEST_FOLLOWED or not self.most


class EndpointMemory:
    """Without a store it lasts as long as the process.

    What cannot be saved is found out again: no read fails for want of it.
    """

    def __init__(self, store: Store | None, network: Network, clock: Callable[[], float]) -> None:
        self._store = store
        self._unsaved: dict[tuple[str, str], object] = {}
        self._clock = clock
        self._chain_id = network.chain_id

    def recall_batches(self, endpoints: Sequence[Endpoint]) -> None:
        """Tell the endpoints how large a batch each was found to take."""
        for endpoint in endpoints:
            known = self._read(BatchLimits, _BATCHES, self._key(endpoint))
            endpoint.batches = known or BatchLimits()

    def remember_batch(self, endpoint: Endpoint) -> None:
        self._write(_BATCHES, self._key(endpoint), to_builtins(endpoint.batches))

    def log_range(self, endpoints: Sequence[Endpoint]) -> KnownRange | None:
        """What these give together: any of them may be asked."""
        return self._read(KnownRange, _RANGES, self._key(*endpoints))

    def remember_log_range(self, endpoints: Sequence[Endpoint], known: KnownRange) -> None:
        self._write(_RANGES, self._key(*endpoints), to_builtins(known))

    def _read(self, kind: type[T], namespace: str, key: str) -> T | None:
        if self._store is None:
            return read_as(kind, self._unsaved.get((namespace, key)))
        learned = self._store.written_at(namespace, key)
        if learned is None or learned < self._clock() - LEARNED_KEPT_SECONDS:
            return None
        return self._store.read(kind, namespace, key)

    def _write(self, namespace: str, key: str, value: object) -> None:
        if self._store is None:
            self._unsaved[namespace, key] = value
            return
        with suppress(StoreError):
            self._store.put(namespace, key, value, now=self._clock())

    def _key(self, *endpoints: Endpoint) -> str:
        return (
            f"{self._chain_id}/{' '.join(sorted(endpoint.fingerprint for endpoint in endpoints))}"
        )
