"""The hours of pools up to a block, read once: saved as they come, continued where they stopped."""

import json
import zlib
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from itertools import accumulate, groupby, pairwise

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import DAY, HOUR
from chain.contracts.abi import AbiError
from chain.contracts.networks import Network
from chain.contracts.pool_key import PoolId
from chain.history.block_times import (
    MOST_EXACT,
    BlockTimes,
    check_unmoved,
    first_block_since,
    read_block_times,
    read_headers,
)
from chain.history.events import (
    FeeTerms,
    LogProof,
    by_protocol,
    growth_fault,
    is_comparable,
    price_fault,
    read_beginnings,
    read_marks,
)
from chain.history.hours import (
    HourRow,
    KeptHours,
    Landmark,
    PoolHours,
    RecentSwap,
    hour_of,
    recent_since,
    recent_swap,
)
from chain.protocols.past import PoolMark, SwapEvent
from chain.protocols.protocol import LiquidityProtocol
from chain.protocols.registry import protocol_of_pool
from chain.read.block_reader import EventError
from chain.read.logs import LOGS_NOT_GIVEN, ScanProgress, scan_logs, why_not_given
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import BlockMissing, LogsLeftOut, Malformed, RpcError
from chain.rpc.records import Block, Log, LogFilter

MOST_DAYS = 40
"""Rows older than this are forgotten and read again when they are wanted."""

_ROWS, _SWAPS = "hours by move", "proved swaps"
_FORMER = ("pool hours", "pool swaps", "proved hours", "hours by price")
"""What was kept before swaps were held against the pool's state, and before rows told where along
the price fees were paid, and how much by how far it went."""
_ATTEMPTS = 3
_SAMPLES, _SAMPLE_BLOCKS = 3, 500
_NOT_OPENED = PoolMark(0, 0, 0)


class _StoredHours(Struct, frozen=True):
    since: int
    whole: bool
    last: Landmark
    landmarks: tuple[Landmark, ...]
    rows: tuple[HourRow, ...]
    swaps_since: int
    proof: LogProof | None = None
    opening: int = 0


class _SwapColumns(Struct, frozen=True, array_like=True):
    """The fields of many swaps, the first five as differences to the swap before."""

    blocks: list[int]
    times: list[int]
    prices: list[int]
    liquidities: list[int]
    fees: list[int]
    amounts: list[int]
    marks: list[int]
    """One for a direction, two for a time that is estimated."""


