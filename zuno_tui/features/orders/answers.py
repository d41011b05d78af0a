"""The commands of standing orders: propose, sign, list, cancel, carry from machine to machine."""

import asyncio
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from agents.bus.plan_store import DamagedPlanError
from agents.bus.replay import Record
from chain.execution.plan.requests import CancelOrdersRequest, CollectRequest
from chain.positions.overview import Sources, tokens_at
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.rpc.errors import RpcError
from chain.standing_orders.book import (
    KeptOrder,
    MachineRole,
    StandingOrders,
    StandingOrdersError,
    order_file,
    read_order,
)
from chain.standing_orders.call import OrderRefusedError, call_in
from chain.standing_orders.order import StandingOrder
from chain.standing_orders.seal import fault_of, is_signed
from chain.tokens.pair import pair_of
from chain.wallet.files import read_bounded, write_once
from chain.wallet.keystore import open_signer
from chain.wallet.watch_key import watch_key
from zuno_tui.app.confirming import may_have_sent, require_typed
from zuno_tui.app.feature import RunAgain
from zuno_tui.app.market import hold_for_approvals, let_go_of_approval
from zuno_tui.app.session import Session, say
from zuno_tui.app.wallet_secrets import ask_passphrase
from zuno_tui.features.orders.carrier import OTHER_GOES_ON, carrier_words, read_carrier
from zuno_tui.features.orders.intents import OrderAsked, OrderNumber, OrderPlaces
from zuno_tui.features.orders.keeper import OrderWork
from zuno_tui.features.orders.list_page import (
    OrderList,
    PriceOfOrder,
    order_row,
    orders_page,
    price_of_order,
)
from zuno_tui.features.orders.neighbors import refuse_company, refuse_import
from zuno_tui.features.orders.page import headline, order_view
from zuno_tui.features.orders.planning import move_spans, order_request
from zuno_tui.features.orders.signing import (
    OrderDraft,
    order_form,
    propose_order,
    sign_orders,
    stand_words,
    waiting_order,
)
from zuno_tui.features.orders.terms import CLOSE_USAGE, COLLECT_USAGE
from zuno_tui.features.orders.what_if import ClosedOrder, what_if
from zuno_tui.features.orders.witnesses import Witnesses
from zuno_tui.gate.actions.action import Action, owned_position, read_wallet
from zuno_tui.gate.actions.position import action_for
from zuno_tui.gate.apply import WORD
from zuno_tui.gate.drift import network_now
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.worth import read_worth
from zuno_tui.present.answer import CommandAnswer, print_answer
from zuno_tui.present.approval_view import signing_key
from zuno_tui.present.document import document, parts
from zuno_tui.present.exit_codes import DONE
from zuno_tui.present.output import Json
from zuno_tui.present.receipt_lines import page_text, receipt_document
from zuno_tui.present.views import ApprovalView
from zuno_tui.settings import SettingsError


async def propose_and_answer(session: Session, asked: OrderAsked) -> CommandAnswer:
    answer = _waiting_answer(session, await propose_order(session, asked))
    await hold_for_approvals(session)
    return answer


async def form_facts(session: Session, ref: PositionRef) -> CommandAnswer:
    form = await order_form(session, ref)
    return CommandAnswer(
        (f"{position_label(ref)} {form.pair}: {form.facts}",),
        {"tokenId": position_name(ref), **parts(form, "price", "low", "high")},
        remarks=(
            f"zuno order close {position_name(ref)} WHEN. {CLOSE_USAGE}",
            f"zuno order collect {position_name(ref)} WHEN. {COLLECT_USAGE}",
        ),
    )


async def shown_again(session: Session, plan_id: str | None) -> CommandAnswer:
    return _waiting_answer(session, await waiting_order(session, plan_id))


def show_plan(session: Session, plan_id: str | None) -> CommandAnswer:
    return asyncio.run(shown_again(session, plan_id))


async def refuse_replay(_record: Record) -> RunAgain:
    raise DamagedPlanError("An order has no debate to replay.")


def apply_run(session: Session, arguments: Namespace) -> int:
    """Signed by the typed word; nothing is sent by that."""
    draft = asyncio.run(waiting_order(session, arguments.plan_id))
    for line in page_text(_view(session, draft)):
        say(line)
    if arguments.confirm is None:
        require_typed(WORD, f"Type {WORD} to sign this order: ")
    elif arguments.confirm != draft.hash:
        raise GateRefusedError(f"What waits to be signed has another hash: {draft.hash}")
    with (
        open_signer(
            session.home,
            session.network,
            session.address,
            lambda wallet: ask_passphrase(wallet.name, arguments.passphrase_file),
            session.devices,
            asking=say,
        ) as signer,
        may_have_sent("zuno orders"),
    ):
        # A word and a passphrase take their time, and the chain does not wait for them.
        draft = asyncio.run(waiting_order(session, draft.plan_id))
        orders = sign_orders(session, draft, signer.sign_delegation)
        asyncio.run(let_go_of_approval(session, draft.hash))
        order = orders[0]
        answer = CommandAnswer(
            (f"{stand_words(orders)}: {headline(order, draft.call)}.",),
            {
                "number": order.number,
                "numbers": sorted(each.number for each in orders),
                "planId": draft.plan_id,
                "watchKey": order.delegation_signed.delegate,
            },
            remarks=(
                "It is carried out by whichever machine has its watch key and runs zuno or zuno "
                f"monitor. See it: zuno orders. End it: zuno order cancel {order.number}",
            ),
        )
        return print_answer(answer, as_json=session.as_json)


