"""Positions of v4 at one block: custody by calls, all else by words of the PoolManager."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from chain.contracts.abi import AbiError
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolId
from chain.protocols import custody
from chain.protocols.custody import Custody
from chain.protocols.pool import PoolSnapshot
from chain.protocols.reference import V4, PositionRef, position_name, v4_token_id
from chain.protocols.snapshot import PositionIdentity, PositionSnapshot, identify
from chain.protocols.v4.memory import PositionMemory
from chain.protocols.v4.storage import layout_of, pool_snapshot, position_snapshot
from chain.rpc.client import RpcClient
from chain.rpc.records import Block
from chain.rpc.requests import Call, CallOutcome

if TYPE_CHECKING:
    from chain.protocols.protocol import AskedCall, AskedCode


class V4Reader:
    """First it must be known which pool a position is in; then where to find its numbers.

    Positions met before are asked both at once, and the answer proves that they are what was
    remembered. `also` are words that somebody else wants read at the same block.
    """

    lister = None

    def __init__(
        self,
        network: Network,
        memory: PositionMemory,
        words: Mapping[int, int],
        also: Callable[[], Iterable[int]],
    ) -> None:
        self._position_manager = network.contracts.position_manager
        self._memory = memory
        self._words = words
        self._also = also
        self._subscribed = memory.subscribed_positions()
        self._named: dict[PositionRef, None] = {}
        self._open: dict[PositionRef, None] = {}
        """Those of which a call may still have to be asked."""
        self._unread: dict[PositionRef, None] = {}
        """Those of which a word may still have to be read."""
        self._identities: dict[PositionRef, PositionIdentity] = {}
        self._mistaken: set[PositionRef] = set()
        self._owners: dict[PositionRef, Address | None] = {}
        self._infos: dict[PositionRef, bool | None] = {}
        """Whether it has a subscriber, once it is known where it is; None once it is burned."""
        self._approved: dict[PositionRef, Address | None] = {}
        self._subscribers: dict[PositionRef, Address | None] = {}
        self._hook_codes: dict[Address, bytes] = {}

    def name(self, refs: Iterable[PositionRef]) -> None:
        new = [ref for ref in refs if ref.protocol == V4 and ref not in self._named]
        for refs_of in (self._named, self._open, self._unread):
            refs_of.update(dict.fromkeys(new))
        self._identities.update(self._memory.identities(new))

    @property
    def identities(self) -> Collection[PositionIdentity]:
        return self._identities.values()

    def calls(self) -> Iterator[AskedCall]:
        for ref in tuple(self._open):
            identity = self._identities.get(ref)
            if ref not in self._owners:
                yield self._ask(custody.OWNER, ref), partial(self._take_owner, ref)
            elif self._is_told(ref):
                del self._open[ref]
                continue
            if ref not in self._infos:
                selector = custody.POOL_AND_INFO if identity is None else custody.INFO
                yield self._ask(selector, ref), partial(self._take_info, ref)
            if identity is None:
                continue
            if ref not in self._approved:
                yield self._ask(custody.APPROVED, ref), partial(self._take_approved, ref)
            if ref not in self._subscribers and self._may_have_subscriber(ref):
                taken = partial(self._take_subscriber, ref)
                yield self._ask(custody.SUBSCRIBER, ref), taken

    def _is_told(self, ref: PositionRef) -> bool:
        """Whether every call about it was answered."""
        known = ref in self._infos and (ref in self._approved or ref not in self._identities)
        return known and (ref in self._subscribers or not self._may_have_subscriber(ref))

    def slots(self) -> list[int]:
        missing: list[int] = []
        for ref in tuple(self._unread):
            identity = self._identities.get(ref)
            if identity is None:
                continue
            own = layout_of(identity, self._position_manager).slots
            unread = [slot for slot in own if slot not in self._words]
            missing += unread
            if not unread:
                del self._unread[ref]
        missing += (slot for slot in self._also() if slot not in self._words)
        return missing

    def codes(self) -> list[AskedCode]:
        hooks = {
            self._identities[ref].pool_key.hooks for ref in self._named if ref in self._identities
        }
        missing = sorted(hooks - self._hook_codes.keys() - {NO_HOOK})
        return [(hook, partial(self._hook_codes.__setitem__, hook)) for hook in missing]

    async def finish(self, client: RpcClient, block: Block) -> None:
        """The block tells all."""

    def snapshots(self, block: Block) -> dict[PositionRef, PositionSnapshot]:
        pools: dict[PoolId, PoolSnapshot] = {}
        found: dict[PositionRef, PositionSnapshot] = {}
        manager, words = self._position_manager, self._words
        for ref in sorted(self._identities):
            identity, owner = self._identities[ref], self._owners[ref]
            if owner is None:
                continue
            pool = pools.get(identity.pool_id)
            if pool is None:
                code = self._hook_codes.get(identity.pool_key.hooks)
                pool = pools[identity.pool_id] = pool_snapshot(identity, manager, words, code)
            held = Custody(owner, self._approved[ref], self._subscribers.get(ref))
            found[ref] = position_snapshot(
                identity, manager, words, block=block, pool=pool, custody=held
            )
        return found

    def remember(self) -> None:
        self._memory.remember(self._identities.values())
        self._memory.remember_subscribed(
            {ref for ref in self._named if self._subscribers.get(ref)}, out_of=self._named
        )

    def _ask(self, selector: bytes, ref: PositionRef) -> Call:
        return custody.about(self._position_manager, selector, v4_token_id(ref))

    def _may_have_subscriber(self, ref: PositionRef) -> bool:
        told = self._infos.get(ref)
        return ref in self._subscribed if told is None else told

    def _take_owner(self, ref: PositionRef, outcome: CallOutcome) -> None:
        self._owners[ref] = custody.decode_owner(outcome)

    def _take_approved(self, ref: PositionRef, outcome: CallOutcome) -> None:
        self._approved[ref] = custody.decode_address(outcome)

    def _take_subscriber(self, ref: PositionRef, outcome: CallOutcome) -> None:
        self._subscribers[ref] = custody.decode_address(outcome)

    def _take_info(self, ref: PositionRef, outcome: CallOutcome) -> None:
        key, info = custody.decode_info(outcome)
        remembered = self._identities.get(ref)
        if info is None:
            self._identities.pop(ref, None)
        elif key is not None:
            identity = identify(ref, key, info.tick_lower, info.tick_upper)
            if not identity.agrees_with(info):
                raise AbiError(
                    f"The pool key told for position {position_name(ref)} is not its own."
                )
            self._identities[ref] = identity
            self._unread[ref] = None
        elif remembered is not None and not remembered.agrees_with(info):
            # Another chain, or another history of this one, gave the token id to another
            # position: ask again, this time with its pool.
            self._mistaken.add(ref)
            del self._identities[ref]
            return
        self._infos[ref] = None if info is None else info.has_subscriber
