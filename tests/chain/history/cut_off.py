"""A process that reads the past and is killed at one chosen moment of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from chain.base.http import HttpAnswer
from chain.base.store import Store
from chain.rpc.requests import Request
from tests.chain.history.busy_pool import BusyNode
from tests.fakes.providers.profile import Profile
from tests.fakes.providers.provider import Provider
from tests.fakes.providers.virtual_chain import VirtualChain


class CutOffError(Exception):
    """Whoever reads is not there any more."""


class Moments:
    """Counts what a process does, and ends it before the one that is chosen."""

    def __init__(self, last: int | None = None) -> None:
        self.passed = 0
        self._last = last

    def pass_one(self) -> None:
        if self.passed == self._last:
            raise CutOffError
        self.passed += 1


class WrittenStore:
    """A store whose every write is a moment; what was written before stays."""

    def __init__(self, store: Store, moments: Moments) -> None:
        self._store = store
        self._moments = moments

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def put(self, namespace: str, key: str, value: object, *, now: float) -> None:
        self._moments.pass_one()
        self._store.put(namespace, key, value, now=now)

    def put_many(self, namespace: str, values: Mapping[str, object], *, now: float) -> None:
        self._moments.pass_one()
        self._store.put_many(namespace, values, now=now)

    def forget_key(self, namespace: str, key: str) -> bool:
        self._moments.pass_one()
        return self._store.forget_key(namespace, key)


class AskedNode(BusyNode):
    """A node whose every answer is a moment: it was asked, and nobody heard what it told."""

    def __init__(self, blocks: int, swaps_a_block: int, most_logs: int) -> None:
        super().__init__(blocks, swaps_a_block, most_logs)
        self.moments = Moments()
        self.told: list[list[range]] = []
        """By request the blocks whose logs were given."""

    async def settle(self, requests: Sequence[Request[object]]) -> list[object]:
        answers = await super().settle(requests)
        given = [
            _blocks(request)
            for request, answer in zip(requests, answers, strict=True)
            if request.method == "eth_getLogs" and isinstance(answer, tuple)
        ]
        if given:
            self.told.append(given)
        self.moments.pass_one()
        return answers


class AskedProvider(Provider):
    """The same behind a provider's habits, of the logs with one topic."""

    def __init__(self, profile: Profile, chain: VirtualChain, moments: Moments, topic: str) -> None:
        super().__init__(profile, chain, chain.clock)
        self._moments = moments
        self._topic = topic
        self.told: list[list[range]] = []

    def respond(self, body: bytes, seconds: float) -> HttpAnswer | None:
        self._given: list[range] = []
        answer = super().respond(body, seconds)
        if self._given:
            self.told.append(self._given)
        self._moments.pass_one()
        return answer

    def _reply(self, call: dict[str, Any]) -> tuple[dict[str, Any], int]:
        reply, status = super()._reply(call)
        if call["method"] == "eth_getLogs" and "result" in reply:
            [query] = call["params"]
            if query["topics"][0] == self._topic:
                self._given.append(_range_of(query))
        return reply, status


def _blocks(request: Request[object]) -> range:
    query = request.params[0]
    assert isinstance(query, dict)
    return _range_of(query)


def _range_of(query: Mapping[str, object]) -> range:
    return range(int(str(query["fromBlock"]), 16), int(str(query["toBlock"]), 16) + 1)
