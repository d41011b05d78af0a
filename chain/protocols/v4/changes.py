"""Every change of liquidity of some positions, read from logs and remembered once it is final."""

import math
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from chain.base.store import Store, read_as
from chain.base.units import Known, Quantity, Unknown
from chain.contracts.networks import Network
from chain.math.fees import FeeGrowth
from chain.protocols.past import LiquidityChange, LogPlace
from chain.protocols.reference import PositionRef, v4_position, v4_token_id
from chain.protocols.snapshot import PositionIdentity
from chain.protocols.v4.circumstances import (
    ChangeCircumstances,
    Event,
    change_amounts,
    read_circumstances,
)
from chain.protocols.v4.events import MODIFY_LIQUIDITY, ModifyLiquidityEvent, modify_liquidity_event
from chain.protocols.v4.holdings import TRANSFER, minted_in
from chain.protocols.v4.memory import PositionMemory
from chain.read.block_reader import sound_answers
from chain.read.logs import (
    FIRST_BLOCKS,
    NARROWABLE,
    ScannedPart,
    ScanProgress,
    scan_parts,
)
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError, RpcRefused, StatePruned
from chain.rpc.records import Block, Log

_NAMESPACE = "changes"

_ASKED_AGAIN_SECONDS = 86_400.0
"""After which a node is asked once more for what it did not tell."""


class PastChanges(Struct, frozen=True):
    """Every change up to a block of the chain that has this hash there; none as yet is none."""

    through: int
    block_hash: str
    events: tuple[tuple[ModifyLiquidityEvent, ChangeCircumstances], ...]
    asked_at: float | None = None
    """When somebody was last asked for what is unknown of them; None where nothing is."""
    asked: tuple[str, ...] = ()
    """Which endpoints were."""

    def is_due(self, endpoints: Sequence[str], now: float) -> bool:
        """Whether what is unknown is worth another question."""
        if self.asked_at is None:
            return False
        return not {*endpoints} <= {*self.asked} or now - self.asked_at >= _ASKED_AGAIN_SECONDS


_Reason: TypeAlias = tuple[str]
"""In place of a number that nobody told."""

_ChangeRow: TypeAlias = tuple[
    int, int, str, str, int, int, int | _Reason, str, int, int | _Reason, int, int | _Reason
]
"""Its place, the change, its time, the price with source and block, two fee growths, gas."""


class _StoredChanges(Struct, frozen=True, omit_defaults=True):
    through: int
    hash: str
    events: tuple[_ChangeRow, ...]
    asked_at: float | None = None
    asked: tuple[str, ...] = ()


