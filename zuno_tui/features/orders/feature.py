"""Standing orders, as the rest of the app finds them."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from zuno_tui.app.feature import EndedOrder, PlanFlow
from zuno_tui.desk.feature import DeskFeature, DeskPart
from zuno_tui.features.orders.intents import (
    OrderClose,
    OrderCollect,
    OrderCompound,
    OrderForm,
    OrderMove,
)
from zuno_tui.present.attachment import Attachment

if TYPE_CHECKING:
    from textual.screen import Screen

    from agents.monitor.heartbeat import Note
    from agents.monitor.rules.features import FeatureAlert, FeatureNews
    from chain.base.home import Home
    from chain.contracts.networks import Network
    from chain.positions.overview import Overview, Sources
    from chain.protocols.reference import PositionRef
    from zuno_tui.app.session import Session, SettingsSource
    from zuno_tui.desk.approvals import EmbeddedMarket
    from zuno_tui.desk.card import Card
    from zuno_tui.desk.context import DeskContext
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.link import DeskLink
    from zuno_tui.desk.questions import Questions

_ATTACHED = "orders"


def _plan_flow() -> PlanFlow:
    from zuno_tui.features.orders.answers import apply_run, refuse_replay, show_plan, shown_again

    return PlanFlow("chain.standing_orders", show_plan, shown_again, apply_run, refuse_replay)


async def _attached(
    session: Session, _sources: Sources, overviews: Sequence[Overview]
) -> Attachment:
    if not session.home.orders.exists():
        return Attachment(_ATTACHED, (), [])
    from chain.standing_orders.book import StandingOrders
    from chain.standing_orders.call import OrderRefusedError, call_in
    from zuno_tui.features.orders.carrier import carrier_words
    from zuno_tui.features.orders.list_page import order_row
    from zuno_tui.features.orders.page import attached_line
    from zuno_tui.present.document import document

    shown = {position.ref for overview in overviews for position in overview.wallet.positions}
    calls = []
    for kept in StandingOrders(session.home.orders).standing_on(session.network.chain_id):
        with suppress(OrderRefusedError):
            calls.append((kept, call_in(kept.order, session.network)))
    mine = [(kept, call) for kept, call in calls if call.ref in shown]
    watch = carrier_words(session.home) if mine else ""
    return Attachment(
        _ATTACHED,
        (*(attached_line(kept, call) for kept, call in mine), *filter(None, (watch,))),
        [document(order_row(kept, call, looked_at=kept.progress.looked_at)) for kept, call in mine],
    )


def _outlives(session: Session, ref: PositionRef) -> tuple[str, ...]:
    if not session.home.orders.exists():
        return ()
    from chain.protocols.reference import position_label
    from chain.standing_orders.book import StandingOrders

    standing = StandingOrders(session.home.orders).of_position(session.network.chain_id, ref)
    return tuple(
        f"Order {kept.order.number} is signed for {position_label(ref)} and fits it no more once "
        f"it is changed or closed. Cancel it on chain: zuno order cancel {kept.order.number}"
        for kept in standing
    )


def _notes(session: Session) -> Mapping[PositionRef, str]:
    if not session.home.orders.exists():
        return {}
    from chain.standing_orders.book import StandingOrders
    from chain.standing_orders.call import OrderRefusedError, call_in
    from zuno_tui.features.orders.page import order_note

    found: dict[PositionRef, str] = {}
    for kept in StandingOrders(session.home.orders).standing_on(session.network.chain_id):
        with suppress(OrderRefusedError):
            call = call_in(kept.order, session.network)
            before, note = found.get(call.ref), order_note(kept.order, call)
            found[call.ref] = f"order {note}" if before is None else f"{before}, {note}"
    return found


def _ended_with(session: Session, ref: PositionRef) -> tuple[EndedOrder, ...]:
    if not session.home.orders.exists():
        return ()
    from chain.standing_orders.book import StandingOrders
    from chain.standing_orders.call import subject_in
    from chain.standing_orders.kinds import TRAITS

    standing = StandingOrders(session.home.orders).of_position(session.network.chain_id, ref)
    return tuple(
        EndedOrder(
            kept.order.delegation_signed,
            f"Order {kept.order.number} is cancelled with it: what it promises fits no more. "
            "Sign a new one afterwards.",
        )
        for kept in standing
        # What is collected fits a position of any size.
        if kept.order.delegation_signed.delegator == session.address
        and (subject := subject_in(kept.order.delegation_signed)) is not None
        and TRAITS[subject[0]].sized
    )


def _desk_part(
    context: DeskContext, market: EmbeddedMarket | None, questions: Questions, card: Card
) -> DeskPart:
    from zuno_tui.features.orders.desk_part import Orders

    return Orders(context, market, questions, card)


def _screen_for(event: Event, link: DeskLink, _clock: Callable[[], float]) -> Screen[None] | None:
    from zuno_tui.features.orders.events import OrderFormReady

    if not isinstance(event, OrderFormReady):
        return None
    from zuno_tui.features.orders.screen import OrderFormScreen

    return OrderFormScreen(link, event)


def _alerts() -> Mapping[str, FeatureAlert]:
    from zuno_tui.features.orders.alert_kinds import ALERTS

    return ALERTS


def _news(home: Home, network: Network) -> Sequence[FeatureNews]:
    if not home.orders.exists():
        return ()
    from zuno_tui.features.orders.news import order_news

    return order_news(home, network, time.time())


def _keeping(
    chosen: SettingsSource, tell: Callable[[Note], None]
) -> Coroutine[None, None, None] | None:
    """Nothing of keys is loaded for a home that has no orders."""
    if not chosen.home.orders.exists():
        return None
    import asyncio

    from zuno_tui.features.orders.keeper import OrderKeeper
    from zuno_tui.features.orders.stop_word import listen

    async def keep() -> None:
        await asyncio.gather(OrderKeeper(chosen, tell).run(), listen(chosen))

    return keep()


def _carried_by(home: Home) -> str:
    if not home.orders.exists():
        return ""
    from zuno_tui.features.orders.carrier import carrier_words

    return carrier_words(home)


def _obeys(home: Home, words: str) -> str:
    if not home.orders.exists():
        return ""
    from zuno_tui.features.orders.stop_word import obey_stop

    return obey_stop(home, words)


async def _scored(session: Session, sources: Sources) -> Attachment:
    if not session.home.orders.exists():
        return Attachment(_ATTACHED)
    from zuno_tui.features.orders.what_if import scored_orders

    return await scored_orders(session, sources)


FEATURE = DeskFeature(
    name="orders",
    flow="orders",
    plan_flow=_plan_flow,
    intents=(OrderClose, OrderCollect, OrderCompound, OrderMove, OrderForm),
    desk_part=_desk_part,
    screen_for=_screen_for,
    attachment=_ATTACHED,
    attached=_attached,
    outlives=_outlives,
    notes=_notes,
    ended_with=_ended_with,
    alerts=_alerts,
    news=_news,
    obeys=_obeys,
    scored=_scored,
    beside_watch=_keeping,
    carried_by=_carried_by,
)
