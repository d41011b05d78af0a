"""What is to be signed for what was asked: an order, and those that go with it on the same page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from agents.numbers.edges import TickRange
from agents.numbers.outlook import Stake
from agents.scorecard.scoring import earned_fees, price_course
from chain.base.units import DAY, MICRO
from chain.contracts.abi import selector
from chain.contracts.calldata import EVERYTHING
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import Address
from chain.execution.build.writers import writer_of
from chain.execution.plan.protocol import OrderKind, StandingCall, StandingEntry
from chain.history.events import fee_terms
from chain.history.hour_reader import HourMemory, read_hours
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.math.ticks import nearest_usable_tick, sqrt_price_at_tick, tick_at_sqrt_price
from chain.pools.depth import read_states
from chain.positions.discovery import Discovery
from chain.positions.overview import Sources, tokens_at
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.protocols.registry import manager_of
from chain.protocols.snapshot import PositionSnapshot
from chain.read.block_reader import OneBlock
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import Reverted
from chain.standing_orders.book import KeptOrder
from chain.standing_orders.call import (
    OrderCall,
    closing_call,
    is_offered,
    plain_call,
)
from chain.standing_orders.entries import MOST_STEP_TICKS, growth, shift, span_of
from chain.standing_orders.order import (
    FeesOver,
    LossOver,
    OrderCondition,
    OutOfRange,
    PricePast,
    price_condition,
)
from chain.tokens.pair import Pair, pair_of
from zuno_tui.app.session import Session
from zuno_tui.features.orders.intents import OrderAsked, OrderMove, OrderPlaces
from zuno_tui.features.orders.neighbors import (
    NeighborFacts,
    Neighbors,
    closes_to_copy,
    read_facts,
    read_neighbors,
    refuse_company,
    refuse_far,
    ticks_moved,
)
from zuno_tui.features.orders.terms import (
    LEAST_HOLD,
    OrderTerms,
    OrderWordsError,
    read_terms,
)
from zuno_tui.gate.actions.action import owned_position
from zuno_tui.gate.drift import network_time
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import read_worth

_PAST_DAYS = 7
_MOST_MOVES = 8
"""In a row: so many ranges one transaction opens."""
_UNKNOWN_ACTION = selector("UnsupportedAction(uint256)")


class OrderPlan(NamedTuple):
    made: StandingCall
    condition: OrderCondition
    hold: int
    times: int = 1
    size: Literal["grown", "filled"] | UnsetType = UNSET
    ticks: tuple[int, int] | UnsetType = UNSET


class OrderRequest(NamedTuple):
    """What was asked for, with what it rests on."""

    session: Session
    sources: Sources
    asked: OrderAsked | OrderPlaces
    terms: OrderTerms
    position: PositionSnapshot
    pair: Pair
    now: int
    """By the network's clock."""
    facts: NeighborFacts

    @property
    def ref(self) -> PositionRef:
        return self.position.ref

    @property
    def hold(self) -> int:
        return LEAST_HOLD if self.asked.hold is None else self.asked.hold

    @property
    def follows(self) -> int | None:
        """How many moves in a row were asked for."""
        asked = self.asked
        return asked.follow if isinstance(asked, OrderMove | OrderPlaces) else None

    @property
    def neighbors(self) -> Neighbors:
        return read_neighbors(self.session, self.facts.over)

    def of_kind(self, kind: OrderKind) -> list[tuple[KeptOrder, OrderCall]]:
        """Those of a kind on this position."""
        return self.neighbors.of_kind(kind, self.ref)


async def order_request(
    session: Session,
    sources: Sources,
    asked: OrderAsked | OrderPlaces,
    clients: Sequence[RpcClient] = (),
) -> OrderRequest:
    position = await owned_position(sources, asked.ref, session.address, "latest")
    now = network_time(sources, position.block.timestamp)
    try:
        terms = read_terms(asked.kind, asked.words, now)
    except OrderWordsError as error:
        raise GateRefusedError(str(error)) from None
    key = position.pool.key
    tokens = await tokens_at(sources, (key.currency0, key.currency1), position.block.hash)
    price = position.pool.sqrt_price_x96
    pair = pair_of(session.network, tokens[key.currency0], tokens[key.currency1], price)
    facts = await read_facts(session, sources, clients or (sources.client,), (asked.ref,))
    return OrderRequest(session, sources, asked, terms, position, pair, now, facts)


async def plan_orders(request: OrderRequest, key: Address) -> tuple[OrderPlan, ...]:
    """The order that was asked for first, then what it would leave unprotected without."""
    kind = request.asked.kind
    if not is_offered(kind, request.ref):
        raise GateRefusedError(
            f"No order can {kind} a position of Uniswap {request.ref.protocol}: its manager pays "
            "fees and tokens to the wallet first, and no order takes anything from there."
        )
    if kind not in ("close", "collect") and request.position.pool.key.hooks != NO_HOOK:
        raise GateRefusedError(f"No order can {kind} in a pool with a hook, which may interfere.")
    row = kind == "move" and request.follows is not None
    refuse_company("follow" if row else kind, request.ref, key, request.neighbors)
    return await _PLANNERS[kind](request)


