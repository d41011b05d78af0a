"""What is remembered about positions between runs: who they are, and how far a search has come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct, to_builtins

from chain.base.store import Store, read_as
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolKey
from chain.protocols.reference import V4, PositionRef, v4_position, v4_token_id
from chain.protocols.snapshot import PositionIdentity, identify
from chain.protocols.v4.holdings import Holdings


class GivenUp(Struct, frozen=True):
    """What could not be found, and where it was looked for."""

    shortfall: int
    endpoints: tuple[str, ...]


class SearchState(Struct, frozen=True):
    """How far a wallet was searched; `found` are ids it may own, which `ownerOf` decides."""

    through: int
    logs_from: int
    """What arrived from this block to `through` is found."""
    approvals_from: int
    """The same of strangers who were allowed to move every position."""
    found: frozenset[PositionRef] = frozenset()
    operators: frozenset[str] = frozenset()
    ids_from: int = 0
    ids_through: int = 0
    """Every id between these two was asked for its owner; 0 before any was."""
    given_up: GivenUp | None = None

    @classmethod
    def from_block(cls, number: int, found: Iterable[PositionRef] = ()) -> SearchState:
        """Before anything was looked for."""
        return cls(number, number + 1, number + 1, frozenset(found))

    def is_settled(self, shortfall: int, endpoints: Sequence[str]) -> bool:
        """Whether these endpoints were asked for everything and nothing has arrived since."""
        known = self.given_up
        return (
            known is not None
            and shortfall <= known.shortfall
            and {*endpoints} <= {*known.endpoints}
        )


class SearchProgress(Struct, frozen=True):
    found: int
    wanted: int
    by: Literal["logs", "ids"]
    done: int
    total: int
    """Blocks or ids, at most: it ends as soon as everything is found."""
    seconds_left: float | None
    """At most; None before there is anything to go by."""
    blocks_at_once: int
    limited: bool
    """Whether the endpoint limits how often it can be called."""

    @property
    def fraction(self) -> float:
        return min(1.0, self.done / max(1, self.total))


_POSITIONS = "position"
_HOLDINGS = "holdings"
_MINTED = "minted"
_SUBSCRIBED = "subscribed"
_SEARCHES = "position search"
_SEARCHERS = "position searcher"
_NAMED = "named positions"

_CLAIM_SECONDS = 120.0
"""A search that saved nothing for so long is taken for dead."""


class _Place(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A position's pool and range, as they are kept."""

    currency0: Address
    currency1: Address
    fee: int
    tick_spacing: int
    hooks: Address
    tick_lower: int
    tick_upper: int


