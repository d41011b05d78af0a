"""One provider: a chain behind the habits of a profile, reached as bytes and without a socket."""

import json
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

from chain.base.http import HttpAnswer
from chain.base.store import Store
from chain.contracts.addresses import keccak
from chain.contracts.networks import Network
from chain.rpc.client import RpcClient
from chain.rpc.endpoint import Endpoint
from chain.rpc.errors import TimedOut, TooLarge
from tests.fakes.honest_node import NodeRefusalError
from tests.fakes.providers.clock import VirtualClock
from tests.fakes.providers.profile import Profile, Refusal

_GAS_A_KILOBYTE = 20_000
"""Of calldata: a question for an owner is 224 bytes and takes some four thousand gas."""


_SEND = "eth_sendRawTransaction"
RESET = 0
"""In place of a status: the connection is cut."""


class ChainBehind(Protocol):
    @property
    def head(self) -> int: ...

    def answer(self, method: str, params: list[object], behind: int) -> object: ...


class ProviderClock(Protocol):
    now: float


@dataclass
class Provider:
    profile: Profile
    chain: ChainBehind
    clock: ProviderClock
    seed: int = 7
    requests: int = 0
    calls: int = 0
    refused: list[str] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        self.served = 0
        self._seen_at: dict[str, float] = {}
        self._tokens = self.profile.rate.burst if self.profile.rate else 0.0
        self._filled_at = self.clock.now

    def forget_counts(self) -> None:
        self.requests = self.calls = 0
        self.refused.clear()
        self.methods.clear()

    def respond(self, body: bytes, seconds: float) -> HttpAnswer | None:
        """What it answers within so many seconds of the virtual clock; None if nothing by then."""
        self.requests += 1
        asked = json.loads(body)
        calls = asked if isinstance(asked, list) else [asked]
        self.calls += len(calls)
        self.methods += [call["method"] for call in calls]
        profile = self.profile
        took = profile.latency + sum(map(self._seconds, calls))
        if took > seconds:
            self.clock.now += seconds
            self.refused.append("no answer in time")
            return None
        self.clock.now += took
        if profile.closed is not None:
            return HttpAnswer(profile.closed, b'{"error": "a key is needed"}')
        if (gateway := self._gateway(calls)) is not None:
            return self._whole(gateway, 0)
        if profile.most_body_bytes is not None and len(body) > profile.most_body_bytes:
            self.refused.append("413")
            return HttpAnswer(413, b"<html>413 Request Entity Too Large</html>")
        if profile.most_in_batch is not None and len(calls) > profile.most_in_batch:
            return self._whole(profile.batch_too_large, profile.most_in_batch)
        rate = profile.rate
        if rate is not None and not rate.each_item and not self._taken(len(calls)):
            wait = None if rate.retry_after is None else str(rate.retry_after)
            return self._whole(rate.refusal, 0, wait)
        if profile.sends and calls[0]["method"] == _SEND:
            return self._sent(calls[0])
        replies = [self._reply(call) for call in calls]
        status = max((status for _, status in replies), default=200)
        if status >= 500:
            return HttpAnswer(status, b"<html>bad gateway</html>")
        told = [reply for reply, _ in replies]
        if profile.drops_of_batch and len(told) > 1:
            told = told[:-1]
        if profile.shuffled:
            self._random.shuffle(told)
        return HttpAnswer(status, json.dumps(told if isinstance(asked, list) else told[0]).encode())

    def _sent(self, call: dict[str, Any]) -> HttpAnswer:
        """What its pool does with a transaction, and what is said of it."""
        told, sends = {"jsonrpc": "2.0", "id": call["id"]}, self.profile.sends
        if sends == "refused":
            return self._whole(Refusal(403, "Forbidden", 403, page=True), 0)
        if sends == "dropped":
            hashed = "0x" + keccak(bytes.fromhex(call["params"][0][2:])).hex()
            return HttpAnswer(200, json.dumps({**told, "result": hashed}).encode())
        with suppress(NodeRefusalError):
            self.chain.answer(_SEND, call["params"], 0)
        if sends == "answer lost":
            return HttpAnswer(RESET, b"")
        error = self._error(Refusal(-32000, "already known"))
        return HttpAnswer(200, json.dumps({**told, "error": error}).encode())

    def _whole(self, refusal: Refusal, most: int, wait: str | None = None) -> HttpAnswer:
        error = self._error(refusal, most=most)
        wait = wait if refusal.retry_after is None else str(refusal.retry_after)
        if refusal.reset:
            return HttpAnswer(RESET, b"")
        if refusal.empty:
            return HttpAnswer(refusal.status, b"", wait)
        if refusal.page:
            return HttpAnswer(refusal.status, f"<html>{refusal.words}</html>".encode(), wait)
        told = {"jsonrpc": "2.0", "id": None, "error": error}
        return HttpAnswer(refusal.status, json.dumps(told).encode(), wait)

    def _gateway(self, calls: list[dict[str, Any]]) -> Refusal | None:
        """What stands before the node says instead of it, where it does."""
        profile = self.profile
        if profile.quota is not None and self.served >= profile.quota[0]:
            return profile.quota[1]
        if profile.some_requests is not None and self._random.random() < profile.some_requests[0]:
            return profile.some_requests[1]
        self.served += 1
        if profile.each_request is not None and self.served % profile.each_request[0] == 0:
            return profile.each_request[1]
        if profile.alone_in_batch is not None:
            method, refusal = profile.alone_in_batch
            return refusal if [one["method"] for one in calls].count(method) > 1 else None
        return None

    def _error(self, refusal: Refusal, **named: int) -> dict[str, Any]:
        words = refusal.words.format(**named)
        self.refused.append(words)
        return {"code": refusal.code, "message": words}

    def _taken(self, calls: int) -> bool:
        rate = self.profile.rate
        assert rate is not None
        passed = self.clock.now - self._filled_at
        self._filled_at = self.clock.now
        self._tokens = min(rate.burst, self._tokens + passed * rate.calls_a_second)
        if self._tokens < calls:
            return False
        self._tokens -= calls
        return True

    def _seconds(self, call: dict[str, Any]) -> float:
        if call["method"] != "eth_getLogs":
            return 0.0
        took = self._blocks(call) / 1e6 * self.profile.seconds_a_million_blocks
        return min(took, self.profile.slow_seconds) if self.profile.slow else took

    def _blocks(self, call: dict[str, Any]) -> int:
        wanted = call["params"][0]
        last = wanted["toBlock"]
        until = self.chain.head if last == "latest" else int(last, 16)
        return until - int(wanted["fromBlock"], 16) + 1

    def _reply(self, call: dict[str, Any]) -> tuple[dict[str, Any], int]:
        asked = str(call["id"]) if self.profile.ids_as_text else call["id"]
        told: dict[str, Any] = {"jsonrpc": "2.0", "id": asked}
        if self.profile.extra_fields:
            told["took_ms"] = 3
        refusal = self._refusal(call)
        if refusal is not None:
            error, status = refusal
            return {**told, "error": error}, status
        behind = int(self._random.random() < self.profile.share_behind)
        try:
            result = self.chain.answer(call["method"], call["params"], behind)
        except NodeRefusalError as error:
            self.refused.append(error.message)
            data = {} if error.data is None else {"data": error.data}
            return {**told, "error": {"code": error.code, "message": error.message, **data}}, 200
        result = self._as_told(call, result)
        most = self.profile.most_logs
        if call["method"] == "eth_getLogs" and most is not None and len(list(result)) > most:
            return {**told, "error": self._error(self.profile.too_many_logs, most=most)}, 200
        return {**told, "result": result}, 200

    def _as_told(self, call: dict[str, Any], result: Any) -> Any:
        profile, method = self.profile, call["method"]
        if method in profile.null_methods:
            return None
        if method.startswith("eth_getBlockBy") and self._random.random() < profile.null_blocks:
            return None
        if method == "eth_getTransactionReceipt" and profile.receipts_late and result is not None:
            first = self._seen_at.setdefault(call["params"][0], self.clock.now)
            return result if self.clock.now - first >= profile.receipts_late else None
        if method == "eth_getLogs":
            none = self._random.random() < profile.empty_logs
            return [] if none else list(result)[: profile.fewest_logs]
        return result

    def _refusal(self, call: dict[str, Any]) -> tuple[dict[str, Any], int] | None:
        profile, method = self.profile, call["method"]
        rate = profile.rate
        if rate is not None and rate.each_item and not self._taken(1):
            return self._error(rate.refusal), 200
        refused = dict(profile.refused_methods).get(method)
        if refused is not None:
            return self._error(refused), refused.status
        tag = next((one for one in call["params"] if isinstance(one, str)), "")
        if (of_tag := dict(profile.refused_tags).get(tag)) is not None:
            return self._error(of_tag), of_tag.status
        if method == "eth_getLogs":
            return self._refused_logs(call)
        if method == "eth_call":
            return self._refused_call(call)
        return None

    def _refused_logs(self, call: dict[str, Any]) -> tuple[dict[str, Any], int] | None:
        profile, blocks = self.profile, self._blocks(call)
        if profile.most_blocks is not None and blocks > profile.most_blocks:
            refusal = profile.too_many_blocks
            return self._error(refusal, asked=blocks, most=profile.most_blocks), refusal.status
        took = blocks / 1e6 * profile.seconds_a_million_blocks
        if profile.slow is not None and took > profile.slow_seconds:
            return self._error(profile.slow), profile.slow.status
        oldest = int(call["params"][0]["fromBlock"], 16)
        if profile.logs_kept is not None and oldest < self.chain.head - profile.logs_kept:
            if profile.old_logs == "refused":
                self.refused.append("pruned history unavailable")
                return {"code": 4444, "message": "pruned history unavailable"}, 200
            call["params"][0]["fromBlock"] = hex(self.chain.head - profile.logs_kept)
        return None

    def _refused_call(self, call: dict[str, Any]) -> tuple[dict[str, Any], int] | None:
        profile, (asked, at) = self.profile, call["params"][:2]
        if isinstance(at, dict) and not profile.takes_hashes:
            words = "invalid argument 1: json: cannot unmarshal object into Go value of type string"
            self.refused.append(words)
            return {"code": -32602, "message": words}, 200
        if profile.overrides is not None and len(call["params"]) > 2:
            return self._error(profile.overrides), 200
        number = int(at, 16) if isinstance(at, str) and at.startswith("0x") else self.chain.head
        if profile.state_kept is not None and number < self.chain.head - profile.state_kept:
            self.refused.append("missing trie node")
            return {"code": -32000, "message": "missing trie node 0abc (path )"}, 200
        if len(asked["data"]) / 2_000 * _GAS_A_KILOBYTE > profile.call_gas:
            self.refused.append("out of gas")
            return {"code": -32000, "message": "out of gas"}, 200
        return None


