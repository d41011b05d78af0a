"""New blocks as an endpoint announces them over a WebSocket; polling goes on without them.

An announcement is a hint and no fact: whoever hears it reads the chain over HTTP as ever.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from chain.base import strict_json
from chain.base.http import has_address, web_socket
from chain.contracts.networks import Network
from chain.rpc import records, requests, wire
from chain.rpc.endpoint import SOCKET_SCHEMES, Endpoint, endpoints_of
from chain.rpc.errors import (
    HttpFault,
    Malformed,
    RpcError,
    RpcRefused,
    TimedOut,
    Unreachable,
    WrongChain,
)
from chain.rpc.requests import Request, RequestLimits, stale_seconds

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection


_T = TypeVar("_T")

_INVALID = (wire.InvalidRpcReplyError, records.InvalidValueError, strict_json.InvalidJsonError)
_LARGEST_MESSAGE = 1 << 18
_MOST_DOUBLINGS = 16


class HeadListener(Struct, frozen=True):
    """Who is told: of a new block's number, and of a line that is down (None: up again)."""

    announced: Callable[[int], None]
    line_changed: Callable[[RpcError | None], None]
    between_seconds: float
    """The least time between two announcements; of blocks in between the newest is told."""


async def follow_heads(
    network: Network,
    urls: Sequence[str],
    listener: HeadListener,
    *,
    limits: RequestLimits | None = None,
    jitter: Callable[[], float] = random.random,
) -> None:
    """Until cancelled: tell of new blocks; a line that breaks is opened again."""
    limits = limits or RequestLimits()
    faults = 0
    for endpoint in itertools.cycle(endpoints_of(urls, limits, SOCKET_SCHEMES)):
        announcer = _Announcer(listener)
        try:
            async with _subscribed(network, endpoint, limits) as heads:
                listener.line_changed(None)
                async for number in heads:
                    faults = 0
                    announcer.on_head(number)
        except Exception as error:  # polling goes on, whatever it was
            listener.line_changed(_fault(error, endpoint, limits))
        finally:
            announcer.close()
        pause = limits.rest_seconds * 2.0 ** min(faults, _MOST_DOUBLINGS)
        faults += 1
        await asyncio.sleep(min(pause, limits.most_rest_seconds) * (0.5 + jitter() / 2))


async def try_subscription(network: Network, url: str) -> str:
    """Subscribe once and leave again; the endpoint's name, or the error that kept us out."""
    limits = RequestLimits()
    (endpoint,) = endpoints_of((url,), limits, SOCKET_SCHEMES)
    try:
        async with _subscribed(network, endpoint, limits):
            return endpoint.label
    except Exception as error:
        fault = _fault(error, endpoint, limits)
    raise fault


class _Announcer:
    """Tells of the newest block at once, or as soon as enough time has passed since the last."""

    def __init__(self, listener: HeadListener) -> None:
        self._listener = listener
        self._newest = 0
        self._not_before = 0.0
        self._due: asyncio.TimerHandle | None = None

    def on_head(self, number: int) -> None:
        self._newest = number
        if self._due is None:
            loop = asyncio.get_running_loop()
            self._due = loop.call_at(max(loop.time(), self._not_before), self._announce)

    def close(self) -> None:
        if self._due is not None:
            self._due.cancel()

    def _announce(self) -> None:
        self._due = None
        self._not_before = asyncio.get_running_loop().time() + self._listener.between_seconds
        self._listener.announced(self._newest)


@asynccontextmanager
async def _subscribed(
    network: Network, endpoint: Endpoint, limits: RequestLimits
) -> AsyncIterator[AsyncIterator[int]]:
    async with asyncio.timeout(limits.connect_seconds):
        if not await has_address(endpoint.host):
            raise Unreachable("is a host name that does not resolve", endpoint=endpoint.label)
    async with web_socket(
        endpoint.url,
        connect_seconds=limits.connect_seconds,
        most_bytes=_LARGEST_MESSAGE,
        authorization=endpoint.authorization,
    ) as socket:
        async with asyncio.timeout(limits.answer_seconds):
            answered = await _ask(socket, endpoint, requests.chain_id(), 1)
            if answered != network.chain_id:
                raise WrongChain(answered, network, endpoint=endpoint.label)
            identity = await _ask(socket, endpoint, _SUBSCRIBE, 2)
        yield _heads(network, socket, endpoint, identity)


_SUBSCRIBE: Request[str] = Request("eth_subscribe", ("newHeads",), records.text)


async def _ask(
    socket: ClientConnection, endpoint: Endpoint, request: Request[_T], number: int
) -> _T:
    await socket.send(wire.encode_requests((request,), number).decode())
    (reply,) = wire.read(await _received(socket), number, 1)
    if isinstance(reply, wire.ServerError):
        raise RpcRefused(reply.code, endpoint.clean(reply.message), endpoint=endpoint.label)
    return request.parse(reply.value)


async def _heads(
    network: Network, socket: ClientConnection, endpoint: Endpoint, identity: str
) -> AsyncIterator[int]:
    # The embedded chain may be paused; a live network that falls silent is a broken line.
    silence = None if network.clock == "head" else stale_seconds(network)
    while True:
        try:
            async with asyncio.timeout(silence):
                message = await _received(socket)
        except TimeoutError:
            what = f"announced no block for {silence:.0f} s"
            raise Unreachable(what, endpoint=endpoint.label) from None
        told = records.fields(records.fields(strict_json.loads(message)).get("params"))
        if told.get("subscription") == identity:
            yield records.small_quantity(records.fields(told.get("result")).get("number"))


async def _received(socket: ClientConnection) -> bytes:
    message = await socket.recv()
    return message.encode() if isinstance(message, str) else message


def _fault(error: Exception, endpoint: Endpoint, limits: RequestLimits) -> RpcError:
    """What broke the line, in words that hold no URL."""
    from websockets.exceptions import ConnectionClosed, InvalidStatus

    label = endpoint.label
    match error:
        case RpcError():
            return error
        case TimeoutError():
            return TimedOut(limits.connect_seconds, endpoint=label, connecting=True)
        case InvalidStatus():
            return HttpFault(error.response.status_code, endpoint=label)
        case _ if isinstance(error, _INVALID):
            return Malformed(str(error), endpoint=label)
    broken = isinstance(error, ConnectionClosed)
    what = "broke the WebSocket off" if broken else "is not reachable over WebSocket"
    return Unreachable(what, endpoint=label)
