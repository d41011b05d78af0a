"""Which orders may stand beside one another: asked where a page is made, shown again and signed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec import UNSET

from chain.contracts.addresses import checksum
from chain.contracts.delegation import DELEGATION_MANAGER, LIMITED_CALLS, NONCES
from chain.contracts.networks import Address, Network
from chain.contracts.signed_delegation import ask_count, ask_disabled, ask_nonce
from chain.execution.plan.protocol import OrderKind
from chain.math.drift import Span
from chain.positions.batch_reader import read_positions
from chain.positions.overview import Sources
from chain.protocols.reference import PositionRef, position_label
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.standing_orders.book import KeptOrder, StandingOrders
from chain.standing_orders.call import OrderCall, OrderRefusedError, call_in, position_in
from chain.standing_orders.entries import MOST_TICKS, span_of
from chain.standing_orders.order import LossOver, OutOfRange, StandingOrder, StandingState
from chain.standing_orders.seal import is_sealed, is_signed
from zuno_tui.app.session import Session
from zuno_tui.gate.refusal import GateRefusedError

Page = Sequence[tuple[StandingOrder, OrderCall]]
"""What one page signs: what was asked for first."""


class NeighborFacts(NamedTuple):
    """What the chain says of the orders that stand here."""

    over: frozenset[int]
    """Numbers of those that no endpoint would take any more, whoever carries them out."""
    spans: Mapping[PositionRef, Span | None]
    """The ranges that moves leave; None where the position is gone."""


class Neighbors(NamedTuple):
    """The orders of one wallet that stand."""

    orders: tuple[KeptOrder, ...]
    network: Network
    owner: Address

    @property
    def calls(self) -> list[tuple[KeptOrder, OrderCall]]:
        found = []
        for kept in self.orders:
            with suppress(OrderRefusedError):
                found.append((kept, call_in(kept.order, self.network)))
        return [(kept, call) for kept, call in found if call.recipient == self.owner]

    def of_kind(self, kind: OrderKind, ref: PositionRef) -> list[tuple[KeptOrder, OrderCall]]:
        return [each for each in self.calls if (each[1].kind, each[1].ref) == (kind, ref)]

    @property
    def moves(self) -> list[OrderCall]:
        return [call for _, call in self.calls if call.traits.shifts]


def read_neighbors(session: Session, over: frozenset[int] = frozenset()) -> Neighbors:
    standing = StandingOrders(session.home.orders).standing_on(session.network.chain_id)
    orders = tuple(kept for kept in standing if kept.order.number not in over)
    return Neighbors(orders, session.network, session.address)


async def read_facts(
    session: Session, sources: Sources, clients: Sequence[RpcClient], refs: Iterable[PositionRef]
) -> NeighborFacts:
    """Of another machine's orders nothing is written down here, so the chain is asked."""
    neighbors, over = read_neighbors(session), set[int]()
    for kept, call in neighbors.calls:
        if is_signed(kept.order) and all(
            [await _is_over(client, kept.order, call) for client in clients]
        ):
            over.add(kept.order.number)
    linked = {*refs, *(ref for call in neighbors.moves for ref in _ends(call))}
    head = await sources.client.head()
    positions = await read_positions(
        sources.client, sources.network, sources.memory, tuple(linked), at=head.hash
    )
    spans = {ref: span_of(positions[ref]) if ref in positions else None for ref in linked}
    return NeighborFacts(frozenset(over), spans)


async def _is_over(client: RpcClient, order: StandingOrder, call: OrderCall) -> bool:
    signed, head = order.delegation_signed, await client.head()
    words = await client.together(
        requests.call(DELEGATION_MANAGER, ask_disabled(signed), head.hash),
        requests.call(NONCES, ask_nonce(signed.delegator), head.hash),
        requests.call(LIMITED_CALLS, ask_count(signed), head.hash),
    )
    disabled, nonce, used = (int.from_bytes(word, "big") for word in words)
    late = head.timestamp >= call.until
    return bool(disabled) or nonce != call.nonce or used >= call.times or late


def _ends(call: OrderCall) -> Iterator[PositionRef]:
    yield call.ref
    if call.target is not None:
        yield call.target


def covers(order: StandingOrder, call: OrderCall, other: StandingOrder, until: int) -> bool:
    """Whether a close does at any larger size what another one does, for as long."""
    return (
        call.traits.takes
        and order.size is not UNSET
        and order.condition == other.condition
        and order.hold_seconds <= other.hold_seconds
        and order.delegation_signed.delegate == other.delegation_signed.delegate
        and call.until >= until
    )


