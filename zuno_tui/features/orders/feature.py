"""Standing orders, as the rest of the app finds them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from zuno_tui.catalog.feature import Attachment, DeskPart, EndedOrder, Feature, PlanFlow
from zuno_tui.features.orders.intents import OrderClose, OrderCollect

if TYPE_CHECKING:
    from textual.screen import Screen

    from agents.monitor.heartbeat import Note
    from agents.monitor.poll import FeatureNews
    from chain.base.home import Home
    from chain.contracts.networks import Network
    from chain.contracts.signed_delegation import SignedDelegation
    from chain.positions.overview import Overview, Sources
    from zuno_tui.app.session import Session
    from zuno_tui.app.watchlist import SettingsSource
    from zuno_tui.desk.approvals import EmbeddedMarket
    from zuno_tui.desk.context import DeskContext
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.thread import DeskLink

_ATTACHED = "orders"


def _plan_flow() -> PlanFlow:
    from zuno_tui.features.orders.answers import apply_run, refuse_replay, shown, shown_again

    return PlanFlow("chain.standing_orders", shown, shown_again, apply_run, refuse_replay)


async def _attached(
    session: Session, _sources: Sources, overviews: Sequence[Overview]
) -> Attachment:
    if not session.home.orders.exists():
        return Attachment(_ATTACHED, (), [])
    from chain.standing_orders.book import StandingOrders
    from chain.standing_orders.call import OrderRefusedError, read_call
    from zuno_tui.features.orders.page import attached_line, order_document

    shown = {one.token_id for overview in overviews for one in overview.wallet.positions}
    calls = []
    for kept in StandingOrders(session.home.orders).standing(session.network.chain_id):
        with suppress(OrderRefusedError):
            calls.append((kept, read_call(kept.order.signed, session.network)))
    mine = [(kept, call) for kept, call in calls if call.token_id in shown]
    return Attachment(
        _ATTACHED,
        tuple(attached_line(kept, call) for kept, call in mine),
        [order_document(kept, session.network) for kept, _ in mine],
    )


def _outlives(session: Session, token_id: int) -> tuple[str, ...]:
    if not session.home.orders.exists():
        return ()
    from chain.standing_orders.book import StandingOrders

    standing = StandingOrders(session.home.orders).of_position(session.network.chain_id, token_id)
    return tuple(
        f"Order {one.order.number} is signed for #{token_id} and fits it no more once it is "
        f"changed or closed. Cancel it on chain: zuno order cancel {one.order.number}"
        for one in standing
    )


def _notes(session: Session) -> Mapping[int, str]:
    if not session.home.orders.exists():
        return {}
    from chain.standing_orders.book import StandingOrders
    from chain.standing_orders.call import token_in

    standing = StandingOrders(session.home.orders).standing(session.network.chain_id)
    found: dict[int, str] = {}
    for kept in standing:
        token_id = token_in(kept.order.signed)
        if token_id is not None:
            found[token_id] = "order" if token_id not in found else "orders"
    return found


def _ended_with(session: Session, token_id: int) -> tuple[EndedOrder, ...]:
    if not session.home.orders.exists():
        return ()
    from chain.standing_orders.book import StandingOrders

    standing = StandingOrders(session.home.orders).of_position(session.network.chain_id, token_id)
    return tuple(
        EndedOrder(
            one.order.signed,
            f"Order {one.order.number} is cancelled with it: what it promises fits no more. "
            "Sign a new one afterwards.",
        )
        for one in standing
        # What is collected fits a position of any size.
        if one.order.signed.delegator == session.address and _closes(one.order.signed)
    )


def _closes(signed: SignedDelegation) -> bool:
    from chain.standing_orders.call import kind_in

    return kind_in(signed) == "close"


def _desk_part(desk_context: DeskContext, market: EmbeddedMarket | None) -> DeskPart:
    from zuno_tui.features.orders.desk_part import Orders

    return Orders(desk_context, market)


def _screen_for(event: Event, link: DeskLink, clock: Callable[[], float]) -> Screen[None] | None:
    from zuno_tui.features.orders.events import OrderConfirmationAsked

    if not isinstance(event, OrderConfirmationAsked):
        return None
    from zuno_tui.features.orders.screen import OrderConfirmScreen

    return OrderConfirmScreen(link, event.approval, clock)


def _news(home: Home, network: Network) -> Sequence[FeatureNews]:
    if not home.orders.exists():
        return ()
    from zuno_tui.features.orders.news import order_news

    return order_news(home, network)


def _keeping(
    chosen: SettingsSource, tell: Callable[[Note], None]
) -> Coroutine[None, None, None] | None:
    """Nothing of keys is loaded for a home that has no orders."""
    if not chosen.home.orders.exists():
        return None
    from zuno_tui.features.orders.keeper import OrderKeeper

    return OrderKeeper(chosen, tell).run()


FEATURE = Feature(
    name="orders",
    flow="orders",
    plan_flow=_plan_flow,
    intents=(OrderClose, OrderCollect),
    desk_part=_desk_part,
    screen_for=_screen_for,
    attachment=_ATTACHED,
    attached=_attached,
    outlives=_outlives,
    notes=_notes,
    ended_with=_ended_with,
    news=_news,
    beside_watch=_keeping,
)
