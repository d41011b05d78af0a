"""What if it had not: what a carried out close paid, against the same range kept until now."""

from collections.abc import Sequence
from contextlib import suppress

from msgspec import UNSET, Struct

from agents.numbers.edges import TickRange
from agents.numbers.outlook import Stake
from agents.scorecard.scoring import (
    KeptOrClosed,
    changed_or_not,
    kept_or_closed,
    price_course,
    price_of,
)
from chain.base.units import DAY, HOUR, time_text
from chain.contracts.networks import Address
from chain.execution.plan.protocol import OrderKind
from chain.history.events import fee_terms
from chain.history.hour_reader import HourMemory, read_hours
from chain.pools.depth import read_states
from chain.positions.overview import Sources, tokens_at
from chain.read.block_reader import OneBlock
from chain.rpc.errors import RpcError
from chain.rpc.records import Block
from chain.standing_orders.book import KeptOrder, StandingOrders
from chain.standing_orders.call import subject_in
from chain.standing_orders.order import ClosedRange
from chain.tokens.pair import Pair, pair_of
from chain.tokens.token import amount_text
from zuno_tui.app.session import Session
from zuno_tui.present.attachment import Attachment
from zuno_tui.present.document import document

_MOST_DAYS = 30
_SCORED = "orders"


class JudgedClose(Struct, frozen=True):
    """In smallest units of `unit`, with the fees that keeping it would have earned."""

    number: int
    closed_at: int
    until: int
    unit: Address
    worth_then: float
    closed_worth: float
    kept_worth: float
    gained: float
    words: str


_WORDS: dict[OrderKind, tuple[str, str, str]] = {
    "close": ("with its fees", "for what it paid", "closing"),
    "collect": ("with its fees", "for what it paid", "collecting"),
    "compound": ("in the wallet", "at work, with its fees", "compounding"),
    "move": ("with its fees where it was", "where it is", "moving"),
    "follow": ("with its fees where it was", "where it is", "moving"),
}
"""Without it, with it, and what it did."""


class ClosedOrder(Struct, frozen=True):
    """An order that changed its position, judged by the swaps of the pool since."""

    kind: OrderKind
    number: int
    closed_at: int
    until: int
    worths: KeptOrClosed
    last_price: int
    """A square root, as the pool keeps it; so is every price here."""
    pair: Pair

    @property
    def gain_share(self) -> float:
        """By closing, as a part of what came out."""
        return (self.worths.closed - self.worths.kept) / self.worths.then

    def text(self, worth1: float, price: int) -> str:
        """In the coin that prices of the pair are told in."""
        units = worth1 / price_of(price) if self.pair.inverted else worth1
        return amount_text(round(units), self.pair.quote)

    @property
    def words(self) -> str:
        closed, kept = (
            self.text(worth, self.last_price) for worth in (self.worths.closed, self.worths.kept)
        )
        side = "better" if self.gain_share >= 0 else "worse"
        without, having, doing = _WORDS[self.kind]
        return (
            f"what if it had not: {kept} {without} by {time_text(self.until)}, against "
            f"{closed} {having}: {doing} was {abs(self.gain_share):.2%} {side}"
        )

    @property
    def judgment(self) -> JudgedClose:
        then, closed, kept = self.worths
        return JudgedClose(
            number=self.number,
            closed_at=self.closed_at,
            until=self.until,
            unit=self.pair.token1.address,
            worth_then=then,
            closed_worth=closed,
            kept_worth=kept,
            gained=self.gain_share,
            words=self.words,
        )


async def what_if(sources: Sources, kept: Sequence[KeptOrder]) -> dict[int, ClosedOrder]:
    """By order, the last time it was carried out; one that is not an hour old, or whose pool is
    gone, is left out."""
    head = await sources.client.head()
    found: dict[int, ClosedOrder] = {}
    for kept_order in kept:
        closed = kept_order.progress.closed
        subject = subject_in(kept_order.order.delegation_signed)
        if closed is None or not kept_order.progress.done or not closed.sqrt_price:
            continue
        if subject is None or head.timestamp - closed.time < HOUR:
            continue
        with suppress(RpcError):
            number = kept_order.order.number
            judged = await _judged(sources, subject[0], number, closed, head)
            if judged is not None:
                found[kept_order.order.number] = judged
    return found


async def _judged(
    sources: Sources, kind: OrderKind, number: int, closed: ClosedRange, head: Block
) -> ClosedOrder | None:
    network, key = sources.network, closed.key
    here = OneBlock(sources.client, network, head.hash)
    states = (await read_states(here, network, [key])).states
    if not states:
        return None
    terms = fee_terms(states[0])
    hours = await read_hours(
        sources.client,
        network,
        {key.pool_id: terms},
        head.timestamp - closed.time + HOUR,
        memory=HourMemory(sources.store, network, sources.clock),
        head=head,
    )
    rows = hours[key.pool_id].rows
    course = price_course(int(closed.sqrt_price), closed.time, _MOST_DAYS, rows)
    stake = Stake(TickRange(closed.tick_lower, closed.tick_upper), int(closed.liquidity))
    tokens = await tokens_at(sources, (key.currency0, key.currency1), head.hash)
    pair = pair_of(network, tokens[key.currency0], tokens[key.currency1], course.last)
    until = min(head.timestamp, closed.time + _MOST_DAYS * DAY)
    worths = kept_or_closed(course, stake)
    if closed.entered is not UNSET:
        ticks, liquidity = TickRange(*closed.entered.ticks), int(closed.entered.liquidity)
        worths = changed_or_not(worths, kept_or_closed(course, Stake(ticks, liquidity)))
    if not worths.then:
        return None
    return ClosedOrder(kind, number, closed.time, until, worths, course.last, pair)


async def scored_orders(session: Session, sources: Sources) -> Attachment:
    """For the scorecard."""
    kept = [
        kept
        for kept in StandingOrders(session.home.orders).all()
        if kept.order.chain_id == session.network.chain_id
    ]
    judged = await what_if(sources, kept)
    return Attachment(
        _SCORED,
        tuple(f"order {number}: {order.words}" for number, order in judged.items()),
        [document(order.judgment) for order in judged.values()],
    )