def _condition(request: OrderRequest) -> OrderCondition:
    terms = request.terms
    match terms.when:
        case "out-of-range":
            return OutOfRange(terms.seconds)
        case "loss-over":
            return LossOver(terms.bips)
        case "every":
            return FeesOver(terms.micro_usd, terms.seconds)
        case side:
            try:
                below = side in ("below", "down")
                return price_condition(request.pair, terms.price, below=below)
            except ValueError as error:
                raise GateRefusedError(str(error)) from None


async def _close(request: OrderRequest) -> tuple[OrderPlan, ...]:
    condition = _condition(request)
    grows = bool(request.of_kind("compound"))
    made = closing_call(request.position, condition, request.terms.until)
    size: Literal["grown"] | UnsetType = "grown" if grows else UNSET
    return (OrderPlan(made, condition, request.hold, size=size),)


async def _collect(request: OrderRequest) -> tuple[OrderPlan, ...]:
    made = plain_call(request.position, "collect", request.terms.until)
    return (OrderPlan(made, _condition(request), request.hold, request.terms.times),)


async def _compound(request: OrderRequest) -> tuple[OrderPlan, ...]:
    position, terms = request.position, request.terms
    if not position.in_range:
        raise GateRefusedError(
            f"Position {position_label(request.ref)} is out of its range and earns no fees to "
            "compound. Move it, or ask again once it earns."
        )
    step = await _step(request)
    made = plain_call(position, "compound", terms.until)._replace(entry=step.entry)
    condition = FeesOver(step.micro_usd, terms.seconds)
    replaced = tuple(_replacements(request))
    return (OrderPlan(made, condition, request.hold, terms.times), *replaced)


class _Step(NamedTuple):
    entry: StandingEntry
    micro_usd: int
    """From which worth of fees on it is done."""


async def _step(request: OrderRequest) -> _Step:
    """By how the fees of the past days came, and how much: as many dollars of them as was said,
    else half of what such a time brought."""
    position, terms = request.position, request.terms
    key = position.pool.key
    worth = await read_worth(request.sources, (key.currency0, key.currency1), position.block)
    rates = [worth.usd_per_unit.get(each) for each in (key.currency0, key.currency1)]
    if None in rates:
        raise GateRefusedError("A token of the pair has no price, so its fees have no worth.")

    def dollars(amounts: Sequence[float]) -> float:
        return sum(amount * (rate or 0.0) for amount, rate in zip(amounts, rates, strict=True))

    past = await past_fees(request.sources, position)
    micro_usd = terms.micro_usd or round(
        dollars(past) * MICRO * terms.seconds / (_PAST_DAYS * DAY) / 2
    )
    rest = await adds_rest(request.sources, position, terms.until)
    held = position.amount0, position.amount1
    for shape in (past, held):
        share = micro_usd / MICRO / dollars(shape) if dollars(shape) else 0.0
        fees = Amounts(*(int(amount * share) for amount in shape))
        entry = growth(position, fees, rest=rest)
        if entry.liquidity:
            return _Step(entry, micro_usd)
    raise GateRefusedError(
        f"Position {position_label(request.ref)} earned too little in the past {_PAST_DAYS} days "
        "to say how much to wait for. Say it: zuno order compound "
        f"{position_name(request.ref)} over $50"
    )


async def past_fees(sources: Sources, position: PositionSnapshot) -> tuple[float, float]:
    """What such a position earned in the past days, in units of both coins."""
    head, key = position.block, position.pool.key
    network = sources.network
    here = OneBlock(sources.client, network, head.hash)
    [state] = (await read_states(here, network, [key])).states
    memory = HourMemory(sources.store, network, sources.clock)
    hours = await read_hours(
        sources.client,
        network,
        {key.pool_id: fee_terms(state)},
        _PAST_DAYS * DAY,
        memory=memory,
        head=head,
    )
    since = head.timestamp - _PAST_DAYS * DAY
    rows = hours[key.pool_id].rows
    course = price_course(position.pool.sqrt_price_x96, since, _PAST_DAYS, rows)
    span = span_of(position)
    stake = Stake(TickRange(span.tick_lower, span.tick_upper), position.liquidity)
    earned = earned_fees(course, stake, stake)
    return earned.fees0, earned.fees1


async def adds_rest(sources: Sources, position: PositionSnapshot, until: int) -> bool:
    """Whether this network's manager adds what is left over: tried, by a call that changes
    nothing."""
    entry = StandingEntry(0, Amounts(EVERYTHING, EVERYTHING), rest=True)
    tried = plain_call(position, "compound", until)._replace(entry=entry)
    data = writer_of(position.pool.key).standing_call(tried)
    manager = manager_of(position.ref, sources.network)
    try:
        await sources.client.ask(requests.call(manager, data, sender=position.owner))
    except Reverted as error:
        if error.data[:4] == _UNKNOWN_ACTION:
            return False
        raise
    return True


