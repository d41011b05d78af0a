"""What a position is compared with: how it was at first, when it was outside, how deep its pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import DecodeError, Struct, json, to_builtins
from msgspec.structs import replace

from agents.monitor.rules.thresholds import Thresholds
from chain.base.units import DAY
from chain.contracts.networks import Address, Network
from chain.pools.depth import Depth, read_depths
from chain.protocols.reference import PositionRef, v4_position
from chain.protocols.snapshot import PositionSnapshot
from chain.read.block_reader import OneBlock
from chain.rpc.client import RpcClient
from chain.rpc.records import Block


# An excursion begins with the block at whose end the pool's tick is outside the range. It ends
# with the first block at whose end the tick is clearly inside, a margin away from both edges, or
# that completes `settle_blocks` blocks after a return without leaving again. In between, a price
# that dances on the edge is one excursion.
class BlockTick(NamedTuple):
    """A pool's tick at the end of a block in which it was swapped in."""

    block: int
    tick: int


class RangeBounds(NamedTuple):
    """A range and how far inside is clearly inside."""

    lower: int
    upper: int
    margin: int
    settle_blocks: int

    def holds(self, tick: int) -> bool:
        """As the pool itself decides whose liquidity is active."""
        return self.lower <= tick < self.upper

    def holds_clearly(self, tick: int) -> bool:
        return self.lower + self.margin <= tick < self.upper - self.margin


class RangeState(Struct, frozen=True, rename="camel", gc=False):
    """Where a position stands between excursions and in them."""

    out: bool
    back_since: int | None = None
    """In an excursion: since which block the tick has been inside again, near an edge."""


class RangeCrossing(NamedTuple):
    """An excursion's beginning or end."""

    block: int
    tick: int | None
    """None where it ended by lasting, in a block without a swap."""
    began: bool


class RangeTimeline(NamedTuple):
    standing: RangeState
    turns: tuple[RangeCrossing, ...]


INSIDE = RangeState(out=False)
OUTSIDE = RangeState(out=True)