def replaced_by(
    kept: KeptOrder, call: OrderCall, orders: Iterable[KeptOrder], network: Network
) -> int | None:
    """The number of the order that closes a position at any larger size as this one did, and
    stands or has done so; None where there is none."""
    standing = tuple(
        each
        for each in orders
        if (each.stands or each.progress.state is StandingState.DONE) and is_signed(each.order)
    )
    closes = Neighbors(standing, network, call.recipient).of_kind("close", call.ref)
    return next(
        (
            other.order.number
            for other, by in closes
            if is_sealed(other.order, by) and covers(other.order, by, kept.order, call.until)
        ),
        None,
    )


def closes_to_copy(
    neighbors: Neighbors, ref: PositionRef, *, outgrown: bool
) -> list[tuple[KeptOrder, OrderCall]]:
    """Of each close that stands one; of those that the position would outgrow alone, if so
    asked."""
    closes = neighbors.of_kind("close", ref)
    found: list[tuple[KeptOrder, OrderCall]] = []
    for kept, call in closes:
        if kept.order.size is not UNSET:
            if not outgrown:
                found.append((kept, call))
        elif not any(covers(other.order, by, kept.order, call.until) for other, by in closes):
            found.append((kept, call))
    return found


def refuse_company(
    kind: OrderKind, ref: PositionRef, key: Address | None, neighbors: Neighbors
) -> None:
    """What cannot be ordered beside what stands, whatever its terms are, and whatever its key is
    where none is given."""
    if kind in ("compound", "move", "follow"):
        _refuse_odd_files(ref, neighbors)
    _REFUSALS.get(kind, _refuse_nothing)(ref, neighbors)
    if kind in ("compound", "follow"):
        for kept, _ in closes_to_copy(neighbors, ref, outgrown=kind == "compound"):
            delegate = kept.order.delegation_signed.delegate
            if delegate != (key or delegate):
                raise GateRefusedError(
                    f"Close {kept.order.number} is carried out by another key "
                    f"({checksum(delegate)}): name the same one with --by, or cancel it first: "
                    f"zuno order cancel {kept.order.number}"
                )


def _refuse_odd_files(ref: PositionRef, neighbors: Neighbors) -> None:
    """What its owner did not sign is not signed for them as part of another page."""
    for kept in neighbors.orders:
        order, target, sealed = kept.order, None, False
        with suppress(OrderRefusedError):
            call = call_in(order, neighbors.network)
            target, sealed = call.target, is_sealed(order, call)
        genuine = is_signed(order)
        if (genuine and sealed) or ref not in (position_in(order.delegation_signed), target):
            continue
        number = order.number
        does = (
            f"cancel it: zuno order cancel {number}"
            if genuine
            else "cancel every order, zuno order cancel all, and remove that file"
        )
        raise GateRefusedError(
            f"orders/{number}.json, an order for {position_label(ref)}, does not say what was "
            f"signed. Put its copy back, or {does}. Then ask again."
        )


def _refuse_nothing(_ref: PositionRef, _neighbors: Neighbors) -> None:
    """Collecting changes nothing that another order is about."""


def _refuse_close(ref: PositionRef, neighbors: Neighbors) -> None:
    moves = (*neighbors.of_kind("move", ref), *neighbors.of_kind("follow", ref))
    for kept, _ in moves:
        raise GateRefusedError(
            f"Order {kept.order.number} moves {position_label(ref)} to another number, "
            "which this close would not cover. Cancel it first, then sign both: zuno order cancel "
            f"{kept.order.number}"
        )
    for kept, call in neighbors.calls:
        if call.target == ref:
            raise GateRefusedError(
                f"Order {kept.order.number} moves {position_label(call.ref)} into "
                f"{position_label(ref)}, and a close of it as it is now would not fit then. Cancel "
                "the move first, close the position that moves, then sign the move again: zuno "
                f"order cancel {kept.order.number}"
            )


def _refuse_compound(ref: PositionRef, neighbors: Neighbors) -> None:
    if neighbors.of_kind("close", ref) and neighbors.of_kind("follow", ref):
        raise GateRefusedError(_GROWS_BEHIND.format(position_label(ref)))


def _refuse_move(ref: PositionRef, neighbors: Neighbors) -> None:
    for kept, _ in neighbors.of_kind("close", ref):
        raise GateRefusedError(
            f"Order {kept.order.number} closes {position_label(ref)}, and would not "
            "know the position that a move makes. With --follow 1 it goes into one that is "
            "there, and the same page signs what closes that."
        )


