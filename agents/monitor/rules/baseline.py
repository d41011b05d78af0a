"""What a position is compared with: how it was when it was first watched, or last accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import replace

from agents.monitor.rules.excursions import RangeState  # noqa: TC001
from chain.base.units import DAY
from chain.contracts.networks import Address  # noqa: TC001

if TYPE_CHECKING:
    from chain.positions.snapshot import PositionSnapshot

_GROWN = 5 / 4
"""A pool this much deeper than its reference is a new reference."""
_UNCHANGED = 9 / 10
"""A pool that kept this much of its depth where the price was has only been left by the price."""

WALLET = 0
"""Stands for the wallet itself among the positions, whose numbers begin with one."""


class Baseline(Struct, frozen=True, rename="camel"):
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

    def followed(
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

    def document(self) -> dict[str, object]:
        """In one level, and with liquidity as text: other readers of JSON would round it."""
        fields = to_builtins(self)
        return {**fields.pop("standing"), **fields, "others": str(self.others)}


class Baselines:
    """Baselines from their documents, each read once for as long as the document is the same."""

    def __init__(self) -> None:
        self._read: dict[int, tuple[Mapping[str, object], Baseline | None]] = {}

    def of(self, number: int, document: Mapping[str, object] | None) -> Baseline | None:
        """None for a position that has none, or none that can be read."""
        if document is None:
            return None
        kept = self._read.get(number)
        if kept is None or kept[0] is not document:
            kept = self._read[number] = (document, read_baseline(document))
        return kept[1]


def read_baseline(document: Mapping[str, object]) -> Baseline | None:
    """None for a document of another time: the position is then met anew."""
    try:
        others = convert(document.get("others"), int, strict=False)
        return convert({**document, "standing": document, "others": others}, Baseline)
    except ValidationError:
        return None


def others_in(position: PositionSnapshot) -> int:
    """What others provide around the price."""
    return position.pool.liquidity - (position.liquidity if position.in_range else 0)


def protocol_fee_of(position: PositionSnapshot) -> tuple[int, int]:
    fee = position.pool.protocol_fee
    return fee.towards(zero_for_one=True), fee.towards(zero_for_one=False)