def _view(session: Session, draft: OrderDraft) -> ApprovalView:
    key = signing_key(session.home, session.network, session.address)
    return order_view(draft, key, carrier_words(session.home))


def _waiting_answer(session: Session, draft: OrderDraft) -> CommandAnswer:
    view = _view(session, draft)
    return CommandAnswer(
        tuple(page_text(view)),
        {
            **parts(draft, "plan_id", "hash", "endpoints"),
            **parts(draft.call, "recipient", "until", "times"),
            "least": [str(amount) for amount in draft.call.least],
            "headline": headline(draft.order, draft.call),
            "watchKey": draft.order.delegation_signed.delegate,
            "besides": [
                headline(order, call)
                for order, call in zip(draft.orders[1:], draft.calls[1:], strict=True)
            ],
            "effects": None if draft.effects is None else document(draft.effects),
            "receipt": receipt_document(view),
            "expiresAt": draft.approval.expires_at,
        },
        remarks=(
            "Nothing is signed yet; this stands for ten minutes. To sign it: "
            f"zuno apply {draft.plan_id}",
        ),
    )


async def list_orders(session: Session, what: str | None) -> CommandAnswer:
    book = StandingOrders(session.home.orders)
    match what:
        case "stop":
            book.stop()
        case "go":
            book.go_on()
        case "first" | "standby":
            book.take_role(MachineRole(what))
        case _:
            pass
    listed, unread = await _looked_at(session, book)
    remarks = [*unread]
    remarks += [f"{path} cannot be read, and is not carried out." for path in book.damaged_files]
    if not listed.confirmed:
        remarks.append("The chain could not be asked: this is what the files say, unconfirmed.")
    if listed.stopped:
        remarks.append(
            "This machine carries out no order until: zuno orders go. What was signed stays valid "
            "on chain; cancel it there: zuno order cancel all"
        )
        if book.role is not MachineRole.ALONE:
            remarks.append(OTHER_GOES_ON)
    return CommandAnswer((), document(listed), view=orders_page(listed), remarks=tuple(remarks))


async def _looked_at(session: Session, book: StandingOrders) -> tuple[OrderList, list[str]]:
    """What the chain has ended is listed so, whether anybody watches or not; of what was closed
    how keeping it would have done. And which files hold no order that anybody can carry out."""
    network = session.network
    mine = [kept for kept in book.all() if kept.order.chain_id == network.chain_id]
    key = watch_key(session.home, network)
    own = None if key is None else key.address
    looks = {each.order.number: each.progress.looked_at for each in mine}
    prices: dict[int, PriceOfOrder] = {}
    judged: dict[int, ClosedOrder] = {}
    now, seen = time.time(), not mine
    if mine:
        with suppress(RpcError, SettingsError):
            async with session.sources() as sources, session.connections(sources) as connections:
                work = OrderWork(book, session, Witnesses(sources, connections))
                for place, kept_order in enumerate(mine):
                    with suppress(OrderRefusedError):
                        mine[place] = await work.looked_at(kept_order)
                judged, now = await what_if(sources, mine), await network_now(sources)
                prices = await _prices(session, sources, mine)
            seen = True
    rows, unread = [], []
    for kept_order in mine:
        number = kept_order.order.number
        closed = judged.get(number)
        try:
            call = call_in(kept_order.order, network)
        except OrderRefusedError as error:
            unread.append(f"Order {number} is not carried out: {error}")
            continue
        rows.append(
            order_row(
                kept_order,
                call,
                price=prices.get(number),
                what_if=None if closed is None else closed.judgment,
                watch_key=own,
                looked_at=looks[number],
                low_key=book.low_key(network.chain_id),
            )
        )
    carrier = read_carrier(session.home, time.time())
    return OrderList(tuple(rows), book.is_stopped, seen, now, carrier), unread


