"""Positions of v3 at one block: what is asked about them, and each as a withdrawal would pay it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from chain.base.units import Known, Quantity, Unknown
from chain.contracts import abi
from chain.contracts.abi import AbiError
from chain.contracts.hooks import NO_HOOK, hook_passport
from chain.contracts.networks import NATIVE, Address, Network, V3Contracts
from chain.contracts.pool_key import PoolId
from chain.math.fees import FeeGrowth, fee_growth_inside, fees_owed
from chain.math.liquidity import Amounts, amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols import custody
from chain.protocols.custody import Custody, balance_call
from chain.protocols.past import NOT_ADDED_UP, NOTHING
from chain.protocols.pool import PoolSnapshot
from chain.protocols.reference import V3, PositionRef, v3_position
from chain.protocols.snapshot import PositionIdentity, PositionSnapshot, range_status
from chain.protocols.v3.contract import (
    REFUSED,
    decode_number,
    decode_outside,
    decode_slot0,
    pool_call,
    tick_call,
    told_by,
)
from chain.protocols.v3.memory import V3Memory, V3Place
from chain.protocols.v3.pool_key import v3_pool_address, v3_pool_key, v3_position_key
from chain.rpc.client import RpcClient
from chain.rpc.records import Block
from chain.rpc.requests import Call, CallOutcome

if TYPE_CHECKING:
    from chain.protocols.protocol import AskedCall, AskedCode

T = TypeVar("T")

_FIRST_GUESS = 24
"""Of a wallet nobody has read: so many are asked for at once, whether they are there or not."""

_MOST = 10_000
"""Positions of one wallet; what is beyond is counted and told as missing."""


class V3Reader:
    """What has been told of positions of v3 at one block.

    What was remembered is asked for at once, and whatever the answers do not confirm is forgotten.
    """

    def __init__(self, network: Network, contracts: V3Contracts, memory: V3Memory) -> None:
        self._contracts = contracts
        self._memory = memory
        self._may_be_absent = network.testnet
        """Test networks are begun anew, and an embedded chain of an earlier make has no v3."""
        self._before: dict[Address, tuple[int, ...] | None] = {}
        """The tokens each wallet is remembered to hold; None for those of whom nothing is."""
        self._balances: dict[Address, int] = {}
        self._listed: dict[Address, dict[int, int | None]] = {}
        """By the place in a wallet's list; None where the manager refused to answer."""
        self._named: set[int] = set()
        self._told: set[int] = set()
        """Those of which nothing is left to be asked."""
        self._places: dict[int, V3Place] = {}
        """As remembered."""
        self._owners: dict[int, Address | None] = {}
        self._records: dict[int, ManagerRecord | None] = {}
        self._withdrawn: dict[int, Quantity[Amounts]] = {}
        """Of those that are owed anything from before."""
        self._of_pools: dict[Call, CallOutcome] = {}
        self._outside: dict[tuple[Address, int], FeeGrowth | AbiError] = {}
        self._in_pools: dict[tuple[Address, int, int], PoolRecord | AbiError] = {}
        """A place that is remembered may be no more: what is wrong there only counts for a position
        that exists."""

    def follow(self, owners: Iterable[Address]) -> None:
        """Read all that these wallets hold."""
        for owner in owners:
            if owner not in self._before:
                self._before[owner] = self._memory.last_tokens(owner)
                self._listed[owner] = {}
        self._recall(token_id for held in self._before.values() for token_id in held or ())

    def name(self, refs: Iterable[PositionRef]) -> None:
        """Read these, whoever owns them."""
        self._named.update(ref.token_id for ref in refs if ref.protocol == V3)
        self._recall(self._named)

    def calls(self) -> Iterator[AskedCall]:
        manager, asked = self._contracts.position_manager, set[object]()
        for owner in self._before:
            if owner not in self._balances:
                yield balance_call(manager, owner), partial(self._take_balance, owner)
            for index in range(self._count(owner)):
                if index not in self._listed[owner]:
                    yield (
                        owned_call(manager, owner, index),
                        partial(self._take_listed, owner, index),
                    )
        for token_id in self._ids():
            if token_id in self._told:
                continue
            if token_id not in self._owners:
                owner_call = custody.about(manager, custody.OWNER, token_id)
                yield owner_call, partial(self._take_owner, token_id)
            if token_id not in self._records:
                yield position_call(manager, token_id), partial(self._take_record, token_id)
            place = self._place(token_id)
            missing = [] if place is None else self._calls_of(place, asked)
            if missing:
                yield from missing
            elif token_id in self._owners and token_id in self._records:
                self._told.add(token_id)

    def _calls_of(self, place: V3Place, asked: set[object]) -> list[AskedCall]:
        """What is to be asked of a pool for one range, if nobody `asked` for it."""
        missing: list[AskedCall] = []
        pool = self._pool_address(place)
        if pool not in asked:
            asked.add(pool)
            missing += (
                (call, partial(self._of_pools.__setitem__, call))
                for call in pool_calls(pool).all
                if call not in self._of_pools
            )
        for tick in (place.tick_lower, place.tick_upper):
            edge = (pool, tick)
            if edge not in self._outside and edge not in asked:
                asked.add(edge)
                missing.append((tick_call(pool, tick), partial(self._take_outside, edge)))
        span = (pool, place.tick_lower, place.tick_upper)
        if span not in self._in_pools and span not in asked:
            asked.add(span)
            key = v3_position_key(self._contracts.position_manager, *span[1:])
            call = Call(pool, _IN_POOL + key, len(_IN_POOL_TYPES))
            missing.append((call, partial(self._take_in_pool, span)))
        return missing

    def _take_balance(self, owner: Address, outcome: CallOutcome) -> None:
        self._balances[owner] = 0 if self._is_absent(outcome) else decode_number("uint256", outcome)

    def _take_listed(self, owner: Address, index: int, outcome: CallOutcome) -> None:
        told = outcome.success and not self._is_absent(outcome)
        self._listed[owner][index] = decode_number("uint256", outcome) if told else None

    def _take_owner(self, token_id: int, outcome: CallOutcome) -> None:
        absent = self._is_absent(outcome)
        self._owners[token_id] = None if absent else custody.decode_owner(outcome)

    def _take_record(self, token_id: int, outcome: CallOutcome) -> None:
        absent = self._is_absent(outcome)
        self._records[token_id] = None if absent else decode_position(outcome)

    def _take_outside(self, edge: tuple[Address, int], outcome: CallOutcome) -> None:
        self._outside[edge] = _or_fault(decode_outside, outcome)

    def _take_in_pool(self, span: tuple[Address, int, int], outcome: CallOutcome) -> None:
        self._in_pools[span] = _or_fault(decode_in_pool, outcome)

    def _is_absent(self, outcome: CallOutcome) -> bool:
        return self._may_be_absent and outcome.success and not outcome.data

    def _pool_address(self, place: V3Place) -> Address:
        factory = self._contracts.factory
        return v3_pool_address(factory, place.token0, place.token1, place.fee)

    def slots(self) -> Iterable[int]:
        return ()

    def codes(self) -> Iterable[AskedCode]:
        return ()

    @property
    def lister(self) -> V3Reader:
        return self

    @property
    def identities(self) -> Collection[PositionIdentity]:
        return ()

    @property
    def tokens(self) -> tuple[Address, ...]:
        """What the positions known so far are made of, each once."""
        places = (self._place(token_id) for token_id in self._ids())
        pairs = {(place.token0, place.token1): None for place in places if place is not None}
        return tuple(dict.fromkeys(token for pair in pairs for token in pair))

    def balance(self, owner: Address) -> int:
        return self._balances[owner]

    async def finish(self, client: RpcClient, block: Block) -> None:
        """What a token is owed is one sum: logs tell which part of it was withdrawn."""
        manager, asked = self._contracts.position_manager, dict[int, ManagerRecord]()
        for token_id in self._ids():
            record = self._records.get(token_id)
            if record is None or not (record.owed0 or record.owed1):
                continue
            known = self._memory.withdrawn_amounts(token_id, record.state)
            if known is None:
                asked[token_id] = record
            else:
                self._withdrawn[token_id] = known
        if not asked:
            return
        from chain.protocols.v3.changes import read_withdrawn

        liquidity = {token_id: record.liquidity for token_id, record in asked.items()}
        told = await read_withdrawn(client, manager, liquidity, block)
        for token_id, record in asked.items():
            withdrawn = told[token_id]
            if isinstance(withdrawn, Known) and not _is_owed(withdrawn.value, record):
                withdrawn = NOT_ADDED_UP
            self._withdrawn[token_id] = withdrawn
            self._memory.remember_withdrawn(token_id, record.state, withdrawn, block.number)

    def snapshots(self, block: Block) -> dict[PositionRef, PositionSnapshot]:
        """Every position that exists, by its number."""
        pools: dict[PoolId, PoolSnapshot] = {}
        found: dict[PositionRef, PositionSnapshot] = {}
        for token_id in sorted(self._ids()):
            record, owner = self._records.get(token_id), self._owners.get(token_id)
            if record is None or owner is None:
                continue
            place = record.place
            pool_id = self._pool_address(place)
            if pool_id not in pools:
                pools[pool_id] = v3_pool_snapshot(self._contracts.factory, place, self._of_pools)
            reading = V3Reading(
                token_id,
                owner,
                record,
                pools[pool_id],
                _sound(self._outside[pool_id, place.tick_lower]),
                _sound(self._outside[pool_id, place.tick_upper]),
                _sound(self._in_pools[pool_id, place.tick_lower, place.tick_upper]),
            )
            withdrawn = self._withdrawn.get(token_id, _NONE_OWED)
            found[v3_position(token_id)] = v3_snapshot(reading, block, withdrawn)
        return found

    def remember(self) -> None:
        """Keep what was met, once nothing is missing."""
        records = {token_id: self._records.get(token_id) for token_id in self._ids()}
        held = {owner: tuple(self._held(owner)) for owner in self._before}
        self._memory.remember(
            {
                token_id: record.place
                for token_id, record in records.items()
                if record is not None and record.place != self._places.get(token_id)
            },
            {owner: tokens for owner, tokens in held.items() if tokens != self._before[owner]},
        )

    def _recall(self, token_ids: Iterable[int]) -> None:
        unmet = [token_id for token_id in token_ids if token_id not in self._places]
        self._places.update(self._memory.places(unmet))

    def _count(self, owner: Address) -> int:
        """How many tokens of a wallet to ask for: none where all that it held, and still holds,
        are all that it has."""
        before, balance = self._before[owner], self._balances.get(owner)
        if balance is None:
            return _FIRST_GUESS if before is None else 0
        if before is not None and all(token_id in self._owners for token_id in before):
            return 0 if len(self._kept(owner)) == balance else min(balance, _MOST)
        return min(balance, _MOST) if before is None else 0

    def _kept(self, owner: Address) -> list[int]:
        """Of what a wallet held that which it holds."""
        before = self._before[owner] or ()
        return [token_id for token_id in before if self._owners.get(token_id) == owner]

    def _ids(self) -> list[int]:
        """Those that are named, held, or were held when last seen."""
        held = (
            token_id
            for owner, before in self._before.items()
            for token_id in (*(before or ()), *self._listed[owner].values())
            if token_id
        )
        return list(dict.fromkeys((*sorted(self._named), *held)))

    def _held(self, owner: Address) -> list[int]:
        listed = self._listed[owner]
        if not listed:
            return self._kept(owner)
        told = [listed[at] for at in range(min(self._balances[owner], _MOST)) if at in listed]
        if None in told:
            raise AbiError(REFUSED)
        return [token_id for token_id in told if token_id]

    def _place(self, token_id: int) -> V3Place | None:
        """Where a position stands: as told, or as remembered before it was."""
        if token_id not in self._records:
            return self._places.get(token_id)
        record = self._records[token_id]
        return None if record is None else record.place


