"""Many questions in parts that an endpoint bears, each asked again after a limit was waited out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from chain.rpc.errors import RateLimited, RpcError

if TYPE_CHECKING:
    from chain.rpc.client import RpcClient
    from chain.rpc.requests import Request

T = TypeVar("T")

_AT_ONCE = 100
"""Public endpoints refuse much larger batches."""

_MOST_LIMITS = 12
"""In a row, each waited out longer, before the endpoint counts as closed."""


async def settle_in_parts(client: RpcClient, asked: Sequence[Request[T]]) -> list[T | RpcError]:
    """Each question's own outcome, in as few requests as the endpoint's pace lets through."""
    answers: list[T | RpcError] = []
    limits = 0
    while len(answers) < len(asked):
        size = client.calls_at_once if client.limited else _AT_ONCE
        try:
            answers += await client.settle(asked[len(answers) : len(answers) + size])
            limits = 0
        except RateLimited as limit:
            limits += 1
            if limits > _MOST_LIMITS:
                raise
            await client.wait_out(limit)
    return answers