def _replacements(request: OrderRequest) -> Iterator[OrderPlan]:
    """A close fits the size that it was signed for: of each that stands one for any larger size."""
    for kept, call in closes_to_copy(request.neighbors, request.ref, outgrown=True):
        made = closing_call(request.position, kept.order.condition, call.until)
        yield OrderPlan(made, kept.order.condition, kept.order.hold_seconds, size="grown")


async def _move(request: OrderRequest) -> tuple[OrderPlan, ...]:
    """Without a swap into a range as wide, once the price is past it; several in a row go into
    positions that are there beforehand, so that what closes them can be signed with them."""
    spans = await move_spans(request)
    if request.follows is None:
        return (_moved_once(request, spans[0]),)
    return await _followed(request, spans)


async def move_spans(request: OrderRequest) -> list[Span]:
    """The ranges that it goes through."""
    position, pair = request.position, request.pair
    span, spacing = span_of(position), position.pool.key.tick_spacing
    condition = _condition(request)
    assert isinstance(condition, PricePast)
    goal = nearest_usable_tick(tick_at_sqrt_price(int(condition.sqrt_price)), spacing)
    end = span.tick_lower if condition.falls else span.tick_upper
    ticks, count = goal - end, request.follows or 1
    far = MOST_STEP_TICKS // spacing * spacing * (-1 if condition.falls else 1)
    if not 0 < ticks * (-1 if condition.falls else 1) <= MOST_STEP_TICKS:
        now, last = (pair.price_text(sqrt_price_at_tick(tick)) for tick in (end, end + far))
        raise GateRefusedError(
            f"That end of its range is at {now}, and one order moves it as far as {last}: a thief "
            f"of the watch key gains with every step. Ask for a price between, or: zuno move"
        )
    if count > _MOST_MOVES:
        raise GateRefusedError(f"At most {_MOST_MOVES} moves follow one another. Ask for fewer.")
    before = ticks_moved(position.ref, request.neighbors.moves, request.facts.spans)
    refuse_far(before + abs(ticks) * count)
    return [
        Span(span.tick_lower + ticks * step, span.tick_upper + ticks * step)
        for step in range(1, count + 1)
    ]


async def _followed(request: OrderRequest, spans: Sequence[Span]) -> tuple[OrderPlan, ...]:
    position, terms = request.position, request.terms
    places = await _places(request, spans)
    moves: list[OrderPlan] = []
    closes: list[OrderPlan] = []
    at = position
    for place, span in zip(places, spans, strict=True):
        goes = shift(span_of(at), span, at.liquidity)
        made = plain_call(at, "follow", terms.until)._replace(
            least=goes.least, liquidity=at.liquidity, entry=goes.entry._replace(into=place.ref)
        )
        ticks = span.tick_lower, span.tick_upper
        falls = span.tick_lower < span_of(at).tick_lower
        condition = PricePast(str(goes.sqrt_price), falls=falls)
        size: Literal["grown", "filled"] = "filled" if moves else "grown"
        moves.append(OrderPlan(made, condition, request.hold, size=size, ticks=ticks))
        at = replace(place, liquidity=goes.entry.liquidity)
        for kept, call in closes_to_copy(request.neighbors, request.ref, outgrown=False):
            made = closing_call(at, kept.order.condition, call.until)
            hold = kept.order.hold_seconds
            closes.append(OrderPlan(made, kept.order.condition, hold, size="filled"))
    return (*moves, *closes)


async def _places(request: OrderRequest, spans: Sequence[Span]) -> list[PositionSnapshot]:
    """The wallet's empty positions in these ranges, that no other order goes into."""
    sources, key = request.sources, request.position.pool.key
    taken = {call.target for call in request.neighbors.moves}
    wallet = await Discovery(sources.client, sources.network, sources.memory).read(
        request.position.owner
    )
    free = {
        span_of(each): each
        for each in wallet.positions
        if each.pool.key == key and each.liquidity == 1 and each.ref not in taken
    }
    if any(span not in free for span in spans):
        words = " ".join(request.asked.words)
        raise GateRefusedError(
            "Open the ranges that it goes through first, then ask again: zuno order places "
            f"{position_name(request.ref)} {words} --follow {len(spans)}"
        )
    return [free[span] for span in spans]


def _moved_once(request: OrderRequest, span: Span) -> OrderPlan:
    position = request.position
    goes = shift(span_of(position), span, position.liquidity)
    entry = goes.entry._replace(pool=position.pool.key)
    made = plain_call(position, "move", request.terms.until)._replace(least=goes.least, entry=entry)
    condition = PricePast(
        str(goes.sqrt_price), falls=span.tick_lower < span_of(position).tick_lower
    )
    return OrderPlan(made, condition, request.hold, size="grown")


_Planner = Callable[[OrderRequest], Awaitable[tuple[OrderPlan, ...]]]
_PLANNERS: dict[OrderKind, _Planner] = {
    "close": _close,
    "collect": _collect,
    "compound": _compound,
    "move": _move,
}