def _or_fault(decode: Callable[[CallOutcome], T], outcome: CallOutcome) -> T | AbiError:
    try:
        return decode(outcome)
    except AbiError as fault:
        return fault


def _sound(told: T | AbiError) -> T:
    if isinstance(told, AbiError):
        raise told
    return told


_NONE_OWED = Known(NOTHING, "nothing is owed from before")


def _is_owed(withdrawn: Amounts, record: ManagerRecord) -> bool:
    """Whether the manager owes as much: else a log of a collect is missing."""
    return withdrawn.amount0 <= record.owed0 and withdrawn.amount1 <= record.owed1


_OWED_END = 1 << 128
"""Both contracts count what they owe in 128 bits, and begin again at zero."""


class V3Reading(Struct, frozen=True, gc=False):
    """All that was told of one position."""

    token_id: int
    owner: Address
    record: ManagerRecord
    pool: PoolSnapshot
    outside_lower: FeeGrowth
    outside_upper: FeeGrowth
    in_pool: PoolRecord


def v3_pool_snapshot(
    factory: Address, place: V3Place, told: Mapping[Call, CallOutcome]
) -> PoolSnapshot:
    calls = pool_calls(v3_pool_address(factory, place.token0, place.token1, place.fee))
    slot0 = decode_slot0(told[calls.slot0])
    spacing = decode_number("int24", told[calls.spacing])
    key = v3_pool_key(factory, place.token0, place.token1, place.fee, spacing)
    protocol = slot0.protocol_fee(place.fee)
    return PoolSnapshot(
        pool_id=key.pool_id,
        key=key,
        sqrt_price_x96=slot0.sqrt_price_x96,
        tick=slot0.tick,
        # The protocol's part comes out of the fee, where in v4 it comes on top.
        lp_fee=place.fee - max(protocol),
        protocol_fee=protocol,
        liquidity=decode_number("uint128", told[calls.liquidity]),
        fee_growth=FeeGrowth(
            decode_number("uint256", told[calls.growth0]),
            decode_number("uint256", told[calls.growth1]),
        ),
        hook=hook_passport(NO_HOOK, place.fee),
    )