class HourMemory:
    """Nothing here is trusted until the chain still has the last block under the same hash.

    Swaps are written before the rows that count them: whatever a killed process or a second one
    leaves behind, swaps beyond the last block of the rows are not looked at, and where fewer are
    there than a row counts the memory goes back to before that hour.
    """

    def __init__(self, store: Store, network: Network, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._place = f"{network.chain_id}/{network.contracts.pool_manager}"

    def load(self, pool_id: PoolId, terms: FeeTerms) -> KeptHours | None:
        found = self._store.read(_StoredHours, _ROWS, self._key(pool_id))
        if found is None:
            return None
        wanted = [row for row in found.rows if row.hour >= found.swaps_since]
        keys = {row.hour: self._key(pool_id, row.hour) for row in wanted}
        stored = self._store.get_many(_SWAPS, keys.values())
        swaps: list[RecentSwap] = []
        lost: int | None = None
        for row in wanted:
            there = _unpacked(stored.get(keys[row.hour]))
            counted = [swap for swap in there if swap.block_number <= found.last.number]
            if len(counted) != row.swaps:
                lost = row.hour
                break
            swaps += counted
        kept = KeptHours(
            found.since,
            found.whole,
            found.last,
            found.landmarks,
            found.rows,
            tuple(swaps),
            found.swaps_since,
            found.proof,
            found.opening,
        )
        return kept if lost is None else _before(kept, lost, terms)

    def save(self, kept: Mapping[PoolId, KeptHours], changed_since: int) -> None:
        """All of these pools; swaps of hours before the one of this time are already there."""
        now = self._clock()
        changed = hour_of(changed_since)
        swaps = {
            self._key(pool, hour): _packed(list(several))
            for pool, kept_hours in kept.items()
            for hour, several in groupby(kept_hours.recent, key=lambda swap: hour_of(swap.time))
            if hour >= changed
        }
        self._store.put_many(_SWAPS, swaps, now=now)
        rows = {
            self._key(pool): to_builtins(
                _stored(kept_hours.without_rows_before(_oldest(kept_hours)))
            )
            for pool, kept_hours in kept.items()
        }
        self._store.put_many(_ROWS, rows, now=now)

    def forget(self, pool_id: PoolId) -> None:
        self._store.forget_key(_ROWS, self._key(pool_id))

    def forget_swaps(self, pool_id: PoolId, hours: Iterable[int]) -> None:
        """Let go of the single swaps of these hours, of which the rows are kept."""
        for hour in hours:
            self._store.forget_key(_SWAPS, self._key(pool_id, hour))

    def _key(self, pool_id: PoolId, hour: int | None = None) -> str:
        place = f"{self._place}/{pool_id}"
        return place if hour is None else f"{place}/{hour}"


def forget_hours(store: Store, *, before: float) -> int:
    """Forget the hours of pools that nobody read since then; of how many pools that was."""
    for namespace in _FORMER:
        store.forget(namespace)
    store.forget_before(_SWAPS, before)
    return store.forget_before(_ROWS, before)


def _before(kept: KeptHours, lost: int, terms: FeeTerms) -> KeptHours | None:
    """As of the newest landmark in an hour before one whose swaps are lost."""
    for landmark in reversed(kept.landmarks):
        if hour_of(landmark.time) < lost:
            return kept.rolled_back(landmark, terms)
    return None


def _oldest(kept: KeptHours) -> int:
    return hour_of(kept.last.time) - MOST_DAYS * DAY


def _stored(kept: KeptHours) -> _StoredHours:
    return _StoredHours(
        kept.since,
        kept.from_first_block,
        kept.last,
        kept.landmarks,
        kept.rows,
        kept.recent_since,
        kept.proof,
        kept.opening,
    )


def _packed(swaps: Sequence[RecentSwap]) -> str:
    columns = _SwapColumns(
        blocks=_differences(swap.block_number for swap in swaps),
        times=_differences(swap.time for swap in swaps),
        prices=_differences(swap.sqrt_price_x96 for swap in swaps),
        liquidities=_differences(swap.liquidity for swap in swaps),
        fees=_differences(swap.fee for swap in swaps),
        amounts=[swap.amount_in for swap in swaps],
        marks=[swap.zero_for_one + 2 * swap.time_estimated for swap in swaps],
    )
    text = json.dumps(to_builtins(columns), separators=(",", ":"))
    return b64encode(zlib.compress(text.encode())).decode()


def _unpacked(value: object) -> list[RecentSwap]:
    """What was packed; nothing where that does not read."""
    try:
        text = zlib.decompress(b64decode(convert(value, str), validate=True))
        columns = convert(json.loads(text), _SwapColumns)
        rows = zip(
            accumulate(columns.blocks),
            accumulate(columns.times),
            accumulate(columns.prices),
            accumulate(columns.liquidities),
            accumulate(columns.fees),
            columns.amounts,
            columns.marks,
            strict=True,
        )
        return [
            RecentSwap(block, time, mark >= 2, mark % 2 == 1, amount, price, liquidity, fee)
            for block, time, price, liquidity, fee, amount, mark in rows
        ]
    except (ValidationError, ValueError, zlib.error):
        return []


def _differences(values: Iterable[int]) -> list[int]:
    return [after - before for before, after in pairwise((0, *values))]


# Blocks of a live network come evenly enough to tell the time between two of them; those of the
# embedded chain come whenever somebody moves its clock.
_MOST_EXACT_BY_CLOCK = {"wall": MOST_EXACT, "head": 2_000}

_EXACT_EVERY = HOUR // 2
"""On such a network the times of two blocks so far apart tell those between to a few seconds."""

_SETTLED_SECONDS = HOUR
"""Older blocks are not replaced any more."""

_SECONDS_AT_FIRST = 2 * HOUR
"""How much of a pool nothing is known of is asked for in the first request for logs."""

_MOST_CALLS = 3_000
"""For all the logs that are wanted: a few minutes of them, at an endpoint that limits its pace."""


class _PoolGroup(Struct, frozen=True):
    """Pools that are read together, and the block before the first that is asked for."""

    pools: tuple[PoolId, ...]
    anchor: Block


async def read_hours(
    client: RpcClient,
    network: Network,
    terms: Mapping[PoolId, FeeTerms],
    seconds: int,
    *,
    memory: HourMemory,
    head: Block | None = None,
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> dict[PoolId, PoolHours]:
    """Every swap of the last so many seconds up to the head, by the chain's own clock.

    Raises `Reorged` when the chain changed while it was read; what was saved before is looked
    through again at the next read. Raises `LogsLeftOut` when what was read, some times over, is not
    all that happened: nothing of it is kept.
    """
    if not terms:
        return {}
    reader = _HourReader(client, network, terms, head or await client.head(), memory)
    faults: dict[PoolId, str] = {}
    for _ in range(_ATTEMPTS):
        kept = begun = await reader.begin(seconds)
        for group in reader.groups(kept):
            async for grown in reader.grow(group, kept, watch):
                kept = kept | grown
        faults = await reader.prove(begun, kept)
        if not faults:
            return {
                pool: kept_hours.hours(pool, reader.head, terms[pool])
                for pool, kept_hours in kept.items()
            }
        client.ask_others_first()
    raise LogsLeftOut(next(iter(faults.values())), endpoint=" or ".join(client.labels))


async def read_given_hours(
    client: RpcClient,
    network: Network,
    terms: Mapping[PoolId, FeeTerms],
    seconds: int,
    *,
    memory: HourMemory,
    head: Block,
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> dict[PoolId, PoolHours]:
    """The same; of pools whose past no endpoint gives, or gives in part, the reason."""
    try:
        return await read_hours(
            client, network, terms, seconds, memory=memory, head=head, watch=watch
        )
    except LOGS_NOT_GIVEN as error:
        reason = why_not_given(error)
        if isinstance(error, LogsLeftOut) and len(terms) > 1:
            # One pool's past may be whole where another's is not.
            alone = [
                await read_given_hours(
                    client,
                    network,
                    {pool: fee_terms},
                    seconds,
                    memory=memory,
                    head=head,
                    watch=watch,
                )
                for pool, fee_terms in terms.items()
            ]
            return {pool: hours for pools_hours in alone for pool, hours in pools_hours.items()}
    end = head.timestamp
    return {pool: PoolHours(pool, end, head, (), (), end, unread=reason) for pool in terms}


class _HourReader:
    def __init__(
        self,
        client: RpcClient,
        network: Network,
        terms: Mapping[PoolId, FeeTerms],
        head: Block,
        memory: HourMemory,
    ) -> None:
        self._client = client
        self._network = network
        self._terms = terms
        self.head = head
        self._memory = memory
        self._headers: dict[int, Block] = {}
        self._exact_left = _MOST_EXACT_BY_CLOCK[network.clock]
        self._fresh: frozenset[PoolId] = frozenset()
        """Pools of which nothing was remembered."""

    async def begin(self, seconds: int) -> dict[PoolId, KeptHours]:
        """What is remembered and still of this chain, or an empty beginning."""
        since = self.head.timestamp - seconds
        confirmed = await self._confirmed()
        usable = {pool: hours for pool, hours in confirmed.items() if _covers(hours, since)}
        fresh = [pool for pool in self._terms if pool not in usable]
        self._fresh = frozenset(fresh)
        if not fresh:
            return usable
        start = await first_block_since(self._client, self._network, since, self.head)
        [opening] = await read_headers(self._client, [start])
        first = start <= self._network.first_block
        before = Landmark(start - 1, opening.parent_hash, opening.timestamp)
        self._headers[before.number] = opening
        proofs = await self._proofs_at(fresh, before.number)
        empty = KeptHours(
            since=opening.timestamp,
            from_first_block=first,
            last=before,
            landmarks=(),
            rows=(),
            recent=(),
            recent_since=recent_since(self.head.timestamp),
        )
        return usable | {pool: _proved_from(empty, proofs.get(pool)) for pool in fresh}

    async def _proofs_at(self, pools: Sequence[PoolId], block: int) -> dict[PoolId, LogProof]:
        """Of the pools as they were when reading begins; none where a node has no past state."""
        marks: dict[PoolId, PoolMark] = {}
        try:
            if block >= self._network.first_block:
                marks = await read_marks(self._client, self._network, pools, block)
        except RpcError:
            return {}
        except AbiError:
            pass  # there was no Uniswap yet
        later = [pool for pool in pools if pool not in marks or not marks[pool].sqrt_price_x96]
        if later:
            first = max(block + 1, self._network.first_block)
            begun = await read_beginnings(
                self._client, self._network, later, first, self.head.number, most_calls=_MOST_CALLS
            )
            marks |= {pool: begun.get(pool, _NOT_OPENED) for pool in later}
        return {pool: LogProof(block, mark) for pool, mark in marks.items()}

    async def prove(
        self, begun: Mapping[PoolId, KeptHours], kept: Mapping[PoolId, KeptHours]
    ) -> dict[PoolId, str]:
        """Hold what was read against the pools' state; what does not fit is taken back."""
        grown = [pool for pool, kept_hours in kept.items() if kept_hours.last != begun[pool].last]
        if not grown:
            return {}
        try:
            marks = await read_marks(self._client, self._network, grown, self.head.hash)
        except AbiError:
            return {}  # the chain was begun again, and has no Uniswap yet
        faults = {
            pool: await self._fault(pool, kept[pool], marks[pool], begun[pool].last.number)
            for pool in grown
        }
        proved = {
            pool: replace(kept[pool], proof=LogProof(self.head.number, marks[pool]))
            for pool in grown
            if not faults[pool]
        }
        self._memory.save(proved, self.head.timestamp)
        for pool in grown:
            if faults[pool]:
                self._take_back(pool, begun[pool])
        return {pool: fault for pool, fault in faults.items() if fault}

    async def _fault(self, pool: PoolId, kept: KeptHours, mark: PoolMark, since: int) -> str:
        if kept.proof is not None and kept.proof.mark == _NOT_OPENED and mark.sqrt_price_x96:
            return "it does not give the log of the pool's beginning"
        fault = price_fault(kept.last_price, mark)
        if fault:
            return fault
        if kept.proof is None or not is_comparable(self._terms[pool]):
            return await self._told_otherwise(pool, since)
        fault = growth_fault(kept.proof, mark)
        return "" if fault and await self._was_given_to(pool, kept.proof.block) else fault

    async def _told_otherwise(self, pool: PoolId, since: int) -> str:
        """Hold a sample of what was read against every endpoint, where state cannot prove it."""
        if len(self._client.labels) == 1:
            return ""
        known = self._client.log_range
        width = _SAMPLE_BLOCKS if known is None else min(_SAMPLE_BLOCKS, known.blocks)
        starts = range(since + 1, self.head.number + 1, width)
        told_by = protocol_of_pool(pool).pool_logs(self._network, [pool])
        # Which ranges nobody can know before the block is there, and everybody can tell after it.
        seed = int(self.head.hash, 16)
        for start in {starts[(seed >> 32 * place) % len(starts)] for place in range(_SAMPLES)}:
            end = min(start + width - 1, self.head.number)
            wanted = requests.logs(LogFilter(told_by.address, told_by.swaps, start, end))
            told = (await self._client.ask_each(wanted)).values()
            given = {
                tuple((log.block_number, log.log_index) for log in logs)
                for logs in told
                if isinstance(logs, tuple)
            }
            if len(given) > 1:
                return "endpoints give different swaps of the same blocks"
        return ""

    async def _was_given_to(self, pool: PoolId, since: int) -> bool:
        """Whether somebody gave to the pool: that pays its providers without a swap."""
        told_by = protocol_of_pool(pool).pool_logs(self._network, [pool])
        given = scan_logs(
            self._client,
            told_by.address,
            [told_by.paid_otherwise],
            since + 1,
            self.head.number,
            most_calls=_MOST_CALLS,
        )
        return any([bool(part.logs) async for part in given])

    def _take_back(self, pool: PoolId, begun: KeptHours) -> None:
        """To what was proved before; what was begun and never proved is forgotten."""
        proof = begun.proof
        proved = proof is not None and proof.block == begun.last.number
        if proved and pool not in self._fresh:
            # Its oldest swaps may have been let go of meanwhile.
            self._memory.save({pool: begun}, 0)
        else:
            self._memory.forget(pool)

    def groups(self, kept: Mapping[PoolId, KeptHours]) -> list[_PoolGroup]:
        """Those read to within a day together, of the others those that stopped at one block.

        A pool met for the first time must not have the others read again from its beginning.
        """
        near = self.head.timestamp - DAY
        by_start: dict[int, list[PoolId]] = defaultdict(list)
        recent = [hours.last.number for hours in kept.values() if hours.last.time >= near]
        for pool, kept_hours in kept.items():
            start = min(recent) if kept_hours.last.time >= near else kept_hours.last.number
            by_start[start].append(pool)
        return [
            _PoolGroup(tuple(sorted(pools)), self._headers[start])
            for start, several in by_start.items()
            if start < self.head.number
            for _, pools in by_protocol(several)
        ]

    async def grow(
        self,
        group: _PoolGroup,
        kept: Mapping[PoolId, KeptHours],
        watch: Callable[[ScanProgress], None],
    ) -> AsyncIterator[dict[PoolId, KeptHours]]:
        """The same pools a range of blocks further each time, every one of them saved."""
        grown = {pool: kept[pool] for pool in group.pools}
        first = min(hours.last.number for hours in grown.values()) + 1
        anchor, found = group.anchor, 0
        protocol = protocol_of_pool(group.pools[0])
        told_by = protocol.pool_logs(self._network, group.pools)
        async for scanned in scan_logs(
            self._client,
            told_by.address,
            [told_by.swaps],
            first,
            self.head.number,
            blocks_at_first=round(_SECONDS_AT_FIRST / self._network.block_seconds),
            most_calls=_MOST_CALLS,
        ):
            events = [_swap(protocol, log, self._terms) for log in scanned.logs]
            times = await self._times(events, anchor, scanned.last)
            if scanned.last.number == self.head.number:
                check_unmoved(scanned.last, self.head)
            grown = self._saved(grown, events, times, scanned.last)
            anchor, found = scanned.last, found + len(events)
            watch(ScanProgress(first, self.head.number, scanned.last.number, found))
            yield grown

    def _saved(
        self,
        before: Mapping[PoolId, KeptHours],
        events: Sequence[SwapEvent],
        times: BlockTimes,
        end: Block,
    ) -> dict[PoolId, KeptHours]:
        swaps: dict[PoolId, list[RecentSwap]] = defaultdict(list)
        for event in events:
            number = event.place.block_number
            if number > before[event.pool_id].last.number:
                swap = recent_swap(event, times[number], estimated=number in times.estimated)
                swaps[event.pool_id].append(swap)
        last = Landmark(end.number, end.hash, end.timestamp)
        since = recent_since(self.head.timestamp)
        after = {
            pool: hours.extend(swaps[pool], last, since, self._terms[pool])
            if hours.last.number < last.number
            else hours
            for pool, hours in before.items()
        }
        changed = min((hours.last.time for hours in before.values()), default=0)
        self._memory.save(after, changed)
        for pool, kept in before.items():
            gone = {hour_of(swap.time) for swap in kept.recent if swap.time < since}
            self._memory.forget_swaps(pool, gone)
        return after

    async def _times(self, events: Iterable[SwapEvent], anchor: Block, end: Block) -> BlockTimes:
        hashes = {event.place.block_number: event.place.block_hash for event in events}
        known, exact = [anchor, end], self._exact_left
        if self._network.clock == "wall":
            exact = min(exact, (end.timestamp - anchor.timestamp) // _EXACT_EVERY)
        if end.timestamp > self.head.timestamp - _SETTLED_SECONDS:
            # It must still be there after its logs were read, or they are another's.
            known, exact = [anchor], max(2, exact)
            hashes[end.number] = end.hash
        times = await read_block_times(self._client, hashes, known, most_exact=exact)
        self._exact_left -= max(0, len(times.seconds) - len(times.estimated) - 2)
        return times

    async def _confirmed(self) -> dict[PoolId, KeptHours]:
        """What is remembered, taken back to the last block of it that the chain still has."""
        loaded = {
            pool: kept
            for pool, terms in self._terms.items()
            if (kept := self._memory.load(pool, terms)) is not None
        }
        await self._read_headers(
            {self.head.number, *(hours.last.number for hours in loaded.values())}
        )
        here = self._headers.get(self.head.number)
        if here is None:
            raise BlockMissing(f"it has no block {self.head.number}")
        check_unmoved(here, self.head)
        replaced = [hours for hours in loaded.values() if not self._has(hours.last)]
        await self._read_headers({mark.number for hours in replaced for mark in hours.landmarks})
        confirmed = {}
        for pool, loaded_hours in loaded.items():
            known = self._still_valid(loaded_hours, self._terms[pool])
            if known is not None:
                confirmed[pool] = known
        return confirmed

    def _still_valid(self, kept: KeptHours, terms: FeeTerms) -> KeptHours | None:
        if not self._has(kept.last):
            marks = [mark for mark in kept.landmarks if self._has(mark)]
            back = kept.rolled_back(marks[-1], terms) if marks else None
            if back is None:
                return None
            kept = back
        if kept.last.number <= self.head.number:
            return kept
        # Somebody has read a newer block than the one that is wanted.
        here = Landmark(self.head.number, self.head.hash, self.head.timestamp)
        return kept.rolled_back(here, terms)

    def _has(self, landmark: Landmark) -> bool:
        found = self._headers.get(landmark.number)
        return found is not None and found.hash == landmark.hash

    async def _read_headers(self, numbers: set[int]) -> None:
        wanted = sorted(numbers - self._headers.keys())
        if not wanted:
            return
        outcomes = await self._client.settle([requests.block(number) for number in wanted])
        for number, outcome in zip(wanted, outcomes, strict=True):
            if isinstance(outcome, RpcError):
                raise outcome
            if isinstance(outcome, Block):
                self._headers[number] = outcome


def _proved_from(empty: KeptHours, proof: LogProof | None) -> KeptHours:
    return replace(empty, proof=proof, opening=proof.mark.sqrt_price_x96 if proof else 0)


def _covers(kept: KeptHours, since: int) -> bool:
    """Whether reading on from there is better than beginning anew."""
    return (kept.since <= since or kept.from_first_block) and kept.last.time >= since


def _swap(protocol: LiquidityProtocol, log: Log, terms: Mapping[PoolId, FeeTerms]) -> SwapEvent:
    try:
        return protocol.swap(log, lambda pool: terms[pool].key_fee)
    except EventError as error:
        raise Malformed(f"a log that is no Swap: {error}", endpoint="The RPC") from error
