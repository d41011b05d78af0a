"""What the PositionManager's logs tell of several wallets since each was last read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.positions.holdings import custody_topics
from chain.reading.log_scan import in_chain_order
from chain.reading.one_block import expected
from chain.rpc import requests
from chain.rpc.errors import RpcError
from chain.rpc.types import Block, LogFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from chain.networks import Address, Network
    from chain.positions.holdings import Holdings, Topics
    from chain.rpc.requests import Request
    from chain.rpc.types import Log

OWNERS_AT_ONCE = 500
"""Wallets in one filter; some nodes refuse a thousand."""

_OVERLAP = 3
"""Blocks whose logs are read again: the machine that gave them may have been behind the others.

No more, because some nodes give the logs of five blocks at once and not of six.
"""


@dataclass(frozen=True, slots=True)
class News:
    finalized: Block | None
    """None where the node does not say."""
    lost: frozenset[Address]
    """Wallets whose holdings are of a block that this chain does not have."""
    logs: tuple[Log, ...]


class NewsQuestion:
    """Asked in as many filters as there are blocks up to which wallets were read: usually one."""

    def __init__(self, network: Network, holdings: Mapping[Address, Holdings]) -> None:
        self._holdings = holdings
        self._landmarks = sorted(
            {one.through for one in holdings.values() if one.block_hash is not None}
        )
        manager = network.contracts.position_manager
        filters = [
            LogFilter(manager, topics, max(network.first_block, through - _OVERLAP), "latest")
            for through, owners in by_block(holdings).items()
            for topics in filters_of(owners)
        ]
        self.requests: list[Request[object]] = [
            requests.block("finalized"),
            *map(requests.block, self._landmarks),
            *map(requests.logs, filters),
        ]

    def answered(self, answers: Sequence[object]) -> News:
        finalized, *others = answers
        count = len(self._landmarks)
        blocks = dict(zip(self._landmarks, others[:count], strict=True))
        for block in blocks.values():
            if isinstance(block, RpcError):
                raise block
        lost = frozenset(
            owner
            for owner, one in self._holdings.items()
            if one.block_hash is not None and _hash(blocks[one.through]) != one.block_hash
        )
        if lost:
            # Where a block is gone, logs may be missing too: nobody needs them.
            return News(None, lost, ())
        logs = in_chain_order([expected(answer, tuple) for answer in others[count:]])
        return News(finalized if isinstance(finalized, Block) else None, lost, logs)


def by_block(holdings: Mapping[Address, Holdings]) -> dict[int, list[Address]]:
    """The wallets, by the block up to which they were read."""
    owners: dict[int, list[Address]] = defaultdict(list)
    for owner, one in holdings.items():
        owners[one.through].append(owner)
    return owners


def filters_of(owners: Sequence[Address]) -> list[Topics]:
    return [
        topics
        for at in range(0, len(owners), OWNERS_AT_ONCE)
        for topics in custody_topics(*owners[at : at + OWNERS_AT_ONCE])
    ]


def by_owner(logs: Iterable[Log]) -> Mapping[Address, Sequence[Log]]:
    """The logs that name a wallet, for each wallet that any of them names."""
    found: dict[Address, list[Log]] = defaultdict(list)
    for log in logs:
        for topic in set(log.topics[1:3]):
            found["0x" + topic[-40:]].append(log)
    return found


def _hash(block: object) -> str | None:
    return block.hash if isinstance(block, Block) else None