def v3_snapshot(
    reading: V3Reading, block: Block, withdrawn: Quantity[Amounts] = _NONE_OWED
) -> PositionSnapshot:
    pool, record, place = reading.pool, reading.record, reading.record.place
    amounts = amounts_for_liquidity(
        pool.sqrt_price_x96,
        sqrt_price_at_tick(place.tick_lower),
        sqrt_price_at_tick(place.tick_upper),
        record.liquidity,
        round_up=False,
    )
    inside = fee_growth_inside(
        pool.tick,
        place.tick_lower,
        place.tick_upper,
        global_growth=pool.fee_growth,
        outside_lower=reading.outside_lower,
        outside_upper=reading.outside_upper,
    )
    waiting = payable(record, reading.in_pool, inside)
    # The pool may owe some units less than the manager does.
    withdrawn = withdrawn.map(lambda amounts: Amounts(*map(min, amounts, waiting)))
    fees = waiting if isinstance(withdrawn, Unknown) else waiting.less(withdrawn.value)
    key = pool.key
    return PositionSnapshot(
        identity=PositionIdentity(
            v3_position(reading.token_id), key, key.pool_id, place.tick_lower, place.tick_upper
        ),
        block=block,
        pool=pool,
        custody=Custody(
            reading.owner, None if record.approved == NATIVE else record.approved, None
        ),
        liquidity=record.liquidity,
        amount0=amounts.amount0,
        amount1=amounts.amount1,
        fees0=fees.amount0,
        fees1=fees.amount1,
        status=range_status(pool.tick, place.tick_lower, place.tick_upper),
        withdrawn=withdrawn,
    )


