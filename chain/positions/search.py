"""Positions of a wallet, looked for from the newest block down until all are found."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chain.contracts import abi
from chain.contracts.networks import Address, Network
from chain.protocols import custody
from chain.protocols.reference import PositionRef, v4_position, v4_token_id
from chain.protocols.snapshot import PositionSnapshot
from chain.protocols.v4 import holdings
from chain.protocols.v4.memory import GivenUp, PositionMemory, SearchProgress, SearchState
from chain.read.logs import FIRST_BLOCKS, NARROWABLE, RangeWidth, Topics, scan_logs_back
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.endpoint import KnownRange
from chain.rpc.errors import RateLimited, Reverted, RpcRefused, StatePruned
from chain.rpc.records import Block, BlockRef, Log
from chain.rpc.requests import Call, CallOutcome, Request, multicall


class WalletPositions(Struct, frozen=True):
    owner: Address
    block: Block
    positions: tuple[PositionSnapshot, ...]
    """Confirmed by `ownerOf`, in the order of their token ids."""
    balance_of: int
    operators: tuple[Address, ...]
    """Strangers that may move every position of this wallet."""
    approvals_from: int | None
    """Before this block nobody looked for such strangers; None where all were looked for."""
    unconfirmed: tuple[PositionRef, ...]
    """Tokens the logs give to this wallet and `ownerOf` does not."""
    words: Mapping[int, int]
    """Every storage word of the PoolManager that was read at this block, by its slot."""
    listed: tuple[PositionSnapshot, ...] = ()
    listed_balance: int = 0
    """What the wallet has of protocols whose managers list it, until it is counted in."""

    @property
    def with_listed(self) -> WalletPositions:
        """The same with those counted in, after those that were searched for."""
        return replace(
            self,
            positions=(*self.positions, *self.listed),
            balance_of=self.balance_of + self.listed_balance,
            listed=(),
            listed_balance=0,
        )

    @property
    def found_count(self) -> int:
        return len(self.positions)

    @property
    def complete(self) -> bool:
        return self.found_count == self.balance_of

    @property
    def shortfall(self) -> str | None:
        """What is not here and why, when something is not."""
        if self.complete:
            return None
        return (
            f"The wallet holds {self.balance_of} positions at block {self.block.number}, but"
            f" {self.found_count} could be found: the endpoint leaves logs out, or gives none."
            " Name the others: zuno watch-ids ID…, or ask another endpoint:"
            " zuno --rpc URL positions"
        )


class WalletTrail(Struct):
    """What is known of one wallet while it is read."""

    owner: Address
    checkpoints: list[holdings.Holdings]
    """Oldest first; the first is the one before anything happened."""
    search: SearchState | None
    """Where it was not all found, or the logs since the last checkpoint are too many."""
    named: frozenset[PositionRef]
    searches: int = 0
    """How often it was searched for in this reading."""
    searched_at: Block | None = None

    @property
    def last(self) -> holdings.Holdings:
        return self.checkpoints[-1]

    @property
    def follows_logs(self) -> bool:
        """Whether what happened since the last checkpoint is all there is to ask.

        Of a wallet without positions nothing but their number is.
        """
        last = self.last
        return self.search is None and last.block_hash is not None and bool(last.held)

    def step_back(self) -> None:
        self.checkpoints.pop()
        self.search = None

    def search_what_was_missed(self) -> None:
        """Search from the last checkpoint on, instead of asking for all logs since at once."""
        if self.follows_logs:
            last = self.last
            self.search = SearchState(
                last.through, last.through + 1, last.approvals_from, last.held, last.operators
            )

    def before(self) -> holdings.Holdings:
        """What it may hold, to be asked about."""
        last, state = self.last, self.search
        if state is not None:
            last = replace(last, held=state.found, operators=state.operators)
        return replace(last, held=last.held | self.named)

    def now(self, logs: Sequence[Log], block: Block) -> holdings.Holdings:
        """What it may hold at this block, by the logs since or by what a search found."""
        before = self.before()
        if self.follows_logs:
            return before.after(logs, self.owner, block.number, block.hash)
        if self.search is None or self.searched_at is None:
            since = block.number + 1
        else:
            # What happened while it was searched is asked for next time.
            block, since = self.searched_at, self.search.approvals_from
        return replace(before, through=block.number, block_hash=block.hash, approvals_from=since)

    def state_for(self, wallet: WalletPositions, endpoints: Sequence[str]) -> SearchState:
        """From where to search for what a wallet lacks; what others own is left out."""
        state, number = self.search, wallet.block.number
        mine = frozenset(position.ref for position in wallet.positions)
        known_elsewhere = (
            state is not None
            and state.given_up is not None
            and not {*endpoints} <= {*state.given_up.endpoints}
        )
        if state is None or known_elsewhere:
            since = wallet.approvals_from
            operators = frozenset(wallet.operators)
            return SearchState(number, number + 1, since or 0, mine, operators)
        return replace(state, found=mine)


# By the logs of what arrived where the endpoint gives enough blocks at once; where it does not,
# or has no old logs, by asking for the owner of one id after the other. `ownerOf` has the last
# word.
T = TypeVar("T")

IDS_PER_CALL = 750
"""Owners told by one call of ten million gas."""

_IDS_AT_ONCE = 3 * IDS_PER_CALL
"""Some servers take no request over a megabyte."""

_MOST_IDS_PER_CALL = 2 * _IDS_AT_ONCE
"""Two megabytes of words, and less than the fifty million gas that nodes allow by default."""

_FEW_CALLS = 40
"""Approvals given long ago are looked for where it takes no more."""

_HOPELESS_CALLS = 300
_FEWEST_IDS = 25
_MOST_LIMITS = 12
_NO_LOGS = (*NARROWABLE, RpcRefused, StatePruned)
_TOO_MANY_IDS = (*NARROWABLE, RpcRefused, Reverted)
_TRANSFER_TOPICS = 4
_NEXT_ID = abi.selector("nextTokenId()")


def affords_approvals(blocks: int, known: KnownRange | None) -> bool:
    """Whether an endpoint gives the logs of so many blocks in a few calls."""
    return blocks <= _FEW_CALLS * (FIRST_BLOCKS if known is None else known.blocks)


class WalletSearch(Struct):
    """One wallet while it is looked for."""

    owner: Address
    balance: int
    state: SearchState
    mine: set[PositionRef]
    """Those of the found that `ownerOf` confirmed."""
    doubtful: bool = False
    """Whether what was found has turned out to be another's before: then each is checked."""

    @property
    def is_done(self) -> bool:
        return self.missing_count <= 0

    @property
    def missing_count(self) -> int:
        return self.balance - len(self.mine | self.state.found)

    def confirm(self, owners: Mapping[int, Address | None]) -> None:
        self.mine |= {v4_position(token) for token, owner in owners.items() if owner == self.owner}

    def after_logs(self, logs: Iterable[Log]) -> SearchState:
        """The state after some logs, in whatever order: who owns an id is asked anyway."""
        arrived, operators = set(self.state.found), set(self.state.operators)
        word = holdings.owner_words([self.owner])
        for log in logs:
            if log.topics[0] == holdings.TRANSFER and len(log.topics) == _TRANSFER_TOPICS:
                arrived.add(v4_position(int(log.topics[3], 16)))
            elif log.topics[0] == holdings.APPROVAL_FOR_ALL and log.topics[1] == word:
                operators.add("0x" + log.topics[2][-40:])
        return replace(self.state, found=frozenset(arrived), operators=frozenset(operators))


