"""One HTTP request to an endpoint: what goes wrong is told as an error of the RPC client's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from chain.base.http import HttpAnswer, HttpClient, HttpError, HttpFailure, HttpLimits
from chain.rpc.errors import Malformed, RpcError, TimedOut, TooLarge, Unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.rpc.endpoint import Endpoint
    from chain.rpc.requests import RequestLimits

_BEFORE_SENDING = frozenset(
    (HttpFailure.NO_ADDRESS, HttpFailure.NOT_REACHABLE, HttpFailure.NOT_TRUSTED)
)


class RpcTransport(Protocol):
    """How bytes get to an endpoint and back."""

    round_trips: int

    async def post(
        self, endpoint: Endpoint, body: bytes, *, seconds: float, most_bytes: int
    ) -> HttpAnswer: ...

    async def close(self) -> None: ...


class HttpTransport:
    """The connections of one client."""

    def __init__(self, endpoints: Sequence[Endpoint], limits: RequestLimits) -> None:
        self._connect_seconds = limits.connect_seconds
        self._http = HttpClient(*(endpoint.url for endpoint in endpoints))
        self.round_trips = 0

    async def post(
        self, endpoint: Endpoint, body: bytes, *, seconds: float, most_bytes: int
    ) -> HttpAnswer:
        """Send the bytes once; whatever goes wrong is raised as an error that holds no URL."""
        self.round_trips += 1
        key = endpoint.authorization
        headers = {} if key is None else {"authorization": key}
        limits = HttpLimits(self._connect_seconds, seconds, most_bytes)
        try:
            return await self._http.post(endpoint.url, body, limits, headers)
        except HttpError as error:
            fault = _fault(error, limits, endpoint.label)
        raise fault

    async def close(self) -> None:
        await self._http.close()


def _fault(error: HttpError, limits: HttpLimits, label: str) -> RpcError:
    match error.failure:
        case HttpFailure.TIMED_OUT:
            return TimedOut(limits.answer_seconds, endpoint=label)
        case HttpFailure.NOT_CONNECTED:
            waited = min(limits.answer_seconds, limits.connect_seconds)
            return TimedOut(waited, endpoint=label, connecting=True)
        case HttpFailure.TOO_LARGE:
            return TooLarge(limits.most_bytes, endpoint=label)
        case HttpFailure.UNKNOWN_COMPRESSION:
            return Malformed("it is compressed in an unknown way", endpoint=label)
        case HttpFailure.BROKEN_COMPRESSION:
            return Malformed("its compression is broken", endpoint=label)
        case failure:
            before = failure in _BEFORE_SENDING
            return Unreachable(str(error), endpoint=label, before_sending=before)
