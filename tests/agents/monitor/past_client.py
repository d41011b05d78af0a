"""A client to whom a chosen block of the past is the newest: history, polled as if it were now."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from msgspec.structs import replace

from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.records import Block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.rpc.errors import RpcError
    from chain.rpc.records import Json
    from chain.rpc.requests import Request

T = TypeVar("T")


class PastClient(RpcClient):
    now: int = 0
    """The block that is taken for the head."""

    async def settle(self, asked: Sequence[Request[T]]) -> list[T | RpcError]:
        return await super().settle([self._in_the_past(one) for one in asked])

    async def with_head(
        self, asked: Sequence[Request[T]], max_age: float | None = None
    ) -> tuple[Block, list[T | RpcError]]:
        together = [cast("Request[T]", requests.block(self.now)), *asked]
        header, *others = await self.settle(together)
        assert isinstance(header, Block)
        return header, others

    def _in_the_past(self, asked: Request[T]) -> Request[T]:
        return replace(asked, params=tuple(self._dated(one) for one in asked.params))

    def _dated(self, param: Json) -> Json:
        if param in ("latest", "finalized"):
            return hex(self.now)
        if isinstance(param, dict) and "toBlock" in param:
            return {**param, "toBlock": self._dated(param["toBlock"])}
        return param
