"""A process that reads a pool's past and is killed at one chosen moment of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.chain.history.busy_pool import BusyNode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chain.base.store import Store
    from chain.rpc.requests import Request


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


def _blocks(request: Request[object]) -> range:
    query = request.params[0]
    assert isinstance(query, dict)
    return range(int(str(query["fromBlock"]), 16), int(str(query["toBlock"]), 16) + 1)
