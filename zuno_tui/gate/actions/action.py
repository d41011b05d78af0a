"""What is to be carried out, and what it is about: a request built on one fresh reading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from chain.positions.overview import Sources
    from chain.protocols.reference import PositionRef
from collections.abc import Mapping
from fractions import Fraction

from msgspec import field

from chain.contracts.addresses import checksum
from chain.contracts.networks import NATIVE, Address, Network
from chain.contracts.pool_key import PoolKey
from chain.contracts.signed_delegation import SignedDelegation
from chain.execution import protocols
from chain.execution.plan.facts import FactsUnknownError, PoolFacts, PositionFacts, position_facts
from chain.execution.plan.requests import QuotedSwap, Request, ReRangeRequest
from chain.pools.depth import read_states
from chain.positions.batch_reader import read_positions
from chain.positions.overview import Sources
from chain.protocols.reference import PositionRef, position_label
from chain.protocols.snapshot import PositionSnapshot
from chain.read.block_reader import OneBlock
from chain.rpc import requests
from chain.rpc.records import Block, BlockRef
from chain.tokens import Token
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import micro_dollars


class SwapQuotes(Struct, frozen=True):
    """The swap of a plan, the pool it goes through, and what V4Quoter says of each."""

    swap: QuotedSwap
    pool: PoolFacts
    """The one it goes through."""
    own: PoolKey | None
    """The one that is entered; None where nothing is."""
    replayed: int
    """What the replay on the pool's depth pays."""
    by_quoter: Mapping[PoolKey, int]
    """For the same input; nothing where the network has no quoter."""

    def words(self, amount: Callable[[int], str]) -> str:
        """Which pool, why, and how the two ways of quoting it compare."""
        replayed = amount(self.replayed)
        if not self.by_quoter:
            return f"No quoter answers here: the swap pays {replayed} by a replay on its pool."
        asked = self.by_quoter.get(self.swap.pool)
        said = "nothing" if asked is None else amount(asked)
        count = len(self.by_quoter)
        rank = "the only one that quotes it" if count == 1 else f"the best of {count} that quote it"
        fee = f"{self.pool.lp_fee / 10_000:g}%"
        if self.own is None:
            return (
                f"The swap goes through the {fee} pool, {rank}: {said} by V4Quoter, {replayed} by "
                "a replay on its depth."
            )
        if self.swap.pool == self.own:
            return (
                f"The swap goes through the position's own pool, {rank}: {replayed} as it is "
                f"when its turn comes, {said} by V4Quoter now."
            )
        beside = self.by_quoter.get(self.own)
        instead = "no quote" if beside is None else amount(beside)
        return (
            f"The swap goes through the {fee} pool, {rank}: {said} by "
            f"V4Quoter, {replayed} by a replay on its liquidity, against {instead} in the "
            "position's own pool."
        )


class TargetKind(Struct, frozen=True, rename="camel"):
    """What to read again: a position by its id, a pool by its key; neither is the wallet alone."""

    ref: PositionRef | None = field(default=None, name="tokenId")
    pool: PoolKey | None = None
    others: tuple[PositionRef, ...] = ()
    """Further positions, where an action is about several."""

    @property
    def refs(self) -> tuple[PositionRef, ...]:
        return () if self.ref is None else (self.ref, *self.others)

    def __str__(self) -> str:
        if self.others:
            return f"positions {', '.join(map(position_label, self.refs))}"
        if self.ref is not None:
            return f"position {position_label(self.ref)}"
        return "wallet" if self.pool is None else f"pool {self.pool.pool_id}"


class ActionTarget(Struct, frozen=True):
    block: Block
    pool: PoolFacts | None = None
    position: PositionSnapshot | None = None
    others: tuple[PositionSnapshot, ...] = ()
    """Further positions of the same block, where an action is about several."""

    @property
    def snapshots(self) -> tuple[PositionSnapshot, ...]:
        return () if self.position is None else (self.position, *self.others)

    @property
    def positions(self) -> dict[PositionRef, PositionFacts]:
        """By their names, as building and judging know them; empty where there is none."""
        return {facts.ref: facts for facts in map(position_facts, self.snapshots)}

    @property
    def pools(self) -> tuple[PoolFacts, ...]:
        """Of the positions, or the one that is entered."""
        held = {facts.pool.key: facts.pool for facts in self.positions.values()}
        return tuple(held.values()) or (() if self.pool is None else (self.pool,))

    @property
    def about(self) -> TargetKind:
        if self.position is not None:
            others = tuple(other.ref for other in self.others)
            return TargetKind(ref=self.position.ref, others=others)
        return TargetKind(pool=None if self.pool is None else self.pool.key)


def subject_of(position: PositionSnapshot, *others: PositionSnapshot) -> ActionTarget:
    pool = position.pool
    facts = PoolFacts(pool.key, pool.sqrt_price_x96, pool.lp_fee)
    return ActionTarget(position.block, facts, position, others)