class ProviderTransport:
    """Several providers behind one client, each at an address of its own."""

    def __init__(self, *providers: Provider) -> None:
        self._providers = {f"{n}.example": one for n, one in enumerate(providers)}
        self.urls = [f"https://{host}/" for host in self._providers]
        self.round_trips = 0

    async def post(
        self, endpoint: Endpoint, body: bytes, *, seconds: float, most_bytes: int
    ) -> HttpAnswer:
        self.round_trips += 1
        answer = self._providers[endpoint.host].respond(body, seconds)
        if answer is None:
            raise TimedOut(seconds, endpoint=endpoint.label)
        if len(answer.body) > most_bytes:
            raise TooLarge(most_bytes, endpoint=endpoint.label)
        return answer

    async def close(self) -> None:
        """Nothing is open."""


def client_through(network: Network, *providers: Provider, store: Store | None = None) -> RpcClient:
    """A client that reaches these providers, and lives by their clock."""
    clock = providers[0].clock
    assert isinstance(clock, VirtualClock)
    transport = ProviderTransport(*providers)
    return RpcClient(
        network,
        transport.urls,
        clock=clock.read,
        monotonic=clock.read,
        jitter=lambda: 0.5,
        sleep=clock.sleep,
        transport=transport,
        store=store,
    )