def payable(record: ManagerRecord, in_pool: PoolRecord, inside: FeeGrowth) -> Amounts:
    """What `collect` pays: what the manager owes the token, but no more than the pool owes it.

    The pool counts all tokens of a range as one and rounds down whenever any of them changes, so
    it may owe the manager some units less than the manager owes its tokens.
    """
    if record.liquidity == 0:
        # Nothing is brought up to date for an empty position.
        return Amounts(min(record.owed0, in_pool.owed0), min(record.owed1, in_pool.owed1))
    to_token = fees_owed(inside, record.growth_last, record.liquidity)
    to_manager = fees_owed(inside, in_pool.growth_last, in_pool.liquidity)
    return Amounts(
        min(
            (record.owed0 + to_token.fees0) % _OWED_END,
            (in_pool.owed0 + to_manager.fees0) % _OWED_END,
        ),
        min(
            (record.owed1 + to_token.fees1) % _OWED_END,
            (in_pool.owed1 + to_manager.fees1) % _OWED_END,
        ),
    )


_POOLS_KEPT = 5_000
_WORD = 32
_OWNED = "tokenOfOwnerByIndex(address,uint256)"
_IN_POOL = abi.selector("positions(bytes32)")
_POSITION = abi.selector("positions(uint256)")
_POSITION_TYPES = (
    *("uint96", "address", "address", "address", "uint24", "int24", "int24"),
    *("uint128", "uint256", "uint256", "uint128", "uint128"),
)
_IN_POOL_TYPES = ("uint128", "uint256", "uint256", "uint128", "uint128")


