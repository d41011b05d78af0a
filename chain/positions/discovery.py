"""All positions of wallets, found without an indexer and counted against `balanceOf`.

The PositionManager cannot list a wallet's tokens. `balanceOf` says how many there are, `ownerOf`
confirms each at the block of the snapshot; where some are missing they are searched for.
"""

import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from chain.contracts.networks import Address, Network
from chain.positions.batch_reader import AlsoWords, BatchReader, no_more_words
from chain.positions.search import (
    PositionSearch,
    WalletPositions,
    WalletSearch,
    WalletTrail,
    affords_approvals,
)
from chain.protocols.custody import balance_call, decode_count, decode_flag, operator_call
from chain.protocols.reference import PositionRef
from chain.protocols.registry import protocol_of
from chain.protocols.snapshot import PositionSnapshot
from chain.protocols.v4.holdings import (
    OWNERS_AT_ONCE,
    Holdings,
    LogDelta,
    LogDeltaQuestion,
    by_owner,
    leaving_requests,
    minted_in,
    worth_keeping,
)
from chain.protocols.v4.memory import PositionMemory, SearchProgress, SearchState
from chain.read.block_reader import OneBlock, sound_answers
from chain.read.logs import NARROWABLE
from chain.rpc.client import RpcClient
from chain.rpc.errors import Reorged, TimedOut
from chain.rpc.requests import Call

_MOST_SETBACKS = 3
"""Moved heads and refused ranges: past these the node is not to be relied on."""

_MOST_SEARCHES = 20
"""In one reading: what was found may turn out to be another's, time and again."""

_BETWEEN_CLAIMS = 1.0
"""Seconds between two looks at whether somebody else still searches for the same wallet."""


