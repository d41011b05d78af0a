"""Reads all about one block: by its hash where the node can, else by number and re-checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from chain.rpc.errors import Reorged, RpcError, StatePruned
from chain.rpc.held_to_block import ask_held, settle_patiently
from chain.rpc.reader import Reader
from chain.rpc.records import Block
from chain.rpc.requests import Request
from chain.rpc.requests import block as block_at

if TYPE_CHECKING:
    from chain.rpc.endpoint import Endpoint
    from chain.rpc.exchange import Outcome, RpcExchange
    from chain.rpc.failover import Failover

T = TypeVar("T")


class PinnedReader(Reader):
    """Answers about `block` and no other: a reorganisation is an error, never mixed data."""

    def __init__(self, exchange: RpcExchange, failover: Failover, block: Block) -> None:
        self.block = block
        self._exchange = exchange
        self._failover = failover
        self._endpoint: Endpoint | None = None

    async def settle(self, requests: Sequence[Request[T]]) -> list[T | RpcError]:
        """Each question's own outcome at the pinned block, whatever block it was written for."""
        if not requests:
            return []
        held = [request.at(self.block.hash) for request in requests]
        self._exchange.recent.note((self.block,))
        outcomes = await settle_patiently(self._ask, self._exchange, held, self._failover.monotonic)
        return cast("list[T | RpcError]", outcomes)

    async def _ask(self, requests: Sequence[Request[object]], ends: float) -> list[Outcome]:
        async def attempt(endpoint: Endpoint, seconds: float) -> list[Outcome]:
            outcomes = await ask_held(self._exchange, endpoint, requests, seconds)
            if any(isinstance(outcome, StatePruned) for outcome in outcomes):
                await self._check_still_there(endpoint, seconds)
            return outcomes

        answered = await self._failover.run(
            attempt, prefer=self._endpoint, ends=ends, limited_in_part=True
        )
        self._endpoint = answered.endpoint
        return answered.outcomes

    async def _check_still_there(self, endpoint: Endpoint, seconds: float) -> None:
        [found] = await self._exchange.ask(endpoint, [block_at(self.block.number)], seconds)
        if isinstance(found, Block) and found.hash != self.block.hash:
            raise Reorged(self.block.number, self.block.hash, found.hash, endpoint=endpoint.label)