class _IdGroup(Struct, frozen=True):
    """How many ids are asked for in a request and in each call of it, learned from refusals."""

    at_once: int = _IDS_AT_ONCE
    per_call: int = IDS_PER_CALL
    refused: bool = False

    def after_answer(self) -> _IdGroup:
        """In one call what was told in several, then twice as many."""
        if self.refused:
            return self
        if self.per_call < self.at_once:
            return replace(self, per_call=self.at_once)
        most = min(2 * self.at_once, _MOST_IDS_PER_CALL)
        return replace(self, at_once=most, per_call=most)

    def after_refusal(self) -> _IdGroup:
        if self.per_call == self.at_once == _IDS_AT_ONCE:
            return replace(self, per_call=IDS_PER_CALL, refused=True)
        half = self.at_once // 2
        return _IdGroup(half, min(half, self.per_call), refused=True)


class _LogsHopelessError(Exception):
    """So few blocks at once that asking for every id's owner is far quicker."""


class PositionSearch:
    """Wallets that were searched equally far, looked for together."""

    def __init__(
        self,
        client: RpcClient,
        network: Network,
        memory: PositionMemory,
        wallets: Sequence[WalletSearch],
        watch: Callable[[SearchProgress], None],
    ) -> None:
        self._client = client
        self._network = network
        self._memory = memory
        self._wallets = wallets
        self._watch = watch
        self._manager = network.contracts.position_manager
        self._first = network.first_block
        self._known = client.log_range
        self._began = client.monotonic()
        self._worked = 0
        self._next_id: int | None = None
        self._group = _IdGroup()
        self._at: BlockRef = "latest"

    async def run(self, head: int) -> None:
        """Look for everything up to this block; the wallets' states say how far it came."""
        self._at = head
        below = self._wallets[0].state.logs_from - 1
        try:
            await self._catch_up(head)
            if not self._is_done:
                await self._go_down(below, head)
        except _LogsHopelessError:
            pass
        except _NO_LOGS:
            if self._known is None:
                self._client.learn_log_range(KnownRange(1, most=True))
        if self._wallets[0].state.through != head:
            # It was not caught up with: what was approved in between is not known.
            self._update(approvals_from=head + 1)
        if not self._is_done:
            await self._check(all_found=False)
            await self._ask_owners()
        with suppress(*_NO_LOGS):
            await self._read_approvals()
        for wallet in self._wallets:
            given_up = (
                None if wallet.is_done else GivenUp(wallet.missing_count, self._client.labels)
            )
            wallet.state = replace(wallet.state, through=head, given_up=given_up)
        self._save()

    @property
    def _is_done(self) -> bool:
        return all(wallet.is_done for wallet in self._wallets)

    async def _catch_up(self, head: int) -> None:
        """What arrived since the last time; approvals too, unless that would take too long."""
        first = self._wallets[0].state.through + 1
        if first > head:
            return
        affordable = affords_approvals(head - first + 1, self._known)
        if not affordable:
            self._update(approvals_from=head + 1)
            if self._is_done:
                return
        async for part_first, width in self._scanned(first, head, approvals=affordable):
            self._tell("logs", head - part_first + 1, head - first + 1)
            if self._is_done and not affordable:
                break
            if width.answered and await self._is_hopeless(part_first - first, width):
                raise _LogsHopelessError
        self._update(through=head)

    async def _go_down(self, last: int, head: int) -> None:
        """What arrived before, and approvals beside it where all of them take but a few calls."""
        together = self._wallets[0].state.approvals_from == last + 1 and affords_approvals(
            last - self._first + 1, self._known
        )
        async for part_first, width in self._scanned(self._first, last, approvals=together):
            self._update(logs_from=part_first)
            if together:
                self._update(approvals_from=part_first)
            self._save()
            self._tell("logs", head - part_first + 1, head - self._first + 1)
            if self._is_done:
                return
            if width.answered and await self._is_hopeless(part_first - self._first, width):
                raise _LogsHopelessError

    async def _read_approvals(self) -> None:
        last = max(wallet.state.approvals_from for wallet in self._wallets) - 1
        if last < self._first or not affords_approvals(last - self._first + 1, self._known):
            return
        async for part_first, _ in self._scanned(self._first, last, arrivals=False):
            self._update(approvals_from=part_first)

    async def _scanned(
        self, first: int, last: int, *, arrivals: bool = True, approvals: bool = True
    ) -> AsyncIterator[tuple[int, RangeWidth]]:
        """Every range, newest first, once its logs are counted in."""
        topic = holdings.owner_words([wallet.owner for wallet in self._wallets])
        filters: list[Topics] = [(holdings.TRANSFER, None, topic)] if arrivals else []
        if approvals:
            filters.append((holdings.APPROVAL_FOR_ALL, topic))
        width = RangeWidth.of(last - first + 1, self._known)
        async for part in scan_logs_back(
            self._client, self._manager, filters, first, last, width=width
        ):
            logs = holdings.by_owner(part.logs)
            for wallet in self._wallets:
                wallet.state = wallet.after_logs(logs.get(wallet.owner, ()))
            self._memory.remember_minted(holdings.minted_in(part.logs))
            self._learn(part.width)
            self._worked += part.width.good
            await self._check()
            yield part.first, part.width

    def _learn(self, width: RangeWidth) -> None:
        known = self._known
        if width.refused:
            self._known = KnownRange(max(1, width.good or width.blocks), most=True)
        elif known is None or width.good > known.blocks:
            self._known = KnownRange(width.good, most=False)
        if self._known is not None and self._known != known:
            self._client.learn_log_range(self._known)

    async def _is_hopeless(self, blocks: int, width: RangeWidth) -> bool:
        calls = blocks / width.blocks
        if calls < _HOPELESS_CALLS:
            return False
        if self._next_id is None:
            self._next_id = await self._ask_next_id()
        return bool(self._next_id) and calls > 2 * self._next_id / IDS_PER_CALL

    async def _ask_next_id(self) -> int:
        """0 where the endpoint does not say."""
        asked = requests.call(self._manager, _NEXT_ID)
        try:
            answer = await self._patiently(partial(self._client.ask, asked))
        except _TOO_MANY_IDS:
            return 0
        return int.from_bytes(answer, "big")

    async def _check(self, *, all_found: bool = True) -> None:
        """Whose the found ones are, where it decides whether all are found."""
        for wallet in self._wallets:
            unsure = sorted(map(v4_token_id, wallet.state.found - wallet.mine))
            if not unsure or (all_found and not (wallet.doubtful and wallet.is_done)):
                continue
            owners = await self._patiently(partial(self._owners, unsure))
            wallet.confirm(owners)
            wallet.state = replace(wallet.state, found=frozenset(wallet.mine))

    async def _owners(self, tokens: Sequence[int]) -> dict[int, Address | None]:
        """Their owners, at the newest block as long as the node has its state; None for no one."""
        size = self._group.per_call
        groups = [tokens[at : at + size] for at in range(0, len(tokens), size)]
        try:
            answers = await self._client.together(*map(self._owners_request, groups))
        except StatePruned:
            if self._at == "latest":
                raise
            self._at = "latest"
            return await self._owners(tokens)
        return {
            token: custody.decode_owner(outcome)
            for group, outcomes in zip(groups, answers, strict=True)
            for token, outcome in zip(group, outcomes, strict=True)
        }

    def _owners_request(self, tokens: Sequence[int]) -> Request[list[CallOutcome]]:
        # Not by `custody.about`, whose memory is for questions that are asked again.
        calls = [Call(self._manager, custody.OWNER + token.to_bytes(32, "big")) for token in tokens]
        return multicall(self._network.contracts.multicall3, calls, self._at)

    async def _ask_owners(self) -> None:
        """Every id from the newest down: it takes neither logs nor an archive."""
        newest = max(0, (self._next_id or await self._ask_next_id()) - 1)
        state = self._wallets[0].state
        low, high = (state.ids_from, state.ids_through) if state.ids_from else (newest + 1, newest)
        self._began, self._worked = self._client.monotonic(), 0
        async for _ in self._owner_groups(high + 1, newest, newest):
            pass
        self._update(ids_through=newest)
        async for start in self._owner_groups(1, low - 1, newest):
            self._update(ids_from=start)
            self._save()
        # What was asked before comes last: it may have changed hands since.
        async for _ in self._owner_groups(low, high, newest):
            pass

    async def _owner_groups(self, first: int, last: int, newest: int) -> AsyncIterator[int]:
        """The lowest id of every group, newest first, once its owners are known."""
        while last >= first and not self._is_done:
            group = range(max(first, last - self._group.at_once + 1), last + 1)
            try:
                owners = await self._patiently(partial(self._owners, group))
            except _TOO_MANY_IDS:
                self._group = self._group.after_refusal()
                if self._group.at_once < _FEWEST_IDS:
                    return
                continue
            self._group = self._group.after_answer()
            for wallet in self._wallets:
                wallet.confirm(owners)
                wallet.state = replace(wallet.state, found=wallet.state.found | wallet.mine)
            last = group.start - 1
            self._worked += len(group)
            self._tell("ids", self._worked, newest)
            yield group.start

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        for _ in range(_MOST_LIMITS):
            try:
                return await ask()
            except RateLimited as limit:
                await self._client.wait_out(limit)
        return await ask()

    def _update(self, **changes: int) -> None:
        for wallet in self._wallets:
            wallet.state = replace(wallet.state, **changes)

    def _save(self) -> None:
        self._memory.remember_searches({wallet.owner: wallet.state for wallet in self._wallets})

    def _tell(self, by: Literal["logs", "ids"], done: int, total: int) -> None:
        seconds = self._client.monotonic() - self._began
        left = None if not self._worked else seconds / self._worked * (total - done)
        self._watch(
            SearchProgress(
                found=sum(
                    wallet.balance - max(0, wallet.missing_count) for wallet in self._wallets
                ),
                wanted=sum(wallet.balance for wallet in self._wallets),
                by=by,
                done=done,
                total=total,
                seconds_left=left,
                blocks_at_once=0 if self._known is None else self._known.blocks,
                limited=self._client.is_limited,
            )
        )
