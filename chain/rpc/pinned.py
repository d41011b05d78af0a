"""Reads all about one block: by its hash where the node can, else by number and re-checked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from chain.rpc.errors import Refused, Reorged, RpcError, StatePruned
from chain.rpc.reader import Reader
from chain.rpc.requests import block as block_at
from chain.rpc.types import Block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.rpc.endpoint import Endpoint
    from chain.rpc.exchange import Exchange, Outcome
    from chain.rpc.failover import Failover
    from chain.rpc.requests import Request

T = TypeVar("T")
_PARAMETER_CODES = frozenset((-32600, -32602))
_PARAMETER_WORDS = re.compile(
    r"unmarshal|invalid (argument|block|param|type)|hex string|blockhash|expected (a )?string", re.I
)


class PinnedReader(Reader):
    """Answers about `block` and no other: a reorganisation is an error, never mixed data."""

    def __init__(self, exchange: Exchange, failover: Failover, block: Block) -> None:
        self.block = block
        self._exchange = exchange
        self._failover = failover
        self._endpoint: Endpoint | None = None

    @property
    def pinned_by(self) -> Literal["hash", "number"]:
        """How the endpoint that answered last was held to the block."""
        by_number = self._endpoint is not None and not self._endpoint.pins_by_hash
        return "number" if by_number else "hash"

    async def settle(self, requests: Sequence[Request[T]]) -> list[T | RpcError]:
        """Each question's own outcome at the pinned block, whatever block it was written for."""
        if not requests:
            return []
        by_hash = [request.at(self.block.hash) for request in requests]
        by_number = [request.at(self.block.number) for request in requests]

        async def attempt(endpoint: Endpoint, seconds: float) -> list[Outcome]:
            if not endpoint.pins_by_hash:
                return await self._by_number(endpoint, by_number, seconds)
            outcomes = await self._exchange.ask(endpoint, by_hash, seconds)
            if any(isinstance(outcome, StatePruned) for outcome in outcomes):
                await self._check_still_there(endpoint, seconds)
            if not any(map(_refuses_hashes, outcomes)):
                return outcomes
            numbered = await self._by_number(endpoint, by_number, seconds)
            # A question that is wrong in itself is refused either way: that says nothing of hashes.
            endpoint.pins_by_hash = any(map(_refuses_hashes, numbered))
            return numbered

        answered = await self._failover.run(attempt, prefer=self._endpoint)
        self._endpoint = answered.endpoint
        return cast("list[T | RpcError]", answered.outcomes)

    async def _by_number(
        self, endpoint: Endpoint, requests: Sequence[Request[object]], seconds: float
    ) -> list[Outcome]:
        """The block is looked at before and after the reads: both times it must be ours."""
        here = block_at(self.block.number)
        before, *outcomes, after = await self._exchange.ask(
            endpoint, [here, *requests, here], seconds
        )
        for found in (before, after):
            self._check_hash(endpoint, found)
        return outcomes

    async def _check_still_there(self, endpoint: Endpoint, seconds: float) -> None:
        [found] = await self._exchange.ask(endpoint, [block_at(self.block.number)], seconds)
        if isinstance(found, Block):
            self._check_hash(endpoint, found)

    def _check_hash(self, endpoint: Endpoint, found: Outcome) -> None:
        if isinstance(found, RpcError):
            raise found
        if not isinstance(found, Block):
            raise StatePruned(f"it has no block {self.block.number}", endpoint=endpoint.label)
        if found.hash != self.block.hash:
            raise Reorged(self.block.number, self.block.hash, found.hash, endpoint=endpoint.label)


def _refuses_hashes(outcome: Outcome) -> bool:
    return isinstance(outcome, Refused) and (
        outcome.code in _PARAMETER_CODES or bool(_PARAMETER_WORDS.search(outcome.message))
    )
