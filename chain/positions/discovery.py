"""All positions of wallets, found without an indexer and counted against `balanceOf`.

The PositionManager cannot list a wallet's tokens. Its Transfer logs can; `ownerOf` confirms each
token at the block of the snapshot, and `balanceOf` at that block proves that none is missing.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.positions.batch_reader import AlsoWords, BatchReader, no_more_words
from chain.positions.custody import balance_call, decode_count, decode_flag, operator_call
from chain.positions.holdings import (
    Holdings,
    LogDeltaQuestion,
    by_block,
    by_owner,
    filters_of,
    kept,
    minted_in,
)
from chain.read.block_reader import BlockMovedError, OneBlock, sound_answers
from chain.read.logs import NARROWABLE, ScanProgress, scan_logs
from chain.rpc.errors import Reorged, TimedOut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from chain.contracts.networks import Address, Network
    from chain.positions.memory import PositionMemory
    from chain.positions.snapshot import PositionSnapshot
    from chain.rpc.client import RpcClient
    from chain.rpc.multicall import Call
    from chain.rpc.records import Block

_MOST_SETBACKS = 3
"""Moved heads and refused ranges: past these the node is not to be relied on."""


class WalletPositions(Struct, frozen=True):
    owner: Address
    block: Block
    positions: tuple[PositionSnapshot, ...]
    """Confirmed by `ownerOf`, in the order of their token ids."""
    balance_of: int
    operators: tuple[Address, ...]
    """Strangers that may move every position of this wallet."""
    unconfirmed: tuple[int, ...]
    """Tokens the logs give to this wallet and `ownerOf` does not."""
    scanned_from: int
    words: Mapping[int, int]
    """Every storage word of the PoolManager that was read at this block, by its slot."""

    @property
    def found(self) -> int:
        return len(self.positions)

    @property
    def complete(self) -> bool:
        return self.found == self.balance_of

    @property
    def missing(self) -> str | None:
        """What is not here and why, when something is not."""
        if self.complete:
            return None
        return (
            f"The wallet holds {self.balance_of} positions at block {self.block.number}, but the"
            f" Transfer logs since block {self.scanned_from} show {self.found}: the node leaves"
            " logs out. Ask another endpoint: zuno --rpc URL positions"
        )


class Discovery:
    """Reads wallets of one network, remembering how far their logs were read."""

    def __init__(
        self,
        client: RpcClient,
        network: Network,
        memory: PositionMemory,
        *,
        also: AlsoWords = no_more_words,
        watch: Callable[[ScanProgress], None] = lambda _: None,
    ) -> None:
        self._client = client
        self._network = network
        self._memory = memory
        self._also = also
        self._watch = watch
        self._position_manager = network.contracts.position_manager

    async def read(self, owner: Address) -> WalletPositions:
        """Every position of the wallet at the newest block.

        One request when nothing arrived since the last time, three when nothing is remembered.
        """
        [wallet] = await self.read_all([owner])
        return wallet

    async def read_all(self, owners: Sequence[Address]) -> tuple[WalletPositions, ...]:
        """Every position of several wallets at one block, in the requests that one would take."""
        trails = [self._trail(owner) for owner in owners]
        setbacks = 0
        while True:
            try:
                with sound_answers():
                    wallets = await self._look(trails)
            except (BlockMovedError, Reorged, *NARROWABLE) as setback:
                setbacks += 1
                if setbacks > _MOST_SETBACKS:
                    raise
                if isinstance(setback, TimedOut) and not self._client.has_answered:
                    raise
                if isinstance(setback, NARROWABLE):
                    await self._scan(trails)
            else:
                if wallets is None:
                    continue
                doubtful = [
                    trail
                    for trail, wallet in zip(trails, wallets, strict=True)
                    if not (wallet.complete or trail.from_the_start)
                ]
                if not doubtful:
                    return wallets
                for trail in doubtful:
                    # What was remembered, or a log since, left something out: read all again.
                    trail.begin_again()

    def _trail(self, owner: Address) -> _Trail:
        remembered = self._memory.checkpoints(owner)
        start = Holdings.before(self._network.first_block)
        return _Trail(owner, [start, *remembered], from_the_start=not remembered)

    async def _look(self, trails: Sequence[_Trail]) -> tuple[WalletPositions, ...] | None:
        """The wallets by their last checkpoints and the logs since.

        None if a checkpoint is of another chain: its trail then ends with the one before.
        """
        before = {trail.owner: trail.last for trail in trails}
        at = OneBlock(self._client, self._network)
        gathering = BatchReader(at, self._network, self._memory, self._also)
        question = LogDeltaQuestion(self._network, before)
        known = _operators(before)
        answers = await gathering.advance(
            _held(before),
            (
                *(balance_call(self._position_manager, owner) for owner in before),
                *self._approvals(known),
            ),
            question.requests,
        )
        balances = answers.outcomes[: len(before)]
        approvals = dict(zip(known, answers.outcomes[len(before) :], strict=True))
        news = question.answered(answers.beside)
        if news.lost:
            for trail in trails:
                if trail.owner in news.lost:
                    trail.step_back()
            return None
        logs, block = by_owner(news.logs), at.block
        now = {
            owner: one.after(logs.get(owner, ()), owner, block.number, block.hash)
            for owner, one in before.items()
        }
        newcomers = [one for one in _operators(now) if one not in approvals]
        if newcomers:
            more = await gathering.advance(_held(now), self._approvals(newcomers))
            approvals |= zip(newcomers, more.outcomes, strict=True)
        await gathering.complete(_held(before) | _held(now))

        allowed: dict[Address, list[Address]] = defaultdict(list)
        for (owner, operator), approval in approvals.items():
            if decode_flag(approval):
                allowed[owner].append(operator)
        snapshots = gathering.snapshots()
        wallets = tuple(
            self._wallet(
                gathering,
                [snapshots[one] for one in sorted(was.held | now[owner].held) if one in snapshots],
                now[owner],
                owner=owner,
                balance_of=decode_count(balance),
                operators=tuple(allowed[owner]),
            )
            for (owner, was), balance in zip(before.items(), balances, strict=True)
        )
        final = -1 if news.finalized is None else news.finalized.number
        proven = {
            trail.owner: kept((*trail.checkpoints[1:], now[trail.owner]), final)
            for trail, wallet in zip(trails, wallets, strict=True)
            if wallet.complete and now[trail.owner] != trail.last
        }
        if proven:
            self._memory.remember_checkpoints(proven)
            self._memory.remember_minted(minted_in(news.logs))
        return wallets

    def _wallet(
        self,
        gathering: BatchReader,
        snapshots: Sequence[PositionSnapshot],
        holdings: Holdings,
        *,
        owner: Address,
        balance_of: int,
        operators: tuple[Address, ...],
    ) -> WalletPositions:
        mine = tuple(one for one in snapshots if one.owner == owner)
        return WalletPositions(
            owner=owner,
            block=gathering.at.block,
            positions=mine,
            balance_of=balance_of,
            operators=operators,
            unconfirmed=tuple(sorted(holdings.held - {one.token_id for one in mine})),
            scanned_from=self._network.first_block,
            words=gathering.words,
        )

    def _approvals(self, operators: Iterable[tuple[Address, Address]]) -> tuple[Call, ...]:
        return tuple(operator_call(self._position_manager, *one) for one in operators)

    async def _scan(self, trails: Sequence[_Trail]) -> None:
        """Lead the trails to the newest block, by logs read range after range."""
        head = await self._client.head()
        of = {trail.owner: trail for trail in trails}
        for through, owners in by_block({one.owner: one.last for one in trails}).items():
            holdings = {owner: of[owner].last for owner in owners}
            first = through + 1
            scanned = scan_logs(
                self._client, self._position_manager, filters_of(owners), first, head.number
            )
            async for part in scanned:
                logs, last = by_owner(part.logs), part.last
                holdings = {
                    owner: one.after(logs.get(owner, ()), owner, last.number, last.hash)
                    for owner, one in holdings.items()
                }
                # However the scan ends, the next one goes on from here.
                self._memory.remember_checkpoints(
                    {owner: (*of[owner].checkpoints[1:], one) for owner, one in holdings.items()}
                )
                self._memory.remember_minted(minted_in(part.logs))
                self._watch(ScanProgress(first, head.number, last.number, len(_held(holdings))))
            for owner, one in holdings.items():
                of[owner].checkpoints.append(one)


class _Trail(Struct):
    """What is known of one wallet while it is read."""

    owner: Address
    checkpoints: list[Holdings]
    """Oldest first; the first is the one before anything happened."""
    from_the_start: bool
    """Whether every log of it was read in this reading."""

    @property
    def last(self) -> Holdings:
        return self.checkpoints[-1]

    def step_back(self) -> None:
        self.checkpoints.pop()
        self.from_the_start = len(self.checkpoints) == 1

    def begin_again(self) -> None:
        del self.checkpoints[1:]
        self.from_the_start = True


def _held(holdings: Mapping[Address, Holdings]) -> frozenset[int]:
    return frozenset[int]().union(*(one.held for one in holdings.values()))


def _operators(holdings: Mapping[Address, Holdings]) -> list[tuple[Address, Address]]:
    """Each wallet with each stranger that was allowed to move its positions."""
    return [(owner, one) for owner, held in holdings.items() for one in sorted(held.operators)]
