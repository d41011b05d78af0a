"""When the condition of an order has held, and why it is over: nothing here asks anybody."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from chain.positions.snapshot import PositionSnapshot
from chain.standing_orders.call import OrderCall
from chain.standing_orders.order import OutOfRange, StandingOrder, StandingProgress
from zuno_tui.features.orders.sight import LEAST_BLOCKS, OrderSight


class SeenClock(NamedTuple):
    time: float
    block: int


class Seen(NamedTuple):
    """What those endpoints say who could be asked."""

    sights: tuple[OrderSight, ...]
    needed: int

    def agreed(self, says: Callable[[OrderSight], bool]) -> bool:
        return sum(map(says, self.sights)) >= self.needed

    @property
    def clock(self) -> SeenClock:
        """The second latest where there are several: one endpoint cannot set the clock."""
        return SeenClock(
            float(sorted(sight.head.timestamp for sight in self.sights)[-self.needed]),
            sorted(sight.head.number for sight in self.sights)[-self.needed],
        )

    @property
    def positions(self) -> tuple[PositionSnapshot, ...]:
        """As each endpoint tells it."""
        return tuple(sight.position for sight in self.sights if sight.position is not None)


def held(
    before: StandingProgress, now: SeenClock, *, met: bool, longest_gap: float
) -> StandingProgress:
    """Since when the condition holds, as of this look; a long time unseen begins anew."""
    time, block = now
    gap = before.looked_at is None or abs(time - before.looked_at) > longest_gap
    if not met:
        return replace(before, met_at=None, met_block=0, looked_at=time)
    if before.met_at is None or gap or block < before.met_block or time < before.met_at:
        return replace(before, met_at=time, met_block=block, looked_at=time)
    return replace(before, looked_at=time)


def has_held(order: StandingOrder, progress: StandingProgress, now: SeenClock) -> bool:
    """For as long as the order asks, and for some blocks."""
    if progress.met_at is None:
        return False
    asked = order.condition.seconds if isinstance(order.condition, OutOfRange) else 0
    lasted = now.time - progress.met_at
    return (
        lasted >= max(order.hold_seconds, asked) and now.block - progress.met_block >= LEAST_BLOCKS
    )


def why_over(order: StandingOrder, call: OrderCall, seen: Seen) -> str:
    """Why an order can never be carried out again, where enough endpoints say so."""
    told = [reason for sight in seen.sights for reason in reasons_against(order, call, sight)]
    return next((reason for reason in told if told.count(reason) >= seen.needed), "")


def reasons_against(order: StandingOrder, call: OrderCall, sight: OrderSight) -> Iterator[str]:
    """What is against it by one endpoint's sight, what weighs most first."""
    position = sight.position
    if sight.surely_used >= call.times:
        yield "It was carried out by another machine."
    if sight.time >= call.until:
        yield "Its date has passed."
    if sight.disabled:
        yield "It was cancelled."
    if sight.nonce != call.nonce:
        yield "It was cancelled with all others."
    if position is None:
        yield f"Position #{call.token_id} is closed."
        return
    if position.owner != call.recipient:
        yield f"Position #{call.token_id} has another owner."
    if call.kind == "close" and str(position.liquidity) != order.liquidity:
        yield "The position is larger or smaller now: sign a new order, and cancel this one."
    if sight.hook_code != order.hook_code:
        yield "The pool's hook has other code since."
