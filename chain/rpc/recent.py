"""Which blocks an endpoint must have by now, and which block a question names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from chain.contracts.networks import Network
from chain.rpc.errors import BlockMissing
from chain.rpc.records import Block, Hash
from chain.rpc.requests import Request

YOUNG_SECONDS = 60.0
"""How long a machine behind the same address may lack a block that another has."""


_LEAST_YOUNG = 5


_LEAST_LOOKS = 5


_KEPT = 256


_BLOCK_QUESTIONS = frozenset(("eth_getBlockByHash", "eth_getBlockByNumber"))


_HASH_LENGTH = 66


NamedBlock: TypeAlias = "int | Hash | None"
"""A number, a hash, or neither where a question is about whatever is newest."""


class RecentBlocks:
    def __init__(self, network: Network, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._young = max(_LEAST_YOUNG, math.ceil(YOUNG_SECONDS / network.block_seconds))
        self._numbers: dict[Hash, int] = {}
        self._newest: int | None = None
        self._newest_at = 0.0

    def note(self, outcomes: Iterable[object]) -> None:
        """Remember every block that was told of."""
        for block in outcomes:
            if isinstance(block, Block):
                self._note(block)

    def number(self, block_hash: Hash) -> int | None:
        """The number of a block by its hash, where it was told of."""
        return self._numbers.get(block_hash)

    def is_behind(self, question: Request[object], outcome: object, looks: int = 0) -> bool:
        """Whether its machine has not got a new block yet, or says null of one that exists."""
        named = block_named(question)
        null = outcome is None and question.method in _BLOCK_QUESTIONS
        if null and looks <= _LEAST_LOOKS and self._exists(question.params[0], named):
            return True
        return (null or isinstance(outcome, BlockMissing)) and self._is_young(named)

    def log_blocks(self, question: Request[object]) -> int | None:
        """Of how many blocks a question asks the logs; None where nobody knows."""
        wanted = question.params[0]
        first = _ref(wanted.get("fromBlock")) if isinstance(wanted, Mapping) else None
        last = block_named(question)
        last = self._newest if last is None else last
        if not isinstance(first, int) or not isinstance(last, int):
            return None
        return last - first + 1

    def _note(self, block: Block) -> None:
        now = self._monotonic()
        self._numbers[block.hash] = block.number
        if self._newest is None or block.number > self._newest or self._is_past(now):
            self._newest, self._newest_at = block.number, now
        if len(self._numbers) > _KEPT + self._young:
            least = self._newest - self._young
            self._numbers = {
                block_hash: at for block_hash, at in self._numbers.items() if at >= least
            }

    def _is_past(self, now: float) -> bool:
        return now - self._newest_at > YOUNG_SECONDS

    def _exists(self, ref: object, named: NamedBlock) -> bool:
        """Of a load balancer's machines some say null now and then; the next look finds it."""
        if isinstance(named, int):
            return self._newest is not None and named <= self._newest
        return ref == "latest" or named in self._numbers

    def _is_young(self, named: NamedBlock) -> bool:
        number = self._numbers.get(named) if isinstance(named, str) else named
        if number is None or self._newest is None or self._is_past(self._monotonic()):
            return False
        return self._newest - self._young <= number <= self._newest


def block_named(question: Request[object]) -> NamedBlock:
    """The block a question names, by number or hash."""
    match question.method, question.params:
        case "eth_getBlockByHash" | "eth_getBlockByNumber", (ref, *_):
            return _ref(ref)
        case "eth_getLogs", (Mapping() as wanted,):
            return _ref(wanted.get("toBlock"))
        case "eth_feeHistory", (_, ref, *_):
            return _ref(ref)
        case _, params if question.block_param is not None:
            return _ref(params[question.block_param])
    return None


def hash_named(question: Request[object]) -> Hash | None:
    """The hash a question about state names its block by."""
    if question.block_param is None:
        return None
    named = block_named(question)
    return named if isinstance(named, str) else None


def _ref(value: object) -> NamedBlock:
    if isinstance(value, Mapping):
        value = value.get("blockHash")
    if not isinstance(value, str) or not value.startswith("0x"):
        return None
    return value if len(value) == _HASH_LENGTH else int(value, 16)