async def read_subject(
    sources: Sources, about: TargetKind, at: BlockRef = "latest"
) -> ActionTarget | None:
    """The same at the newest block or another; None when it is not there."""
    if about.ref is not None:
        found = await read_positions(
            sources.client, sources.network, sources.memory, about.refs, at=at
        )
        if any(ref not in found for ref in about.refs):
            return None
        return subject_of(*(found[ref] for ref in about.refs))
    if about.pool is not None:
        return await _read_pool(sources, about.pool, at)
    return await read_wallet(sources, at)


async def _read_pool(sources: Sources, key: PoolKey, at: BlockRef) -> ActionTarget | None:
    here = OneBlock(sources.client, sources.network, at)
    return next(
        (
            ActionTarget(here.block, PoolFacts(state.key, state.sqrt_price_x96, state.lp_fee))
            for state in (await read_states(here, sources.network, [key])).states
        ),
        None,
    )


async def read_wallet(sources: Sources, at: BlockRef = "latest") -> ActionTarget:
    """Nothing but a block, where the wallet itself is what an action is about."""
    if at == "latest":
        return ActionTarget(await sources.client.head())
    head = await sources.client.ask(requests.block(at))
    if head is None:
        raise FactsUnknownError("The block to build on is unknown.")
    return ActionTarget(head)


class Action(Struct, frozen=True):
    plan_id: str
    headline: str
    request: Request
    subject: ActionTarget
    tokens: tuple[Address, ...]
    """The pair's in the order of the pool, then whatever else the wallet may gain or lose."""
    usd_per_unit: Mapping[Address, float] = field(default_factory=dict)
    """Of the tokens whose worth is known."""
    usd_per_wei: float | None = None
    quotes: SwapQuotes | None = None
    """Of the swap in the request, where there is one."""
    scaled_by: Mapping[Address, Token] = field(default_factory=dict)
    """The tokens whose decimals turned an amount that was typed into units."""
    disputes: tuple[str, ...] = ()
    """What is said of prices that its dollars rest on and sources disagree about."""
    cancels: tuple[SignedDelegation, ...] = ()
    """Orders that are ended with it."""
    planned_cost: float | None = None
    """Dollars that the plan it comes from expected it to cost."""
    left_behind: tuple[str, ...] = ()
    """What hangs on its position and stays, in words."""
    breaks: tuple[str, ...] = ()
    """Which limits of the profile it breaks, in words; it was asked for all the same."""

    @property
    def pools(self) -> tuple[PoolFacts, ...]:
        """All that it leaves, enters or swaps in."""
        found = [*self.subject.pools]
        found += [] if self.quotes is None else [self.quotes.pool]
        into = self.request.into if isinstance(self.request, ReRangeRequest) else None
        found += [] if into is None else [into]
        return tuple({pool.key: pool for pool in found}.values())

    @property
    def worth(self) -> dict[Address, Fraction]:
        """Micro-dollars for one unit, by token."""
        return micro_dollars(self.usd_per_unit)


def pair_of(key: PoolKey) -> tuple[Address, Address]:
    return key.currency0, key.currency1


def wraps_coin(network: Network, key: PoolKey) -> bool:
    """Whether the coin itself can be given for, or paid as, the wrapped coin of the pool."""
    return protocols.of_pool(key).wraps and network.wrapped_native in pair_of(key)


def spendable_tokens(network: Network, key: PoolKey) -> tuple[Address, ...]:
    """The pair, and the coin where what is missing of its wrapped form may be wrapped from it."""
    pair = pair_of(key)
    return (*pair, NATIVE) if network.wrapped_native in pair else pair


async def owned_position(
    sources: Sources, ref: PositionRef, owner: Address, at: BlockRef
) -> PositionSnapshot:
    """The position at a block, refused when it is not there or not the wallet's."""
    (snapshot,) = await owned_positions(sources, [ref], owner, at)
    return snapshot


async def owned_positions(
    sources: Sources, refs: Sequence[PositionRef], owner: Address, at: BlockRef
) -> tuple[PositionSnapshot, ...]:
    """All of them at one block, refused when any is not there or not the wallet's."""
    fresh = sources.without_memory()
    found = await read_positions(fresh.client, fresh.network, fresh.memory, refs, at=at)
    return tuple(_owned(sources, ref, found.get(ref), owner) for ref in refs)


def _owned(
    sources: Sources, ref: PositionRef, snapshot: PositionSnapshot | None, owner: Address
) -> PositionSnapshot:
    if snapshot is None:
        raise GateRefusedError(
            f"There is no position {position_label(ref)} on {sources.network.title}. "
            "See yours: zuno positions"
        )
    if snapshot.owner != owner:
        raise GateRefusedError(
            f"Position {position_label(ref)} belongs to {checksum(snapshot.owner)}, and the "
            f"wallet is {checksum(owner)}. Choose its owner: --address, or zuno wallet use NAME"
        )
    return snapshot