def bounds_of(lower: int, upper: int, thresholds: Thresholds, network: Network) -> RangeBounds:
    width = upper - lower
    # At least one tick, but never so much that no tick is left that is clearly inside.
    margin = min(max(1, int(width * thresholds.clearly_inside)), (width - 1) // 2)
    return RangeBounds(lower, upper, margin, thresholds.settle_blocks(network))


def first_standing(bounds: RangeBounds, tick: int) -> RangeState:
    """Of a position met for the first time."""
    return INSIDE if bounds.holds(tick) else OUTSIDE


def follow(
    bounds: RangeBounds, standing: RangeState, ticks: Sequence[BlockTick], through: int
) -> RangeTimeline:
    """What the ticks of some blocks, in order, make of a standing up to the block `through`."""
    out, back = standing.out, standing.back_since
    turns: list[RangeCrossing] = []
    settle = bounds.settle_blocks
    for block, tick in ticks:
        if back is not None and block > back + settle:
            turns.append(RangeCrossing(back + settle, None, began=False))
            out, back = False, None
        if not bounds.holds(tick):
            if not out:
                turns.append(RangeCrossing(block, tick, began=True))
            out, back = True, None
        elif out:
            back = block if back is None else back
            if bounds.holds_clearly(tick) or block == back + settle:
                turns.append(RangeCrossing(block, tick, began=False))
                out, back = False, None
    if back is not None and through >= back + settle:
        turns.append(RangeCrossing(back + settle, None, began=False))
        out, back = False, None
    return RangeTimeline(RangeState(out, back), tuple(turns))


def agrees(bounds: RangeBounds, standing: RangeState, tick: int) -> bool:
    """Whether a standing is what the pool's present tick says: if not, a swap was kept from us."""
    inside = not standing.out or standing.back_since is not None
    return inside == bounds.holds(tick)


_GROWN = 5 / 4
"""A pool this much deeper than its reference is a new reference."""
_UNCHANGED = 9 / 10
"""A pool that kept this much of its depth where the price was has only been left by the price."""

WALLET = v4_position(0)
"""Stands for the wallet itself among the positions, whose numbers begin with one."""


class Baseline(Struct, frozen=True, rename="camel", gc=False):
    standing: RangeState
    approved: Address | None
    subscriber: Address | None
    lp_fee: int
    protocol_fee: tuple[int, int]
    """Zero-for-one, one-for-zero."""
    hook_code: str | None
    """What runs as the pool's hook, see `Reading.hook_code`."""
    others: int
    """Liquidity of all others around the price, as it then was."""
    others_time: int
    """When that was taken."""
    others_tick: int | None = None
    """Where; None in what an earlier zuno wrote down."""

    @classmethod
    def of(
        cls, position: PositionSnapshot, standing: RangeState, hook_code: str | None
    ) -> Baseline:
        """The position as it is now."""
        pool = position.pool
        return cls(
            standing=standing,
            approved=position.custody.approved,
            subscriber=position.custody.subscriber,
            lp_fee=pool.lp_fee,
            protocol_fee=protocol_fee_of(position),
            hook_code=hook_code,
            others=others_in(position),
            others_time=position.block.timestamp,
            others_tick=position.pool.tick,
        )

    def follow_position(
        self,
        position: PositionSnapshot,
        standing: RangeState,
        *,
        drained: bool,
        others_there: int | None,
    ) -> Baseline:
        """Where the position stands now; its depth is taken anew each day unless it is missed.

        So it is where the price left it behind unchanged, as `others_there` tells: what others
        do from now on shows at the new price.
        """
        depth, time = others_in(position), position.block.timestamp
        old = time - self.others_time >= DAY and not drained
        moved = others_there is not None and others_there >= self.others * _UNCHANGED
        new = old or moved or self.others_tick is None
        if not new and depth <= self.others * _GROWN:
            return self if standing == self.standing else replace(self, standing=standing)
        tick = position.pool.tick
        return replace(self, standing=standing, others=depth, others_time=time, others_tick=tick)

    def with_fees_of(self, position: PositionSnapshot) -> Baseline:
        return replace(self, lp_fee=position.pool.lp_fee, protocol_fee=protocol_fee_of(position))

    def with_custody_of(self, position: PositionSnapshot) -> Baseline:
        custody = position.custody
        return replace(self, approved=custody.approved, subscriber=custody.subscriber)

    def document(self) -> str:
        """JSON in one level, and with liquidity as text: other readers would round it."""
        fields = to_builtins(self)
        flat = {**fields.pop("standing"), **fields, "others": str(self.others)}
        return json.encode(flat).decode()


class _Written(Struct, frozen=True, rename="camel", gc=False):
    """A baseline as its document has it."""

    out: bool
    approved: Address | None
    subscriber: Address | None
    lp_fee: int
    protocol_fee: tuple[int, int]
    hook_code: str | None
    others: int | str
    others_time: int
    others_tick: int | None = None
    back_since: int | None = None


_WRITTEN = json.Decoder(_Written)


def read_baseline(document: str | None) -> Baseline | None:
    """None for a position that has none, or one of another time: it is then met anew."""
    if document is None:
        return None
    try:
        told = _WRITTEN.decode(document)
        return Baseline(
            RangeState(told.out, told.back_since),
            told.approved,
            told.subscriber,
            told.lp_fee,
            told.protocol_fee,
            told.hook_code,
            int(told.others),
            told.others_time,
            told.others_tick,
        )
    except (DecodeError, ValueError):
        return None


def operators_document(operators: Sequence[Address]) -> str:
    """Who may move all positions of a wallet, kept among the baselines as `WALLET`'s."""
    return json.encode({"operators": operators}).decode()


class _Operators(Struct, frozen=True):
    operators: list[Address]


def read_operators(document: str | None) -> list[Address] | None:
    """None where nothing is known, or nothing that can be read."""
    try:
        return None if document is None else json.decode(document, type=_Operators).operators
    except DecodeError:
        return None


def others_in(position: PositionSnapshot) -> int:
    """What others provide around the price."""
    return position.pool.liquidity - (position.liquidity if position.in_range else 0)


def protocol_fee_of(position: PositionSnapshot) -> tuple[int, int]:
    fee = position.pool.protocol_fee
    return fee.towards(zero_for_one=True), fee.towards(zero_for_one=False)


class DepthReference(NamedTuple):
    """Where a position's pool was last measured, and under what the others may seem to be gone."""

    tick: int
    suspicious_under: int


async def read_reference_depths(
    client: RpcClient,
    network: Network,
    head: Block,
    positions: Sequence[PositionSnapshot],
    references: Mapping[PositionRef, DepthReference],
) -> dict[PositionRef, int | None]:
    """By position: the others' liquidity at its reference, where the price moved to a thin place.

    None where the reference is too far away. It takes two requests for all of them, and none
    while no pool looks drained.
    """
    suspects = [position for position in positions if _is_suspect(position, references)]
    if not suspects:
        return {}
    pools = {suspect.pool.pool_id: suspect.pool for suspect in suspects}
    reach = {pool_id: pool.key.tick_spacing for pool_id, pool in pools.items()}
    for suspect in suspects:
        away = abs(suspect.pool.tick - references[suspect.ref].tick) + suspect.pool.key.tick_spacing
        reach[suspect.pool.pool_id] = max(reach[suspect.pool.pool_id], away)
    here = OneBlock(client, network, head.hash)
    states = [pool.state for pool in pools.values()]
    depths = await read_depths(here, network, states, reach=max(reach.values()))
    found: dict[PositionRef, int | None] = {}
    for suspect in suspects:
        tick = references[suspect.ref].tick
        liquidity = liquidity_at(depths[suspect.pool.pool_id], tick)
        own = own_liquidity_at(suspect, tick)
        found[suspect.ref] = None if liquidity is None else liquidity - own
    return found


def liquidity_at(depth: Depth, tick: int) -> int | None:
    """All liquidity whose range holds a tick; None where that was not read."""
    return next((liquidity for start, end, liquidity in depth.steps() if start <= tick < end), None)


def own_liquidity_at(position: PositionSnapshot, tick: int) -> int:
    identity = position.identity
    return position.liquidity if identity.tick_lower <= tick < identity.tick_upper else 0


def _is_suspect(
    position: PositionSnapshot, references: Mapping[PositionRef, DepthReference]
) -> bool:
    reference = references.get(position.ref)
    if reference is None or reference.tick == position.pool.tick:
        return False
    others = position.pool.liquidity - own_liquidity_at(position, position.pool.tick)
    return others <= reference.suspicious_under