def _refuse_follow(ref: PositionRef, neighbors: Neighbors) -> None:
    closes = neighbors.of_kind("close", ref)
    for kept, _ in closes:
        number, condition = kept.order.number, kept.order.condition
        if isinstance(condition, OutOfRange):
            raise GateRefusedError(
                f"Order {number} closes {position_label(ref)} out of its range, which is where "
                f"every move leaves it. Cancel it first: zuno order cancel {number}"
            )
        if isinstance(condition, LossOver):
            raise GateRefusedError(
                f"Order {number} closes {position_label(ref)} by its loss, which every move "
                f"counts from zero again. Cancel it first: zuno order cancel {number}"
            )
    if closes and neighbors.of_kind("compound", ref):
        raise GateRefusedError(_GROWS_BEHIND.format(position_label(ref)))


_GROWS_BEHIND = (
    "What is compounded into {} would stay there after a move, and nothing would close it. Cancel "
    "its compound or its moves first: zuno orders"
)
_REFUSALS = {
    "close": _refuse_close,
    "compound": _refuse_compound,
    "move": _refuse_move,
    "follow": _refuse_follow,
}


def refuse_page(page: Page, neighbors: Neighbors, facts: NeighborFacts) -> None:
    """The same with the terms of what is about to be signed."""
    _refuse_beside(page, neighbors)
    if page[0][1].traits.shifts:
        shifts = [each for _, each in page if each.traits.shifts]
        refuse_far(ticks_moved(page[0][1].ref, [*neighbors.moves, *shifts], facts.spans))


def refuse_import(page: Page, here: Sequence[KeptOrder], network: Network) -> None:
    """The same of orders that were signed elsewhere and are to stand here, too, as far as they and
    their neighbors tell it: each with what came with it and is about the same positions."""
    calls = [call for _, call in page]
    for order, call in page:
        if call.kind == "close" and order.size == "filled":
            continue  # it goes with the moves that fill its position
        refs = _linked(call.ref, [each for each in calls if each.traits.shifts])
        others = [pair for pair in page if pair[0] is not order and pair[1].ref in refs]
        _refuse_beside([(order, call), *others], Neighbors(tuple(here), network, call.recipient))


def _refuse_beside(page: Page, neighbors: Neighbors) -> None:
    order, call = page[0]
    refuse_company(call.kind, call.ref, order.delegation_signed.delegate, neighbors)
    label = position_label(call.ref)
    if call.kind == "close" and order.size is UNSET:
        for kept, _ in neighbors.of_kind("compound", call.ref):
            raise GateRefusedError(
                f"Order {kept.order.number} compounds into {label}, and this close fits the size "
                "that it has now. Ask for it again."
            )
    targets = [each.target for _, each in page if each.target is not None]
    for kept, other in neighbors.calls:
        if other.target in targets:
            raise GateRefusedError(
                f"Order {kept.order.number} moves {position_label(other.ref)} into one of the same "
                "positions. Ask again."
            )
    if call.kind in ("compound", "follow"):
        places = targets or [call.ref]
        for kept, close in closes_to_copy(neighbors, call.ref, outgrown=not targets):
            signed = {each.ref for by, each in page if covers(by, each, kept.order, close.until)}
            if not signed >= {*places}:
                raise GateRefusedError(
                    f"Order {kept.order.number} closes {label}, and nothing on this page would "
                    "close what is made of it. Ask again."
                )


def refuse_far(ticks: int) -> None:
    if ticks > MOST_TICKS:
        raise GateRefusedError(
            f"Moves of one position may add up to {MOST_TICKS} ticks, about 4%, and this makes "
            f"{ticks}. Ask for fewer, or cancel one: zuno orders"
        )


def _linked(ref: PositionRef, moves: Sequence[OrderCall]) -> set[PositionRef]:
    """A position, and those that moves lead from or to."""
    refs, grew = {ref}, True
    while grew:
        linked = {each for call in moves if refs & {*_ends(call)} for each in _ends(call)}
        grew, refs = not linked <= refs, refs | linked
    return refs


def ticks_moved(
    ref: PositionRef, moves: Sequence[OrderCall], spans: Mapping[PositionRef, Span | None]
) -> int:
    """By how much moves shift a position, and whatever they make of it."""
    refs, ticks = _linked(ref, moves), 0
    for call in moves:
        if call.ref not in refs or call.entry is None or call.entry.span is None:
            continue
        if call.ref not in spans:
            raise GateRefusedError("Another move was signed meanwhile. Ask for this one again.")
        span = spans[call.ref]
        ticks += 0 if span is None else abs(call.entry.span.tick_lower - span.tick_lower)
    return ticks