class PositionMemory:
    """Nothing here is trusted: each identity is proven anew by the read that uses it."""

    def __init__(self, store: Store, network: Network, clock: Callable[[], float]) -> None:
        self.store = store
        self.clock = clock
        self._place = f"{network.chain_id}/{network.contracts.position_manager}"
        self._identities: dict[PositionRef, PositionIdentity] = {}

    def identities(self, refs: Iterable[PositionRef]) -> dict[PositionRef, PositionIdentity]:
        """Those that are remembered."""
        wanted = list(refs)
        unread = [ref for ref in wanted if ref not in self._identities]
        if unread:
            keys = {self._key(ref): ref for ref in unread}
            for key, row in self.store.read_many(_Place, _POSITIONS, keys).items():
                pool = PoolKey(row.currency0, row.currency1, row.fee, row.tick_spacing, row.hooks)
                self._identities[keys[key]] = identify(
                    keys[key], pool, row.tick_lower, row.tick_upper
                )
        return {ref: self._identities[ref] for ref in wanted if ref in self._identities}

    def remember(self, identities: Iterable[PositionIdentity]) -> None:
        """Those of v4; where one of v3 stands is kept by whoever reads it."""
        new = [
            identity
            for identity in identities
            if identity.ref.protocol == V4 and self._identities.get(identity.ref) != identity
        ]
        self._identities.update((identity.ref, identity) for identity in new)
        values = {
            self._key(identity.ref): [
                *identity.pool_key.values,
                identity.tick_lower,
                identity.tick_upper,
            ]
            for identity in new
        }
        self.store.put_many(_POSITIONS, values, now=self.clock())

    def subscribed_positions(self) -> frozenset[PositionRef]:
        """Tokens that had a subscriber when last seen: a hint of what to ask."""
        return _read_ids(self.store.get(_SUBSCRIBED, self._place))

    def remember_subscribed(
        self, subscribed: set[PositionRef], *, out_of: Iterable[PositionRef]
    ) -> None:
        before = self.subscribed_positions()
        now = before.difference(out_of) | subscribed
        if now != before:
            self.store.put(_SUBSCRIBED, self._place, _ids(now), now=self.clock())

    def checkpoints(self, owner: Address) -> tuple[Holdings, ...]:
        """What the wallet held at some blocks, oldest first."""
        value = self.store.get(_HOLDINGS, f"{self._place}/{owner}")
        kept = value if isinstance(value, list) else ()
        found = (read_as(Holdings, _with_refs(item, "held")) for item in kept)
        return tuple(
            checkpoint
            for checkpoint in found
            if checkpoint is not None and checkpoint.block_hash is not None
        )

    def checked_within(self, owner: Address, seconds: float) -> bool:
        """Whether the logs of a wallet were followed up to a checkpoint so short a time ago."""
        at = self.store.written_at(_HOLDINGS, f"{self._place}/{owner}")
        return at is not None and 0 <= self.clock() - at < seconds

    def remember_checkpoints(self, of_owners: Mapping[Address, Sequence[Holdings]]) -> None:
        values = {
            f"{self._place}/{owner}": [
                {**to_builtins(checkpoint, order="deterministic"), "held": _ids(checkpoint.held)}
                for checkpoint in checkpoints
            ]
            for owner, checkpoints in of_owners.items()
        }
        self.store.put_many(_HOLDINGS, values, now=self.clock())

    def searches(self, owners: Iterable[Address]) -> dict[Address, SearchState]:
        """How far wallets were searched whose positions are not all found."""
        keys = {f"{self._place}/{owner}": owner for owner in owners}
        values = self.store.get_many(_SEARCHES, keys).items()
        found = {
            keys[key]: read_as(SearchState, _with_refs(value, "found")) for key, value in values
        }
        return {owner: state for owner, state in found.items() if state is not None}

    def remember_searches(self, states: Mapping[Address, SearchState]) -> None:
        values = {
            f"{self._place}/{owner}": {
                **to_builtins(state, order="deterministic"),
                "found": _ids(state.found),
            }
            for owner, state in states.items()
        }
        self.store.put_many(_SEARCHES, values, now=self.clock())

    def forget_searches(self, owners: Iterable[Address]) -> None:
        for owner in owners:
            self.store.forget_key(_SEARCHES, f"{self._place}/{owner}")

    def claim_search(self, owner: Address, searcher: str) -> bool:
        """Whether this one may search, because nobody else does or has for some time."""
        now, key = self.clock(), f"{self._place}/{owner}"
        taken = False

        def claim(value: object | None) -> object:
            nonlocal taken
            other = read_as(tuple[str, float], value)
            taken = other is None or other[0] == searcher or other[1] < now
            return [searcher, now + _CLAIM_SECONDS] if taken else value

        self.store.change(_SEARCHERS, key, claim, now=now)
        return taken

    def release_search(self, owner: Address) -> None:
        self.store.forget_key(_SEARCHERS, f"{self._place}/{owner}")

    def named_positions(self, owner: Address) -> frozenset[PositionRef]:
        """The positions a person named as this wallet's."""
        return _read_ids(self.store.get(_NAMED, f"{self._place}/{owner}"))

    def remember_named(self, owner: Address, refs: Iterable[PositionRef]) -> None:
        named = self.named_positions(owner) | {*refs}
        self.store.put(_NAMED, f"{self._place}/{owner}", _ids(named), now=self.clock())

    def mint_blocks(self, refs: Iterable[PositionRef]) -> dict[PositionRef, int]:
        """The blocks in which those tokens came to be, as far as a scan has met them."""
        keys = {self._key(ref): ref for ref in refs}
        values = self.store.get_many(_MINTED, keys).items()
        return {keys[key]: value for key, value in values if isinstance(value, int)}

    def remember_minted(self, blocks: Mapping[PositionRef, int]) -> None:
        values = {self._key(ref): block for ref, block in blocks.items()}
        self.store.put_many(_MINTED, values, now=self.clock())

    def _key(self, ref: PositionRef) -> str:
        return f"{self._place}/{v4_token_id(ref)}"


def _ids(refs: Iterable[PositionRef]) -> list[int]:
    """As they are kept beneath the chain and the manager that knows them."""
    return sorted(v4_token_id(ref) for ref in refs)


def _read_ids(value: object) -> frozenset[PositionRef]:
    return frozenset(map(v4_position, read_as(frozenset[int], value) or ()))


def _with_refs(value: object, name: str) -> object:
    return {**value, name: _read_ids(value.get(name))} if isinstance(value, dict) else value