class ManagerRecord(Struct, frozen=True, gc=False):
    """What the position manager keeps of one token."""

    approved: Address
    place: V3Place
    liquidity: int
    growth_last: FeeGrowth
    owed0: int
    owed1: int

    @property
    def state(self) -> str:
        """A text that changes with whatever is put in, taken out or collected."""
        last = self.growth_last
        numbers = (self.liquidity, last.growth0, last.growth1, self.owed0, self.owed1)
        return " ".join(f"{number:x}" for number in numbers)


class PoolRecord(Struct, frozen=True, gc=False):
    """What a pool keeps of all liquidity in one range that the position manager brought."""

    liquidity: int
    growth_last: FeeGrowth
    owed0: int
    owed1: int


class PoolCalls(Struct, frozen=True):
    """All that a pool is asked for itself."""

    slot0: Call
    liquidity: Call
    growth0: Call
    growth1: Call
    spacing: Call

    @property
    def all(self) -> tuple[Call, ...]:
        return self.slot0, self.liquidity, self.growth0, self.growth1, self.spacing


def owned_call(manager: Address, owner: Address, index: int) -> Call:
    """Which token of a wallet comes at this place, counted from zero."""
    return Call(manager, abi.encode_call(_OWNED, owner, index))


def position_call(manager: Address, token_id: int) -> Call:
    return Call(manager, _POSITION + token_id.to_bytes(_WORD, "big"), len(_POSITION_TYPES))


@lru_cache(maxsize=_POOLS_KEPT)
def pool_calls(pool: Address) -> PoolCalls:
    return PoolCalls(
        slot0=pool_call(pool, "slot0()"),
        liquidity=pool_call(pool, "liquidity()"),
        growth0=pool_call(pool, "feeGrowthGlobal0X128()"),
        growth1=pool_call(pool, "feeGrowthGlobal1X128()"),
        spacing=pool_call(pool, "tickSpacing()"),
    )


def decode_position(outcome: CallOutcome) -> ManagerRecord | None:
    """None for a token that does not exist, of which the contract refuses to speak."""
    if not outcome.success:
        return None
    told = abi.decode(_POSITION_TYPES, outcome.data)
    _, approved, token0, token1, fee, lower, upper, liquidity, last0, last1, owed0, owed1 = told
    place = V3Place(token0, token1, fee, lower, upper)
    return ManagerRecord(approved, place, liquidity, FeeGrowth(last0, last1), owed0, owed1)


def decode_in_pool(outcome: CallOutcome) -> PoolRecord:
    liquidity, last0, last1, owed0, owed1 = abi.decode(_IN_POOL_TYPES, told_by(outcome))
    return PoolRecord(liquidity, FeeGrowth(last0, last1), owed0, owed1)