class ChangeMemory:
    def __init__(self, store: Store, network: Network, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._sender = network.contracts.position_manager
        self._place = f"{network.chain_id}/{self._sender}"

    def now(self) -> float:
        return self._clock()

    def load(self, identities: Iterable[PositionIdentity]) -> dict[PositionRef, PastChanges]:
        """What is remembered of these positions, by token id."""
        by_key = {f"{self._place}/{v4_token_id(identity.ref)}": identity for identity in identities}
        found: dict[PositionRef, PastChanges] = {}
        for key, value in self._store.get_many(_NAMESPACE, by_key).items():
            stored = read_as(_StoredChanges, value)
            if stored is not None:
                identity = by_key[key]
                events = tuple(self._event(identity, row) for row in stored.events)
                found[identity.ref] = PastChanges(
                    stored.through, stored.hash, events, stored.asked_at, stored.asked
                )
        return found

    def save(self, changes: Mapping[PositionRef, PastChanges]) -> None:
        values = {
            f"{self._place}/{v4_token_id(ref)}": to_builtins(
                _StoredChanges(
                    past.through,
                    past.block_hash,
                    tuple(_row(event, seen) for event, seen in past.events),
                    past.asked_at,
                    past.asked,
                )
            )
            for ref, past in changes.items()
        }
        self._store.put_many(_NAMESPACE, values, now=self._clock())

    def forget(self, identities: Iterable[PositionIdentity]) -> None:
        keys = [f"{self._place}/{v4_token_id(identity.ref)}" for identity in identities]
        for key in self._store.get_many(_NAMESPACE, keys):
            self._store.forget_key(_NAMESPACE, key)

    def _event(
        self, identity: PositionIdentity, row: _ChangeRow
    ) -> tuple[ModifyLiquidityEvent, ChangeCircumstances]:
        place = LogPlace(*row[:4])
        delta, timestamp, sqrt_price, price_source, price_block, growth0, growth1, gas = row[4:]
        event = ModifyLiquidityEvent(
            place,
            identity.pool_id,
            self._sender,
            identity.tick_lower,
            identity.tick_upper,
            delta,
            v4_token_id(identity.ref),
        )
        number = place.block_number
        return event, ChangeCircumstances(
            timestamp,
            _as_quantity(sqrt_price, price_source, price_block),
            _as_quantity(growth0, "PoolManager storage", number).map(
                lambda one: FeeGrowth(one, growth1)
            ),
            _as_quantity(gas, "receipt", number),
        )


def is_whole(seen: ChangeCircumstances) -> bool:
    """Whether nothing is left that another node could still tell."""
    return all(
        isinstance(quantity, Known) for quantity in (seen.sqrt_price, seen.growth_paid, seen.gas)
    )


def _as_quantity(value: int | _Reason, source: str, block: int) -> Quantity[int]:
    return Known(value, source, block) if isinstance(value, int) else Unknown(*value)


def _row(event: ModifyLiquidityEvent, seen: ChangeCircumstances) -> _ChangeRow:
    place, price, growth = event.place, seen.sqrt_price, seen.growth_paid
    value, source, block = (
        ((price.reason,), "", 0)
        if isinstance(price, Unknown)
        else (price.value, price.source, price.block or 0)
    )
    growth0, growth1 = (
        ((growth.reason,), 0)
        if isinstance(growth, Unknown)
        else (growth.value.growth0, growth.value.growth1)
    )
    return (
        *(place.block_number, place.log_index, place.block_hash, place.transaction_hash),
        *(event.liquidity_delta, seen.timestamp),
        *(value, source, block),
        *(growth0, growth1),
        (seen.gas.reason,) if isinstance(seen.gas, Unknown) else seen.gas.value,
    )


FEW_CALLS = 40
"""Where all logs take no more, reading them is as quick."""

_NOBODY = "0x" + "00" * 32
_MOST_EMPTY = 4
"""Stretches in a row in which nobody opened a position, before it is given up."""


def is_worth_searching(client: RpcClient, blocks: int) -> bool:
    """Whether an endpoint gives so few blocks at once that many can be left out by it."""
    known = client.log_range
    return known is not None and known.most and math.ceil(blocks / known.blocks) > FEW_CALLS


async def find_mint_block(
    client: RpcClient, network: Network, ref: PositionRef, last: int
) -> int | None:
    """None where the logs do not tell.

    Ids are given one after the other, so those minted in a few blocks say on which side of them
    another one was.
    """
    known = client.log_range
    width = FIRST_BLOCKS if known is None else known.blocks
    low, high = network.first_block, last
    while low <= high:
        start = low + max(0, high - low + 1 - width) // 2
        try:
            minted, end = await _minted_after(client, network, start, width, high)
        except (*NARROWABLE, RpcRefused, StatePruned):
            return None
        if ref in minted:
            return minted[ref]
        if not minted and end < high:
            return None
        if not minted or min(minted) > ref:
            high = start - 1
        elif max(minted) < ref:
            low = end + 1
        else:
            return None
    return None


async def _minted_after(
    client: RpcClient, network: Network, start: int, width: int, last: int
) -> tuple[dict[PositionRef, int], int]:
    """The first ids minted from a block on, by their blocks, and the last block of them."""
    minted: dict[PositionRef, int] = {}
    end = start - 1
    for _ in range(_MOST_EMPTY):
        first, end = end + 1, min(last, end + width)
        manager = network.contracts.position_manager
        async for part in scan_parts(client, manager, [(TRANSFER, _NOBODY)], first, end):
            minted |= minted_in(part.logs)
        if minted or end >= last:
            break
    return minted, end


Seen: TypeAlias = "tuple[ModifyLiquidityEvent, ChangeCircumstances]"

_MOST_CALLS = 7_000
"""For the logs of a life: some minutes of them."""


class ChangeReader:
    def __init__(
        self,
        client: RpcClient,
        network: Network,
        positions: PositionMemory,
        changes: ChangeMemory,
        *,
        watch: Callable[[ScanProgress], None] = lambda _: None,
    ) -> None:
        self._client = client
        self._network = network
        self._positions = positions
        self._changes_memory = changes
        self._watch = watch

    async def changes(
        self, liquidity: Mapping[PositionIdentity, int | None], until: int
    ) -> dict[PositionRef, tuple[LiquidityChange, ...]]:
        """Every change of these positions up to a block, by token id.

        They must add up to their liquidity there, where that is known: else they are read again,
        from every other endpoint, and what still does not is returned and not kept.
        """
        if not liquidity:
            return {}
        with sound_answers():
            return await self._changes(liquidity, until)

    async def _changes(
        self, liquidity: Mapping[PositionIdentity, int | None], until: int
    ) -> dict[PositionRef, tuple[LiquidityChange, ...]]:
        identities = tuple(liquidity)
        past, final = await self._still_valid(identities)
        minted = await self._minted(identities, past, until)
        seen = await self._changes_of(identities, until, past, minted, final)

        def astray() -> list[PositionIdentity]:
            return [
                identity
                for identity in identities
                if not _adds_up(liquidity[identity], seen[identity.ref])
            ]

        if any(_events(past, identity) or identity.ref in minted for identity in astray()):
            # What was remembered is of another history: read theirs from the beginning.
            seen |= await self._changes_of(astray(), until, {}, {}, final)
        for _ in self._client.labels[1:]:
            if again := astray():
                self._client.ask_others_first()
                seen |= await self._changes_of(again, until, {}, {}, final)
        left_out = {identity.ref: identity for identity in astray()}
        if final is not None:
            told = {id_: events for id_, events in seen.items() if events and id_ not in left_out}
            self._changes_memory.save(self._final(told, past, final))
        # A node that tells too little of a position lacks its logs: the next look begins anew.
        self._changes_memory.forget(
            identity
            for identity in identities
            if identity.ref in left_out or not seen[identity.ref]
        )
        return {
            identity.ref: change_amounts(identity, seen[identity.ref]) for identity in identities
        }

    async def _minted(
        self,
        identities: Sequence[PositionIdentity],
        past: Mapping[PositionRef, PastChanges],
        until: int,
    ) -> dict[PositionRef, int]:
        """A block at or before which each came to be, of those of which that is known.

        Where an endpoint gives few blocks at once the oldest is looked for: ids are given one after
        the other, so no other is older.
        """
        minted = self._positions.mint_blocks(identity.ref for identity in identities)
        unknown = {identity.ref for identity in identities} - minted.keys() - past.keys()
        blocks = until - self._network.first_block + 1
        if not unknown or not is_worth_searching(self._client, blocks):
            return minted
        oldest = min(unknown)
        found = await find_mint_block(self._client, self._network, oldest, until)
        if found is None:
            return minted
        self._positions.remember_minted({oldest: found})
        return minted | dict.fromkeys(unknown, found)

    async def _still_valid(
        self, identities: Sequence[PositionIdentity]
    ) -> tuple[dict[PositionRef, PastChanges], Block | None]:
        """What is remembered of this chain and not of another, and the last final block."""
        past = self._changes_memory.load(identities)
        numbers = sorted({history.through for history in past.values()})
        final, *headers = await self._client.settle(
            [requests.block("finalized"), *(requests.block(number) for number in numbers)]
        )
        hashes: dict[int, str] = {}
        for header in headers:
            if isinstance(header, RpcError):
                raise header
            if header is not None:
                hashes[header.number] = header.hash
        valid = {
            ref: changes
            for ref, changes in past.items()
            if hashes.get(changes.through) == changes.block_hash
        }
        told = await self._asked_again(valid, identities)
        return told, final if isinstance(final, Block) else None

    async def _asked_again(
        self, past: Mapping[PositionRef, PastChanges], positions: Sequence[PositionIdentity]
    ) -> dict[PositionRef, PastChanges]:
        """The same with what was unknown asked for anew, where somebody may tell by now."""
        labels, now = self._client.labels, self._changes_memory.now()
        identities = {position.ref: position for position in positions}
        due = {ref: changes for ref, changes in past.items() if changes.is_due(labels, now)}
        missing = [
            (identities[ref], event)
            for ref, changes in due.items()
            for event, seen in changes.events
            if not is_whole(seen)
        ]
        if not missing:
            return dict(past)
        told = iter(await read_circumstances(self._client, self._network, missing))
        return {**past} | {
            ref: replace(
                changes,
                events=tuple(
                    (event, seen if is_whole(seen) else next(told))
                    for event, seen in changes.events
                ),
                asked_at=now,
                asked=labels,
            )
            for ref, changes in due.items()
        }

    async def _changes_of(
        self,
        identities: Sequence[PositionIdentity],
        until: int,
        past: Mapping[PositionRef, PastChanges],
        minted: Mapping[PositionRef, int],
        final: Block | None,
    ) -> dict[PositionRef, list[Seen]]:
        """Those remembered, and after them those the logs tell, saved on the way."""
        starts = {
            identity.ref: past[identity.ref].through + 1
            if identity.ref in past
            else minted.get(identity.ref, self._network.first_block)
            for identity in identities
        }
        seen = {
            identity.ref: [
                known for known in _events(past, identity) if known[0].place.block_number <= until
            ]
            for identity in identities
        }
        found: list[Event] = []
        first = min(starts.values())
        async for part in self._parts(identities, first, until):
            found += _own(part.logs, identities, starts)
            if part.header is not None and final is not None and part.end <= final.number:
                # Whoever is stopped goes on from here.
                await self._tell_all(found, seen)
                reached = {id_: seen[id_] for id_, start in starts.items() if start <= part.end}
                self._changes_memory.save(self._final(reached, past, part.header))
            known = len(found) + sum(map(len, seen.values()))
            self._watch(ScanProgress(first, until, part.end, known))
        await self._tell_all(found, seen)
        return seen

    def _parts(
        self, identities: Sequence[PositionIdentity], first: int, last: int
    ) -> AsyncIterator[ScannedPart]:
        """The changes of their pools; one pass over the logs serves them all."""
        contracts = self._network.contracts
        pools = tuple(sorted({identity.pool_id for identity in identities}))
        sender = "0x" + "00" * 12 + contracts.position_manager.removeprefix("0x")
        topics = (MODIFY_LIQUIDITY, pools, sender)
        return scan_parts(
            self._client, contracts.pool_manager, [topics], first, last, most_calls=_MOST_CALLS
        )

    async def _tell_all(self, found: list[Event], seen: Mapping[PositionRef, list[Seen]]) -> None:
        """Add what was found to what was seen, with its circumstances."""
        if found:
            told = await read_circumstances(self._client, self._network, found)
            for (identity, event), circumstances in zip(found, told, strict=True):
                seen[identity.ref].append((event, circumstances))
            found.clear()

    def _final(
        self,
        seen: Mapping[PositionRef, Sequence[Seen]],
        past: Mapping[PositionRef, PastChanges],
        final: Block,
    ) -> dict[PositionRef, PastChanges]:
        """Every change up to the final block, also where a node could not tell all of it."""
        found: dict[PositionRef, PastChanges] = {}
        for ref, events in seen.items():
            settled = tuple(
                event for event in events if event[0].place.block_number <= final.number
            )
            asked_at: float | None = None
            asked: tuple[str, ...] = ()
            if not all(is_whole(circumstances) for _, circumstances in settled):
                asked_at, asked = self._changes_memory.now(), self._client.labels
                before = past.get(ref)
                if before is not None and before.asked_at is not None:
                    asked_at, asked = before.asked_at, before.asked
            found[ref] = PastChanges(final.number, final.hash, settled, asked_at, asked)
        return found


def _own(
    logs: Sequence[Log], identities: Sequence[PositionIdentity], starts: Mapping[PositionRef, int]
) -> list[Event]:
    """The changes of these positions, each from its start on."""
    by_id = {identity.ref: identity for identity in identities}
    events = ((v4_position(event.salt), event) for event in map(modify_liquidity_event, logs))
    return [
        (by_id[ref], event)
        for ref, event in events
        if ref in by_id and event.place.block_number >= starts[ref]
    ]


def _events(
    past: Mapping[PositionRef, PastChanges], identity: PositionIdentity
) -> tuple[Seen, ...]:
    known = past.get(identity.ref)
    return () if known is None else known.events


def _adds_up(liquidity: int | None, seen: Sequence[Seen]) -> bool:
    if liquidity is None:
        return True
    return sum(event.liquidity_delta for event, _ in seen) == liquidity and bool(seen)
