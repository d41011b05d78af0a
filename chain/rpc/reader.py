"""The ways of asking that every reader of the chain has: one question, some at once, many."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

from chain.rpc.errors import RpcError
from chain.rpc.requests import Request

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")


class Reader(ABC):
    @abstractmethod
    async def settle(self, requests: Sequence[Request[T]]) -> list[T | RpcError]:
        """Each question's own outcome, in one HTTP request where the endpoint takes batches."""

    async def ask(self, request: Request[T]) -> T:
        """One question's answer."""
        [outcome] = await self.settle([request])
        if isinstance(outcome, RpcError):
            raise outcome
        return outcome

    @overload
    async def together(self, a: Request[A], b: Request[B], /) -> tuple[A, B]: ...
    @overload
    async def together(self, a: Request[A], b: Request[B], c: Request[C], /) -> tuple[A, B, C]: ...
    @overload
    async def together(
        self, a: Request[A], b: Request[B], c: Request[C], d: Request[D], /
    ) -> tuple[A, B, C, D]: ...
    @overload
    async def together(
        self, a: Request[A], b: Request[B], c: Request[C], d: Request[D], e: Request[E], /
    ) -> tuple[A, B, C, D, E]: ...
    @overload
    async def together(self, *requests: Request[T]) -> tuple[T, ...]: ...
    async def together(self, *requests: Request[object]) -> tuple[object, ...]:
        """All answers, from one endpoint, in one HTTP request where it takes batches."""
        outcomes = await self.settle(requests)
        for outcome in outcomes:
            if isinstance(outcome, RpcError):
                raise outcome
        return tuple(outcomes)
