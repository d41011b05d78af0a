"""What a position is compared with: how it was when it was first watched, or last accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from agents.monitor.rules.excursions import RangeState
from chain.base.units import DAY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.contracts.networks import Address
    from chain.positions.snapshot import PositionSnapshot

_GROWN = 5 / 4
"""A pool this much deeper than its reference is a new reference."""
_UNCHANGED = 9 / 10
"""A pool that kept this much of its depth where the price was has only been left by the price."""

WALLET = 0
"""Stands for the wallet itself among the positions, whose numbers begin with one."""


class Baseline(Struct, frozen=True):
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
    others_tick: int | None
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
        return {
            "out": self.standing.out,
            "backSince": self.standing.back_since,
            "approved": self.approved,
            "subscriber": self.subscriber,
            "lpFee": self.lp_fee,
            "protocolFee": list(self.protocol_fee),
            "hookCode": self.hook_code,
            "others": str(self.others),
            "othersTime": self.others_time,
            "othersTick": self.others_tick,
        }


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
    match document:
        case {
            "out": bool() as out,
            "backSince": (int() | None) as back_since,
            "approved": (str() | None) as approved,
            "subscriber": (str() | None) as subscriber,
            "lpFee": int() as lp_fee,
            "protocolFee": [int() as one, int() as other],
            "hookCode": (str() | None) as hook_code,
            "others": str() as others,
            "othersTime": int() as others_time,
        }:
            return Baseline(
                RangeState(out, back_since),
                approved,
                subscriber,
                lp_fee,
                (one, other),
                hook_code,
                int(others),
                others_time,
                tick if isinstance(tick := document.get("othersTick"), int) else None,
            )
    return None


def others_in(position: PositionSnapshot) -> int:
    """What others provide around the price."""
    return position.pool.liquidity - (position.liquidity if position.in_range else 0)


def protocol_fee_of(position: PositionSnapshot) -> tuple[int, int]:
    fee = position.pool.protocol_fee
    return fee.towards(zero_for_one=True), fee.towards(zero_for_one=False)