async def _prices(
    session: Session, sources: Sources, kept: Sequence[KeptOrder]
) -> dict[int, PriceOfOrder]:
    """Of the orders that wait: where the price is; left out where the position is gone."""
    found = {}
    for waiting in kept:
        if waiting.stands:
            with suppress(OrderRefusedError, GateRefusedError):
                call = call_in(waiting.order, session.network)
                position = await owned_position(sources, call.ref, call.recipient, "latest")
                key = position.pool.key
                block = position.block.hash
                tokens = await tokens_at(sources, (key.currency0, key.currency1), block)
                pair = pair_of(
                    session.network,
                    tokens[key.currency0],
                    tokens[key.currency1],
                    position.pool.sqrt_price_x96,
                )
                price = price_of_order(waiting.order, pair, position)
                if price is not None:
                    found[waiting.order.number] = price
    return found


async def make_cancellation(session: Session, sources: Sources, number: OrderNumber) -> Action:
    """The transaction that has the chain refuse an order, or every order signed so far."""
    book = StandingOrders(session.home.orders)
    subject = await read_wallet(sources)
    worth = await read_worth(sources, (), subject.block)
    if number == "all":
        request, words = CancelOrdersRequest(), "Cancel every order signed so far"
    else:
        order = book.find(number).order
        call = call_in(order, session.network)
        if order.chain_id != session.network.chain_id or call.recipient != session.address:
            raise GateRefusedError(f"Order {number} is of another wallet or network.")
        request = CancelOrdersRequest((order.delegation_signed,))
        words = f"Cancel order {number}: {headline(order, call)}"
    return Action(
        f"cancel_{number}_{subject.block.number}",
        words,
        request,
        subject,
        (),
        usd_per_wei=worth.usd_per_wei,
        disputes=worth.disputes,
    )


async def make_places(session: Session, sources: Sources, asked: OrderPlaces) -> Action:
    """Positions in the ranges that moves go through, paid out of the fees: the ids they go into
    are in what is signed."""
    request = await order_request(session, sources, asked)
    # Nobody pays for ranges that no row of moves may go through.
    refuse_company("follow", asked.ref, None, request.neighbors)
    spans = tuple(await move_spans(request))
    collect = await action_for(sources, "collect", (asked.ref,), session.address)
    assert isinstance(collect.request, CollectRequest)
    count = "1 range" if len(spans) == 1 else f"{len(spans)} ranges"
    return replace(
        collect,
        headline=f"Open {count} for {position_label(asked.ref)} and collect its fees",
        request=replace(collect.request, opens=spans),
    )


async def export_orders(session: Session, number: OrderNumber, file: Path) -> CommandAnswer:
    book = StandingOrders(session.home.orders)
    if number != "all":
        write_once(file, order_file(book.find(number).order))
        words = f"Order {number} is in {file}. On the machine that watches: zuno order import FILE"
        return CommandAnswer((words,), {"number": number, "file": str(file)})
    standing = book.standing_on(session.network.chain_id)
    for kept in standing:
        write_once(file / f"{kept.order.number}.json", order_file(kept.order))
    count = "1 order is" if len(standing) == 1 else f"{len(standing)} orders are"
    words = f"{count} in {file}. On the machine that watches: zuno order import FOLDER"
    numbers: Json = [kept.order.number for kept in standing]
    return CommandAnswer((words,), {"numbers": numbers, "folder": str(file)})


async def import_orders(session: Session, file: Path) -> CommandAnswer:
    orders = [_order_in(session, path) for path in _files_in(file)]
    book, key = StandingOrders(session.home.orders), watch_key(session.home, session.network)
    page = [(order, call_in(order, session.network)) for order in orders]
    come = {order.delegation for order in orders}

    def refuse() -> None:
        standing = book.standing_on(session.network.chain_id)
        others = [each for each in standing if each.order.delegation not in come]
        refuse_import(page, others, session.network)

    kept = book.add_all(orders, before=refuse)
    others = [
        each for each in kept if key is None or key.address != each.delegation_signed.delegate
    ]
    remarks = ("It is for another watch key than this home's.",) if others else ()
    lines = tuple(
        f"Order {each.number} stands here: {headline(each, call_in(each, session.network))}."
        for each in kept
    )
    numbers: Json = [each.number for each in kept]
    told: dict[str, Json] = {"number": kept[0].number, "numbers": numbers}
    return CommandAnswer(lines, told, remarks=remarks, code=DONE)


def _files_in(place: Path) -> list[Path]:
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    if not files:
        raise StandingOrdersError(f"{place} holds no order.")
    return files


def _order_in(session: Session, file: Path) -> StandingOrder:
    """Refused where its owner did not sign it as it is."""
    order = read_order(read_bounded(file))
    if order is None:
        raise StandingOrdersError(f"{file} holds no order.")
    if order.chain_id != session.network.chain_id:
        raise StandingOrdersError(
            f"The order is of chain {order.chain_id}, and this is {session.network.title}. "
            "Name its network: --network NAME"
        )
    call = call_in(order, session.network)
    if not is_signed(order):
        raise StandingOrdersError(f"{file} holds an order that its owner has not signed.")
    if fault := fault_of(order, call):
        raise StandingOrdersError(f"{file} is not taken. {fault}")
    return order
