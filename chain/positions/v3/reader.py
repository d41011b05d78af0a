"""Asking one block about positions of v3: whose they are, what they hold, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from chain.contracts.networks import Address, Network, V3Contracts
from chain.contracts.pool_key import PoolId
from chain.pools.v3 import decode_number
from chain.positions import custody
from chain.positions.custody import balance_call
from chain.positions.reference import is_v3, token_id_of, v3_number
from chain.positions.snapshot import PoolSnapshot, PositionSnapshot
from chain.positions.v3.answers import (
    ManagerRecord,
    V3Place,
    decode_position,
    owned_call,
    place_calls,
    position_call,
)
from chain.positions.v3.snapshot import v3_pool_snapshot, v3_reading, v3_snapshot
from chain.rpc.multicall import Call, CallOutcome
from chain.rpc.records import Block

if TYPE_CHECKING:
    from chain.positions.memory import PositionMemory

_FIRST_GUESS = 24
"""Of a wallet nobody has read: so many are asked for at once, whether they are there or not."""

_MOST = 10_000
"""Positions of one wallet; what is beyond is counted and told as missing."""


class V3Reader:
    """What has been told of positions of v3 at one block.

    `missing` are the calls that can be made now; each answer may make others possible. What was
    remembered is asked for at once, and whatever the answers do not confirm is forgotten.
    """

    def __init__(self, network: Network, contracts: V3Contracts, memory: PositionMemory) -> None:
        self._contracts = contracts
        self._memory = memory
        self._may_be_absent = network.testnet
        """Test networks are begun anew, and an embedded chain of an earlier make has no v3."""
        self._told: dict[Call, CallOutcome] = {}
        self._owners: dict[Address, tuple[int, ...]] = {}
        """With the tokens each is remembered to hold."""
        self._strangers: set[Address] = set()
        """Those of whom nothing is remembered."""
        self._named: set[int] = set()
        self._places: dict[int, V3Place] = {}
        """As remembered."""

    def follow(self, owners: Iterable[Address]) -> None:
        """Read all that these wallets hold."""
        for owner in owners:
            if owner not in self._owners:
                held = self._memory.v3_held(owner)
                self._owners[owner] = held or ()
                if held is None:
                    self._strangers.add(owner)
        self._recall(token_id for held in self._owners.values() for token_id in held)

    def name(self, numbers: Iterable[int]) -> None:
        """Read these, whoever owns them."""
        self._named.update(token_id_of(number) for number in numbers if is_v3(number))
        self._recall(self._named)

    def missing(self) -> list[Call]:
        return [call for call in dict.fromkeys(self._wanted()) if call not in self._told]

    def take(self, call: Call, outcome: CallOutcome) -> None:
        self._told[call] = outcome

    @property
    def tokens(self) -> tuple[Address, ...]:
        """What the positions known so far are made of, each once."""
        places = (self._place(token_id) for token_id in self._ids())
        pairs = ((place.token0, place.token1) for place in places if place is not None)
        return tuple(dict.fromkeys(token for pair in pairs for token in pair))

    def balance(self, owner: Address) -> int:
        return self._balance(self._told[balance_call(self._contracts.position_manager, owner)])

    def snapshots(self, block: Block) -> dict[int, PositionSnapshot]:
        """Every position that exists, by its number."""
        factory, manager = self._contracts.factory, self._contracts.position_manager
        pools: dict[PoolId, PoolSnapshot] = {}
        found: dict[int, PositionSnapshot] = {}
        for token_id in sorted(self._ids()):
            record, owner = self._record(token_id), self._owner(token_id)
            if record is None or owner is None:
                continue
            calls = place_calls(factory, manager, record.place)
            pool_id = calls.slot0.target
            if pool_id not in pools:
                pools[pool_id] = v3_pool_snapshot(factory, record.place, calls, self._told)
            reading = v3_reading(
                token_id, owner, record, pool=pools[pool_id], calls=calls, told=self._told
            )
            found[v3_number(token_id)] = v3_snapshot(reading, block)
        return found

    def remember(self) -> None:
        """Keep what was met, once nothing is missing."""
        records = {token_id: self._record(token_id) for token_id in self._ids()}
        self._memory.remember_v3(
            {token_id: record.place for token_id, record in records.items() if record is not None},
            {owner: tuple(self._held(owner)) for owner in self._owners},
        )

    def _recall(self, token_ids: Iterable[int]) -> None:
        unmet = [token_id for token_id in token_ids if token_id not in self._places]
        self._places.update(self._memory.v3_places(unmet))

    def _wanted(self) -> Iterator[Call]:
        manager = self._contracts.position_manager
        for owner in self._owners:
            yield balance_call(manager, owner)
            yield from (owned_call(manager, owner, index) for index in range(self._count(owner)))
        for token_id in self._ids():
            yield custody.about(manager, custody.OWNER, token_id)
            yield position_call(manager, token_id)
            place = self._place(token_id)
            if place is not None:
                yield from place_calls(self._contracts.factory, manager, place).all

    def _count(self, owner: Address) -> int:
        """How many tokens of a wallet to ask for: as it holds, or as it held when last seen."""
        told = self._told.get(balance_call(self._contracts.position_manager, owner))
        if told is not None:
            return min(self._balance(told), _MOST)
        return _FIRST_GUESS if owner in self._strangers else len(self._owners[owner])

    def _balance(self, outcome: CallOutcome) -> int:
        if self._may_be_absent and outcome.success and not outcome.data:
            return 0
        return decode_number("uint256", outcome)

    def _ids(self) -> list[int]:
        """Those that are named, held, or were held when last seen."""
        held = (
            token_id
            for owner, before in self._owners.items()
            for token_id in (*before, *self._held(owner))
        )
        return list(dict.fromkeys((*sorted(self._named), *held)))

    def _held(self, owner: Address) -> Iterator[int]:
        manager = self._contracts.position_manager
        if balance_call(manager, owner) not in self._told:
            return
        for index in range(min(self.balance(owner), _MOST)):
            told = self._told.get(owned_call(manager, owner, index))
            if told is not None:
                yield decode_number("uint256", told)

    def _record(self, token_id: int) -> ManagerRecord | None:
        told = self._told.get(position_call(self._contracts.position_manager, token_id))
        if told is None or (self._may_be_absent and told.success and not told.data):
            return None
        return decode_position(told)

    def _place(self, token_id: int) -> V3Place | None:
        """Where a position stands: as told, or as remembered before it was."""
        if position_call(self._contracts.position_manager, token_id) not in self._told:
            return self._places.get(token_id)
        record = self._record(token_id)
        return None if record is None else record.place

    def _owner(self, token_id: int) -> Address | None:
        manager = self._contracts.position_manager
        told = self._told.get(custody.about(manager, custody.OWNER, token_id))
        return None if told is None else custody.decode_owner(told)