class Discovery(Struct, eq=False):
    """Reads wallets of one network, remembering what they held and how far they were searched.

    Within `between_logs` seconds after logs were last read they are not asked for again. Positions
    that came or went are noticed all the same, by their number and their owners; strangers who may
    move them since, only where `follow_leaving` asks for those logs alone. Positions that managers
    list are counted in where `every_protocol` asks for them.
    """

    client: RpcClient
    network: Network
    memory: PositionMemory
    also: AlsoWords = no_more_words
    watch: Callable[[SearchProgress], None] = lambda _: None
    between_logs: float = 0.0
    follow_leaving: bool = False
    every_protocol: bool = False
    _searcher: str = field(default_factory=lambda: secrets.token_hex(8))

    async def read(self, owner: Address) -> WalletPositions:
        """Every position of the wallet at the newest block.

        One request where there is none, or none arrived since the last time.
        """
        [wallet] = await self.read_all([owner])
        return wallet

    async def read_all(self, owners: Sequence[Address]) -> tuple[WalletPositions, ...]:
        """Every position of several wallets at one block, in the requests that one would take."""
        trails = self._trails(owners)
        if not self._gives_logs():
            for trail in trails:
                trail.search_what_was_missed()
        with_logs = not self._were_followed_just_now(trails)
        setbacks = 0
        while True:
            try:
                with sound_answers():
                    wallets = await self._look(trails, with_logs=with_logs)
            except (Reorged, *NARROWABLE) as setback:
                setbacks += 1
                if setbacks > _MOST_SETBACKS:
                    raise
                if isinstance(setback, TimedOut) and not self.client.has_answered:
                    raise
                if isinstance(setback, NARROWABLE):
                    for trail in trails:
                        trail.search_what_was_missed()
                continue
            if wallets is None:
                with_logs = True
                continue
            unfound = [
                (trail, wallet)
                for trail, wallet in zip(trails, wallets, strict=True)
                if self._must_be_searched(trail, wallet)
            ]
            if not unfound:
                return tuple(wallet.with_listed for wallet in wallets)
            await self._search(unfound)

    def _trails(self, owners: Sequence[Address]) -> list[WalletTrail]:
        searches = self.memory.searches(owners)
        start = Holdings.before(self.network.first_block)
        return [
            WalletTrail(
                owner,
                [start, *self.memory.checkpoints(owner)],
                searches.get(owner),
                self.memory.named_positions(owner),
            )
            for owner in owners
        ]

    def _must_be_searched(self, trail: WalletTrail, wallet: WalletPositions) -> bool:
        state, missing = trail.search, wallet.balance_of - wallet.found_count
        if trail.searches > _MOST_SEARCHES:
            return False
        if missing > 0:
            return state is None or not state.is_settled(missing, self.client.labels)
        if trail.searches:
            return False
        if trail.last.block_hash is not None and state is not None and state.given_up is None:
            # What was approved since the last checkpoint is not known yet.
            return self._gives_logs()
        since = wallet.approvals_from
        return bool(wallet.positions) and since is not None and self._affords(since)

    def _is_short(
        self, trail: WalletTrail, now: Mapping[Address, Holdings], balances: Mapping[Address, int]
    ) -> bool:
        """Whether a wallet is sure to be searched, and then read again."""
        missing, state = balances[trail.owner] - len(now[trail.owner].held), trail.search
        settled = state is not None and state.is_settled(missing, self.client.labels)
        return missing > 0 and trail.searches <= _MOST_SEARCHES and not settled

    def _gives_logs(self) -> bool:
        known = self.client.log_range
        return known is None or known.gives_logs

    def _affords(self, approvals_from: int) -> bool:
        return affords_approvals(approvals_from - self.network.first_block, self.client.log_range)

    async def _search(self, unfound: Sequence[tuple[WalletTrail, WalletPositions]]) -> None:
        """Look for what is missing, wallets that were searched equally far together."""
        groups: dict[object, list[tuple[WalletTrail, WalletPositions]]] = defaultdict(list)
        for trail, wallet in unfound:
            state = trail.state_for(wallet, self.client.labels)
            trail.search = state
            reached = (state.through, state.logs_from, state.approvals_from, state.ids_from)
            groups[reached].append((trail, wallet))
        for group in groups.values():
            for at in range(0, len(group), OWNERS_AT_ONCE):
                await self._search_together(group[at : at + OWNERS_AT_ONCE])

    async def _search_together(self, group: Sequence[tuple[WalletTrail, WalletPositions]]) -> None:
        owners = [trail.owner for trail, _ in group]
        if not await self._claimed(owners):
            for (trail, _), fresh in zip(group, self._trails(owners), strict=True):
                trail.checkpoints, trail.search = fresh.checkpoints, fresh.search
            return

        def going_on(progress: SearchProgress) -> None:
            for owner in owners:
                self.memory.claim_search(owner, self._searcher)
            self.watch(progress)

        searched = [
            WalletSearch(
                wallet.owner,
                wallet.balance_of,
                trail.search or SearchState.from_block(wallet.block.number),
                {position.ref for position in wallet.positions},
                doubtful=trail.searches > 0,
            )
            for trail, wallet in group
        ]
        try:
            search = PositionSearch(self.client, self.network, self.memory, searched, going_on)
            await search.run(group[0][1].block.number)
        finally:
            for owner in owners:
                self.memory.release_search(owner)
        for (trail, _), found_positions in zip(group, searched, strict=True):
            trail.search, trail.searched_at = found_positions.state, group[0][1].block
            trail.searches += 1

    async def _claimed(self, owners: Sequence[Address]) -> bool:
        """Whether the search is ours; where somebody else's was waited for, it may be over."""
        waited = False
        for owner in owners:
            while not self.memory.claim_search(owner, self._searcher):
                waited = True
                await self.client.sleep(_BETWEEN_CLAIMS)
        if waited:
            for owner in owners:
                self.memory.release_search(owner)
        return not waited

    def _were_followed_just_now(self, trails: Sequence[WalletTrail]) -> bool:
        gives_logs = self._gives_logs()
        return bool(self.between_logs) and all(
            (trail.follows_logs or (trail.last.held and not gives_logs))
            and self.memory.checked_within(trail.owner, self.between_logs)
            for trail in trails
        )

    async def _look(
        self, trails: Sequence[WalletTrail], *, with_logs: bool
    ) -> tuple[WalletPositions, ...] | None:
        """The wallets by their last checkpoints and the logs since.

        None if a checkpoint is of another chain: its trail then ends with the one before. Without
        logs None also if anything came or went, or may be moved by another since.
        """
        before = {trail.owner: trail.before() for trail in trails}
        at = OneBlock(self.client, self.network)
        gathering = BatchReader(at, self.network, self.memory, self.also)
        for reader in gathering.listed if self.every_protocol else ():
            reader.follow(before)
        followed = {trail.owner for trail in trails if trail.follows_logs}
        question = LogDeltaQuestion(self.network, before, followed)
        known = _operators(before)
        follows_leaving = self.follow_leaving and self._gives_logs()
        leaving = leaving_requests(self.network, before) if follows_leaving else ()
        answers = await gathering.advance(
            _held(before),
            (
                *(balance_call(self.network.contracts.position_manager, owner) for owner in before),
                *self._approvals(known),
            ),
            question.requests if with_logs else leaving,
        )
        if not with_logs and any(answer != () for answer in answers.beside):
            return None
        balances = dict(zip(before, map(decode_count, answers.outcomes), strict=False))
        approvals = dict(zip(known, answers.outcomes[len(before) :], strict=True))
        news = (
            question.read_answers(answers.beside) if with_logs else LogDelta(None, frozenset(), ())
        )
        if news.lost:
            for trail in trails:
                if trail.owner in news.lost:
                    trail.step_back()
            return None
        logs, block = by_owner(news.logs), at.block
        now = {trail.owner: trail.now(logs.get(trail.owner, ()), block) for trail in trails}
        newcomers = [operator for operator in _operators(now) if operator not in approvals]
        if any(self._is_short(trail, now, balances) for trail in trails):
            gathering.put_listed_off()
        if newcomers:
            more = await gathering.advance(_held(now), self._approvals(newcomers))
            approvals |= zip(newcomers, more.outcomes, strict=True)
        await gathering.complete(_held(before) | _held(now))

        allowed: dict[Address, list[Address]] = defaultdict(list)
        for (owner, operator), approval in approvals.items():
            if decode_flag(approval):
                allowed[owner].append(operator)
        snapshots = gathering.snapshots()
        listed = _listed(snapshots.values())
        wallets = tuple(
            self._wallet(
                gathering,
                [snapshots[ref] for ref in sorted(was.held | now[owner].held) if ref in snapshots],
                now[owner],
                owner=owner,
                balance_of=balances[owner],
                operators=tuple(allowed[owner]),
                listed=listed[owner],
            )
            for owner, was in before.items()
        )
        if not with_logs:
            unchanged = all(wallet.complete and not wallet.unconfirmed for wallet in wallets)
            return wallets if unchanged else None
        final = -1 if news.finalized is None else news.finalized.number
        proven = {
            trail.owner: worth_keeping(
                (*trail.checkpoints[1:], _proven(now[trail.owner], wallet)), final
            )
            for trail, wallet in zip(trails, wallets, strict=True)
            if wallet.complete and _proven(now[trail.owner], wallet) != trail.last
        }
        if proven:
            self.memory.remember_checkpoints(proven)
            self.memory.remember_minted(minted_in(news.logs))
            searched = [trail.owner for trail in trails if trail.search is not None]
            self.memory.forget_searches(proven.keys() & searched)
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
        listed: Sequence[PositionSnapshot],
    ) -> WalletPositions:
        mine = tuple(snapshot for snapshot in snapshots if snapshot.owner == owner)
        since = holdings.approvals_from
        counted = gathering.listed if self.every_protocol else ()
        return WalletPositions(
            owner=owner,
            block=gathering.at.block,
            positions=mine,
            balance_of=balance_of,
            operators=operators,
            approvals_from=since if since > self.network.first_block else None,
            unconfirmed=tuple(sorted(holdings.held - {position.ref for position in mine})),
            words=gathering.words,
            listed=tuple(listed),
            listed_balance=sum(reader.balance(owner) for reader in counted),
        )

    def _approvals(self, operators: Iterable[tuple[Address, Address]]) -> tuple[Call, ...]:
        return tuple(
            operator_call(self.network.contracts.position_manager, *operator)
            for operator in operators
        )


def _listed(snapshots: Iterable[PositionSnapshot]) -> Mapping[Address, list[PositionSnapshot]]:
    """By owner, what managers list."""
    found: dict[Address, list[PositionSnapshot]] = defaultdict(list)
    for snapshot in snapshots:
        if protocol_of(snapshot.ref).lists_tokens:
            found[snapshot.owner].append(snapshot)
    return found


def _proven(holdings: Holdings, wallet: WalletPositions) -> Holdings:
    """Of what a wallet may hold that which it does."""
    return replace(holdings, held=frozenset(position.ref for position in wallet.positions))


def _held(holdings: Mapping[Address, Holdings]) -> frozenset[PositionRef]:
    return frozenset[PositionRef]().union(*(holding.held for holding in holdings.values()))


def _operators(holdings: Mapping[Address, Holdings]) -> list[tuple[Address, Address]]:
    """Each wallet with each stranger that was allowed to move its positions."""
    return [
        (owner, operator) for owner, held in holdings.items() for operator in sorted(held.operators)
    ]
