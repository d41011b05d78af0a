"""`zuno order close|collect|compound|move ID WHEN`, `order cancel N|all`, `order export|import`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zuno_tui.app.feature import ActionMaker
from zuno_tui.catalog.command import Command, Group, Verb, of_selected, with_positions
from zuno_tui.features import orders
from zuno_tui.features.orders.intents import (
    CancelOrders,
    ExportOrder,
    ImportOrder,
    ListOrders,
    OrderAsked,
    OrderClose,
    OrderCollect,
    OrderCompound,
    OrderForm,
    OrderMove,
    OrderPlaces,
    read_order_number,
)
from zuno_tui.intents.intent import Intent

if TYPE_CHECKING:
    from zuno_tui.app.session import Session
    from zuno_tui.intents.remaining import Remaining


def _cancel(session: Session, intent: CancelOrders) -> ActionMaker:
    from zuno_tui.features.orders.answers import make_cancellation

    return lambda sources: make_cancellation(session, sources, intent.number)


def _open_places(session: Session, intent: OrderPlaces) -> ActionMaker:
    from zuno_tui.features.orders.answers import make_places

    return lambda sources: make_places(session, sources, intent)


_KINDS: dict[str, type[OrderAsked]] = {
    "close": OrderClose,
    "collect": OrderCollect,
    "compound": OrderCompound,
    "move": OrderMove,
}


def _read_cancel(said: Remaining) -> CancelOrders:
    words = said.text.strip().lower().removeprefix("#") or "all"
    if words != "all" and not (words.isascii() and words.isdigit()):
        said.refuse("which order: one number, like 3, or all.", "orders")
    return CancelOrders(read_order_number(words))


def _read_cancel_order(said: Remaining) -> CancelOrders | ListOrders:
    """Said of one order: which one is never guessed, so without its number they are shown."""
    return _read_cancel(said) if said.text.strip().isdigit() else ListOrders()


def _read(said: Remaining) -> Intent:
    if said.one_of({"cancel": True}):
        return _read_cancel(said)
    kind = said.one_of(_KINDS)
    said.one_of({"form": True})
    ref = said.position() if said else said.restart("it").position()
    words = tuple(said.text.split())
    if kind is None and not words:
        return OrderForm(ref)
    return (kind or OrderClose)(ref, words)


COMMAND = Command(
    name="order",
    does="sign an order that closes, collects, compounds or moves while you sleep",
    examples=(
        "zuno order close 28 below 2900 until 1 Dec",
        "zuno order close 28 out-of-range 2h",
        "zuno order collect 28 every 7d over $50 times 4",
        "zuno order compound 28 every 7d times 4",
        "zuno order move 28 up to 3400",
        "zuno order cancel all",
    ),
    group=Group.ACTING,
    needs_subcommand=True,
    verbs=(
        Verb(
            "order",
            _read,
            "order close ID below PRICE",
            names="positions",
            money=True,
            possible=with_positions,
        ),
        Verb(
            "cancel order",
            _read_cancel_order,
            does="cancel a signed order on chain",
            spoken=("cancel my order", "cancel the order", "delete order", "remove order"),
            money=True,
        ),
        Verb(
            "cancel orders",
            _read_cancel,
            does="cancel every signed order on chain",
            spoken=("cancel my orders", "cancel all orders", "cancel all my orders"),
            money=True,
        ),
    ),
    suggest=of_selected(OrderForm),
    subcommands=(
        Command(
            does="close a position when a condition holds",
            group=Group.ACTING,
            intent=OrderClose,
            answer=lambda session, intent: orders.answers.propose_and_answer(session, intent),
        ),
        Command(
            does="collect its fees repeatedly",
            group=Group.ACTING,
            intent=OrderCollect,
            answer=lambda session, intent: orders.answers.propose_and_answer(session, intent),
        ),
        Command(
            does="add its fees to it repeatedly",
            group=Group.ACTING,
            intent=OrderCompound,
            answer=lambda session, intent: orders.answers.propose_and_answer(session, intent),
        ),
        Command(
            does="move its range after the price, without a swap",
            group=Group.ACTING,
            intent=OrderMove,
            answer=lambda session, intent: orders.answers.propose_and_answer(session, intent),
        ),
        Command(
            does="open the ranges that moves in a row go through",
            group=Group.ACTING,
            intent=OrderPlaces,
            action=_open_places,
        ),
        Command(
            does="what an order would depend on; at the desk, a form",
            group=Group.ACTING,
            intent=OrderForm,
            answer=lambda session, intent: orders.answers.form_facts(session, intent.ref),
        ),
        Command(
            does="cancel an order on the chain, or all of them",
            group=Group.ACTING,
            intent=CancelOrders,
            action=_cancel,
        ),
        Command(
            does="write orders into files, for the machine that watches",
            group=Group.ACTING,
            intent=ExportOrder,
            answer=lambda session, intent: orders.answers.export_orders(
                session, intent.number, intent.file
            ),
            reaches_network=False,
        ),
        Command(
            does="add orders from a file or a folder",
            group=Group.ACTING,
            intent=ImportOrder,
            answer=lambda session, intent: orders.answers.import_orders(session, intent.file),
            reaches_network=False,
        ),
    ),
)
