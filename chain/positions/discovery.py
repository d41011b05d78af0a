"""All positions of a wallet, found without an indexer and counted against `balanceOf`.

The PositionManager cannot list a wallet's tokens. Its Transfer logs can; `ownerOf` confirms each
token at the block of the snapshot, and `balanceOf` at that block proves that none is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.positions.custody import balance_call, decode_count, decode_flag, operator_call
from chain.positions.gathering import AlsoWords, Gathering, no_more_words
from chain.positions.holdings import Holdings, custody_topics, kept, minted_in
from chain.reading.log_scan import NARROWABLE, ScanProgress, in_chain_order, scan_logs
from chain.reading.one_block import BlockMovedError, OneBlock, expected, sound_answers
from chain.rpc import requests
from chain.rpc.errors import Reorged, RpcError
from chain.rpc.types import Block, LogFilter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chain.multicall import Call
    from chain.networks import Address, Network
    from chain.positions.memory import PositionMemory
    from chain.positions.snapshot import PositionSnapshot
    from chain.rpc.client import RpcClient
    from chain.rpc.requests import Request
    from chain.rpc.types import Log

_MOST_SETBACKS = 3
"""Moved heads and refused ranges: past these the node is not to be relied on."""

_OVERLAP = 3
"""Blocks whose logs are read again: the machine that gave them may have been behind the others.

No more, because some nodes give the logs of five blocks at once and not of six.
"""


@dataclass(frozen=True, slots=True)
class WalletPositions:
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
        checkpoints = [Holdings.before(self._network.first_block), *self._memory.checkpoints(owner)]
        from_the_start = len(checkpoints) == 1
        setbacks = 0
        while True:
            try:
                with sound_answers():
                    wallet = await self._look(owner, checkpoints)
            except (BlockMovedError, Reorged, *NARROWABLE) as setback:
                setbacks += 1
                if setbacks > _MOST_SETBACKS:
                    raise
                if isinstance(setback, NARROWABLE):
                    checkpoints.append(await self._scan(owner, checkpoints))
            else:
                if wallet is None:
                    checkpoints.pop()
                elif wallet.complete or from_the_start:
                    return wallet
                else:
                    # What was remembered, or a log since, left something out: read all again.
                    del checkpoints[1:]
                from_the_start = len(checkpoints) == 1

    async def _look(
        self, owner: Address, checkpoints: Sequence[Holdings]
    ) -> WalletPositions | None:
        """The wallet by its last checkpoint and the logs since; None if it is of another chain."""
        holdings = checkpoints[-1]
        at = OneBlock(self._client, self._network)
        gathering = Gathering(at, self._network, self._memory, self._also)
        operators = sorted(holdings.operators)
        answers = await gathering.advance(
            holdings.held,
            (balance_call(self._position_manager, owner), *self._approvals(owner, operators)),
            self._news_since(owner, holdings),
        )
        balance, *approvals = answers.outcomes
        news = _news(holdings, answers.beside)
        if news is None:
            return None
        now = holdings.after(news.logs, owner, at.block.number, at.block.hash)
        newcomers = sorted(now.operators - holdings.operators)
        if newcomers:
            more = await gathering.advance(now.held, self._approvals(owner, newcomers))
            approvals += more.outcomes
        await gathering.complete(holdings.held | now.held)

        mine = [one for one in gathering.snapshots().values() if one.owner == owner]
        wallet = WalletPositions(
            owner=owner,
            block=at.block,
            positions=tuple(mine),
            balance_of=decode_count(balance),
            operators=tuple(
                operator
                for operator, approval in zip((*operators, *newcomers), approvals, strict=True)
                if decode_flag(approval)
            ),
            unconfirmed=tuple(sorted(now.held - {one.token_id for one in mine})),
            scanned_from=self._network.first_block,
            words=gathering.words,
        )
        if wallet.complete and now != holdings:
            final = -1 if news.finalized is None else news.finalized.number
            self._memory.remember_checkpoints(owner, kept((*checkpoints[1:], now), final))
            self._memory.remember_minted(minted_in(news.logs))
        return wallet

    def _approvals(self, owner: Address, operators: Sequence[Address]) -> tuple[Call, ...]:
        return tuple(operator_call(self._position_manager, owner, one) for one in operators)

    def _news_since(self, owner: Address, holdings: Holdings) -> list[Request[object]]:
        first = max(self._network.first_block, holdings.through - _OVERLAP)
        filters = [
            LogFilter(self._position_manager, topics, first, "latest")
            for topics in custody_topics(owner)
        ]
        landmark = [] if holdings.block_hash is None else [requests.block(holdings.through)]
        return [requests.block("finalized"), *landmark, *map(requests.logs, filters)]

    async def _scan(self, owner: Address, checkpoints: Sequence[Holdings]) -> Holdings:
        """The holdings at the newest block, by logs read range after range."""
        head = await self._client.head()
        holdings = checkpoints[-1]
        first = holdings.through + 1
        scanned = scan_logs(
            self._client, self._position_manager, custody_topics(owner), first, head.number
        )
        async for part in scanned:
            holdings = holdings.after(part.logs, owner, part.last.number, part.last.hash)
            # However the scan ends, the next one goes on from here.
            self._memory.remember_checkpoints(owner, (*checkpoints[1:], holdings))
            self._memory.remember_minted(minted_in(part.logs))
            self._watch(ScanProgress(first, head.number, holdings.through, len(holdings.held)))
        return holdings


@dataclass(frozen=True, slots=True)
class _News:
    finalized: Block | None
    """None where the node does not say."""
    logs: tuple[Log, ...]


def _news(holdings: Holdings, answers: Sequence[object]) -> _News | None:
    """What happened since the holdings, or None when their block is not of this chain."""
    finalized, *others = answers
    if holdings.block_hash is not None:
        landmark = others.pop(0)
        if isinstance(landmark, RpcError):
            raise landmark
        if not isinstance(landmark, Block) or landmark.hash != holdings.block_hash:
            return None
    logs = in_chain_order([expected(answer, tuple) for answer in others])
    return _News(finalized if isinstance(finalized, Block) else None, logs)
