"""Which positions a wallet holds and who may move them, told by the PositionManager's logs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from chain.contracts import abi
from chain.contracts.networks import NATIVE, Address, Network
from chain.protocols.reference import PositionRef, v4_position
from chain.read.block_reader import expect
from chain.read.logs import Topics, in_chain_order
from chain.rpc import requests
from chain.rpc.errors import RangeTooWide, RpcError, RpcRefused
from chain.rpc.records import Block, Log, LogFilter
from chain.rpc.requests import Request

OWNERS_AT_ONCE = 500
"""Wallets in one filter; some nodes refuse a thousand."""

_OVERLAP = 3
"""Blocks whose logs are read again: the machine that gave them may have been behind the others.

No more, because some nodes give the logs of five blocks at once and not of six.
"""


class LogDelta(Struct, frozen=True):
    finalized: Block | None
    """None where the node does not say."""
    lost: frozenset[Address]
    """Wallets whose holdings are of a block that this chain does not have."""
    logs: tuple[Log, ...]


class LogDeltaQuestion:
    """What happened to the `followed` wallets since, and whether all checkpoints still hold.

    Asked in as many filters as there are blocks up to which wallets were read: usually one.
    """

    def __init__(
        self, network: Network, holdings: Mapping[Address, Holdings], followed: Collection[Address]
    ) -> None:
        self._holdings = holdings
        self._landmarks = sorted(
            {holding.through for holding in holdings.values() if holding.block_hash is not None}
        )
        manager = network.contracts.position_manager
        filters = [
            LogFilter(manager, topics, max(network.first_block, through - _OVERLAP), "latest")
            for through, owners in by_block(
                {owner: holding for owner, holding in holdings.items() if owner in followed}
            ).items()
            for topics in filters_of(owners)
        ]
        self.requests: list[Request[object]] = [
            requests.block("finalized"),
            *map(requests.block, self._landmarks),
            *map(requests.logs, filters),
        ]

    def read_answers(self, answers: Sequence[object]) -> LogDelta:
        finalized, *others = answers
        count = len(self._landmarks)
        blocks = dict(zip(self._landmarks, others[:count], strict=True))
        for block in blocks.values():
            if isinstance(block, RpcError):
                raise block
        lost = frozenset(
            owner
            for owner, holding in self._holdings.items()
            if holding.block_hash is not None
            and _hash(blocks[holding.through]) != holding.block_hash
        )
        if lost:
            # Where a block is gone, logs may be missing too: nobody needs them.
            return LogDelta(None, lost, ())
        for answer in others[count:]:
            if isinstance(answer, RpcRefused):
                raise RangeTooWide(answer.message, endpoint=answer.endpoint, sure=False)
        logs = in_chain_order([expect(answer, tuple) for answer in others[count:]])
        return LogDelta(finalized if isinstance(finalized, Block) else None, lost, logs)


def leaving_requests(
    network: Network, holdings: Mapping[Address, Holdings]
) -> list[Request[tuple[Log, ...]]]:
    """What left these wallets, or was given into others' hands, since they were read.

    Asked from the block up to which they were read: where none came after it, nodes of some makes
    refuse a range that begins beyond their newest.
    """
    manager = network.contracts.position_manager
    return [
        _after(through, requests.logs(LogFilter(manager, leaving, through, "latest")))
        for through, owners in by_block(holdings).items()
        for _, leaving in batched_topics(owners)
    ]


def _after(through: int, request: Request[tuple[Log, ...]]) -> Request[tuple[Log, ...]]:
    def parse(value: object) -> tuple[Log, ...]:
        return tuple(log for log in request.parse(value) if log.block_number > through)

    return replace(request, parse=parse)


def by_block(holdings: Mapping[Address, Holdings]) -> dict[int, list[Address]]:
    """The wallets, by the block up to which they were read."""
    owners: dict[int, list[Address]] = defaultdict(list)
    for owner, holding in holdings.items():
        owners[holding.through].append(owner)
    return owners


def filters_of(owners: Sequence[Address]) -> list[Topics]:
    return [topics for both in batched_topics(owners) for topics in both]


def batched_topics(owners: Sequence[Address]) -> list[tuple[Topics, Topics]]:
    return [
        custody_topics(*owners[at : at + OWNERS_AT_ONCE])
        for at in range(0, len(owners), OWNERS_AT_ONCE)
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


TRANSFER = abi.topic("Transfer(address,address,uint256)")
APPROVAL_FOR_ALL = abi.topic("ApprovalForAll(address,address,bool)")

_TOPICS = {TRANSFER: 4, APPROVAL_FOR_ALL: 3}


class Holdings(Struct, frozen=True):
    """What the logs up to a block add up to; `block_hash` names the chain they were read from."""

    through: int
    block_hash: str | None = field(name="hash")
    held: frozenset[PositionRef] = frozenset()
    operators: frozenset[Address] = frozenset()
    approvals_from: int = 0
    """Before this block nobody looked for strangers who were allowed to move every position."""

    @classmethod
    def before(cls, first_block: int) -> Holdings:
        """Of a wallet nothing is known about yet."""
        return cls(through=first_block - 1, block_hash=None)

    def after(
        self, logs: Iterable[Log], owner: Address, through: int, block_hash: str | None
    ) -> Holdings:
        """The holdings once the logs up to `through` have had their say.

        Those already counted do no harm: for each token the last one decides.
        """
        held, operators = set(self.held), set(self.operators)
        for log in sorted(logs, key=lambda log: (log.block_number, log.log_index)):
            if log.block_number > through:
                break
            if len(log.topics) != _TOPICS[log.topics[0]]:
                raise abi.AbiError("A log of the PositionManager lacks what it must tell.")
            if log.topics[0] == TRANSFER:
                ref = v4_position(int(log.topics[3], 16))
                # A transfer to oneself both leaves and arrives, in this order.
                if _address(log.topics[1]) == owner:
                    held.discard(ref)
                if _address(log.topics[2]) == owner:
                    held.add(ref)
            elif _address(log.topics[1]) == owner:
                operator = _address(log.topics[2])
                (operators.add if int.from_bytes(log.data, "big") else operators.discard)(operator)
        return replace(
            self,
            through=through,
            block_hash=block_hash,
            held=frozenset(held),
            operators=frozenset(operators),
        )


def worth_keeping(checkpoints: Sequence[Holdings], final: int) -> tuple[Holdings, ...]:
    """The checkpoints worth keeping: the newest, the newest final one, and the next to be final.

    The newest makes the next read short; should its block be reorganised away, an older one is
    still good.
    """
    settled = [checkpoint for checkpoint in checkpoints if checkpoint.through <= final]
    open_ones = [checkpoint for checkpoint in checkpoints if checkpoint.through > final]
    return tuple(dict.fromkeys((*settled[-1:], *open_ones[:1], *open_ones[-1:])))


def custody_topics(*owners: Address) -> tuple[Topics, Topics]:
    """The filters that catch what arrives, and what leaves or is given into others' hands."""
    any_of = owner_words(owners)
    return (TRANSFER, None, any_of), ((TRANSFER, APPROVAL_FOR_ALL), any_of)


def owner_words(owners: Sequence[Address]) -> str | tuple[str, ...]:
    """What a topic must be to name one of the owners."""
    words = tuple("0x" + "00" * 12 + owner.removeprefix("0x") for owner in owners)
    return words[0] if len(words) == 1 else words


def minted_in(logs: Iterable[Log]) -> dict[PositionRef, int]:
    """The tokens that came to be in these logs, and in which block."""
    return {
        v4_position(int(log.topics[3], 16)): log.block_number
        for log in logs
        if log.topics[0] == TRANSFER and _address(log.topics[1]) == NATIVE
    }


def _address(topic: str) -> Address:
    return "0x" + topic[-40:]
