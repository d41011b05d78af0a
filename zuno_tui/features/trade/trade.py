"""The trade desk on the command line: argue, approve, apply, and tell how trades stand."""

import asyncio
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import ceil

from msgspec import to_builtins
from msgspec.structs import replace

from agents.bus.plan_store import PlanDocument
from agents.trade.facts import HedgeFacts
from agents.trade.plan import TradePlan
from agents.trade.terms import TradeMode
from chain.base.units import usd
from chain.exchange.orders.ccxt_client import VenuePackageError
from chain.exchange.orders.engine import OrderNotice
from chain.exchange.orders.hedge import PositionHedge
from chain.exchange.orders.journal import TradeJournal
from chain.exchange.orders.order import OrderProgress, OrderState, PerpetualPosition
from chain.exchange.orders.venue import AccountCheck, Venue
from chain.exchange.public.market import contract_symbol
from chain.positions.overview import OnePosition, Sources, read_overview
from chain.prices.market_http import MarketError
from chain.protocols.reference import PositionRef
from chain.wallet.errors import WalletError
from zuno_tui.app.confirming import may_have_sent, require_typed
from zuno_tui.app.session import Session, say
from zuno_tui.features.trade.drawing import is_paper, rest_lines, venue_words
from zuno_tui.features.trade.gate import (
    ApprovedTrade,
    Trading,
    agree,
    apply_trade,
    approve_trade,
    journal_coins,
    refuse_anyway,
    waiting_trade,
)
from zuno_tui.features.trade.hedged_position import (
    hedge_legs,
    in_contracts,
    paid_in_a_day,
    read_position,
)
from zuno_tui.features.trade.hedges import (
    HedgedResult,
    hedged_document,
    hedged_lines,
    hedged_results,
    hedges_by_position,
    owned_facts,
    read_hedges,
)
from zuno_tui.features.trade.intents import Hedge, Trade
from zuno_tui.features.trade.lessons import stored_trade, trade_memory
from zuno_tui.features.trade.report import case_lines, report_files, report_lines, report_run
from zuno_tui.features.trade.run_view import (
    order_words,
    trade_answer,
    verdict,
)
from zuno_tui.features.trade.settings import TradeTable
from zuno_tui.features.trade.setups import judge_setups, setup_lines
from zuno_tui.features.trade.trading import (
    ArguedTrade,
    argue_trade,
    learn_everywhere,
    open_trading,
)
from zuno_tui.features.trade.unhedging import in_one_answer
from zuno_tui.features.trade.venue import OpenVenue, VenueUnreadError, held_elsewhere, open_venue
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.intents.intent import PositionName
from zuno_tui.present.answer import CommandAnswer, print_answer
from zuno_tui.present.charts import plain
from zuno_tui.present.document import document, parts
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.output import Json
from zuno_tui.present.receipt_lines import page_text, receipt_document
from zuno_tui.present.terminal import line_width
from zuno_tui.present.transcript import wrap_text
from zuno_tui.present.views import ApprovalView, PageWords, ReceiptLine, ReceiptView, StepView
from zuno_tui.present.words import dollar_gain

TRADE_WORD = "trade"
_PAGE_WIDTH = 110


async def argue_coin(session: Session, coin: str, asked: Trade) -> CommandAnswer:
    async with open_trading(session, coin=coin) as trading:
        if asked.anyway:
            refuse_anyway(trading.venue)
        done = await argue_trade(
            session,
            trading,
            coin,
            TradeMode(asked.mode),
            emergency=asked.emergency,
            anyway=asked.anyway,
        )
    return await _argued_answer(session, done)


async def _argued_answer(session: Session, done: ArguedTrade) -> CommandAnswer:
    if done.ended.plan is None or done.document is None:
        failure = done.ended.failure
        stage = "" if failure is None else failure.stage
        reason = "" if failure is None else failure.reason
        words = f"The desk ended at {stage}: {reason}"
        return CommandAnswer((), {"stage": stage, "reason": reason}, remarks=(words,), code=FAILED)
    await report_run(session, done.ended.plan, done.document)
    return trade_answer(done.ended.plan, done.document)


async def answer_hedge(session: Session, asked: Hedge) -> CommandAnswer:
    """What each position and its hedge have come to, and a plan that brings it to its target."""
    async with session.sources() as sources, open_trading(session) as trading:
        answers = [
            answer
            for ref in await _meant(session, sources, asked.ref)
            for answer in await _hedged(session, sources, trading, asked, ref)
        ]
    return in_one_answer(answers)


async def _meant(
    session: Session, sources: Sources, subject: PositionName
) -> tuple[PositionRef, ...]:
    """Of all, those that hold a coin."""
    if subject != "all":
        return (subject,)
    overview = await read_overview(sources, session.address, session.settings.unit)
    found = []
    for snapshot in overview.wallet.positions:
        with suppress(GateRefusedError):
            if any(leg.delta for leg in hedge_legs(session.network, snapshot, overview.tokens)):
                found.append(snapshot.ref)
    if not found:
        raise GateRefusedError("No position here holds a coin. See them: zuno positions")
    return tuple(found)


async def _hedged(
    session: Session, sources: Sources, trading: Trading, asked: Hedge, ref: PositionRef
) -> tuple[CommandAnswer, ...]:
    """A plan for each coin it holds; before the first, what its hedges have come to."""
    position = await read_position(session, sources, ref)
    chain_id = session.network.chain_id
    hedges = await read_hedges(trading.journal, trading.venue)
    own = hedges_by_position(hedges, chain_id).get(ref, ())
    opened = OpenVenue(trading.market, trading.venue, trading.journal, trading.fees)
    results = await hedged_results(opened, sources, position.snapshot, position.tokens, own)
    answers = []
    for facts in await _legs(session, sources, trading, asked, position):
        done = await argue_trade(
            session, trading, facts.coin, TradeMode(asked.mode), facts, emergency=asked.emergency
        )
        answers.append(await _argued_answer(session, done))
    told = tuple(zip(own, results, strict=True))
    return (_with_results(answers[0], told), *answers[1:]) if told else tuple(answers)


def _with_results(
    answer: CommandAnswer, told: tuple[tuple[PositionHedge, HedgedResult], ...]
) -> CommandAnswer:
    document = dict(answer.document) if isinstance(answer.document, dict) else {}
    documents: list[Json] = [hedged_document(hedge, result) for hedge, result in told]
    return replace(
        answer,
        lines=(*(line for pair in told for line in hedged_lines(*pair)), *answer.lines),
        document={**document, "result": documents[0] if len(documents) == 1 else documents},
    )


async def _legs(
    session: Session, sources: Sources, trading: Trading, asked: Hedge, position: OnePosition
) -> tuple[HedgeFacts, ...]:
    hedges = await read_hedges(trading.journal, trading.venue)
    found = hedge_legs(session.network, position.snapshot, position.tokens)
    legs = await in_contracts(found, trading.market)
    wanted = {"target": asked.target, "band": asked.band, **await paid_in_a_day(sources, position)}
    return tuple(
        [
            (await owned_facts(trading.venue, sources, hedges, leg)).model_copy(update=wanted)
            for leg in legs
        ]
    )


async def read_hedged(
    session: Session, sources: Sources, trading: Trading, asked: Hedge
) -> HedgeFacts:
    """The coin of the position whose hedge is off by most, with what is short for it now."""
    if asked.ref == "all":
        raise GateRefusedError("At the desk one position is hedged at a time. Name one: hedge 28")
    position = await read_position(session, sources, asked.ref)
    legs = await _legs(session, sources, trading, asked, position)
    return max(legs, key=lambda leg: leg.off_usd)


def show_trade(session: Session, plan_id: str | None) -> CommandAnswer:
    return trade_answer(*stored_trade(session, plan_id))


async def approve_stored_trade(session: Session, plan_id: str | None) -> CommandAnswer:
    plan, _ = stored_trade(session, plan_id)
    async with open_trading(session, plan) as trading:
        waiting = await approve_trade(trading, plan)
    view = approval_view(waiting)
    return CommandAnswer(
        lines=tuple(page_text(view)),
        document={
            "planId": waiting.plan.plan_id,
            "venue": waiting.plan.venue,
            **parts(waiting.approval, "hash", "expires_at"),
            "orders": [order.client_id for order in waiting.orders],
            "receipt": receipt_document(view),
        },
        remarks=(
            f"Approved for ten minutes; nothing is sent yet. To send it: zuno apply {plan.plan_id}",
        ),
    )


def apply_run(session: Session, arguments: Namespace) -> int:
    return asyncio.run(_applied(session, arguments))


_LOOK = "zuno trade status"


async def _applied(session: Session, arguments: Namespace) -> int:
    plan, document = stored_trade(session, arguments.plan_id)
    async with open_trading(session, plan) as trading:
        waiting = await waiting_trade(trading, plan, arguments.confirm)
        for line in page_text(approval_view(waiting)):
            say(line)
        if arguments.confirm is None:
            require_typed(TRADE_WORD, f"Type {TRADE_WORD} to send this to {waiting.plan.venue}: ")
            # A word takes its time, and the market does not wait for it.
            waiting = await waiting_trade(trading, plan, None)
        with may_have_sent(_LOOK):
            told: list[OrderNotice] = []
            sent = await apply_trade(trading, waiting, _telling(plan), on_notice=told.append)
            return await _told(session, plan, document, sent, told)


async def _told(
    session: Session,
    plan: TradePlan,
    stored: PlanDocument,
    sent: Sequence[OrderProgress],
    told: Sequence[OrderNotice],
) -> int:
    refused = any(order.state.value == "refused" for order in sent)
    refused = refused or any(notice.is_urgent for notice in told)
    lines = (
        *(progress_words(order, plan.coin) for order in sent),
        *(notice.words for notice in told),
    )
    await report_run(session, plan, stored, lines)
    answer = CommandAnswer(
        lines=lines,
        document={"planId": plan.plan_id, "orders": [document(order) for order in sent]},
        remarks=("See how it stands: zuno trade status",),
        code=FAILED if refused else DONE,
    )
    return print_answer(answer, as_json=session.as_json)


def _dollars(amount: float | None) -> str:
    return "unknown" if amount is None else f"${amount:,.2f}"


def _telling(plan: TradePlan) -> Callable[[OrderProgress], None]:
    """Says how each part stands where sending them takes its time."""
    if not any(order.type in ("sliced", "maker") for order in plan.orders):
        return lambda _: None
    return lambda one: say(f"  {progress_words(one, plan.coin)}")


async def status(session: Session) -> CommandAnswer:
    """The venue that is set, the one for spot where there is a second, what is left elsewhere."""
    async with open_trading(session) as trading:
        lines, document = await _standing(trading.venue, trading.journal)
    spot = session.settings.table(TradeTable).spot_venue
    if spot is not None:
        try:
            async with open_venue(session, spot) as opened:
                more, document["spot"] = await _standing(opened.venue, opened.journal)
        except (VenueUnreadError, VenuePackageError, WalletError) as error:
            more, document["spot"] = [f"{spot} cannot be read. {error}"], None
        lines += more
    left: list[Json] = []
    for name, held in held_elsewhere(session).items():
        for symbol, coins in held.items():
            left.append({"venue": name, "symbol": symbol, "quantity": coins})
            lines.append(
                f"{name}, not set any more, still holds {symbol} {coins:+g} by the journal. "
                f'To watch and close it: venue = "{name}" under [trade]'
            )
    return CommandAnswer(lines=tuple(lines), document={**document, "elsewhere": left})


async def _standing(venue: Venue, journal: TradeJournal) -> tuple[list[str], dict[str, Json]]:
    """What is held and waits on one venue."""
    account, check = await venue.account(), AccountCheck()
    with suppress(MarketError):
        held = [position.symbol for position in account.positions]
        check = await venue.check((held or [contract_symbol("ETH")])[0])
    marks = {
        position.symbol: account.marks.get(position.symbol)
        or (await venue.contracts.funding(position.symbol)).mark
        for position in account.positions
    }
    period = "" if account.days is None else f" in {account.days} days"
    lines = [
        f"{account.venue}: ${account.equity:,.2f}, fees {_dollars(account.fees)}, "
        f"funding {dollar_gain(account.funding)}{period}"
    ]
    lines += [
        f"  {_held_words(position, marks[position.symbol], spot=venue.abilities.spot)}"
        for position in account.positions
    ]
    lines += [
        f"  waiting: {progress_words(order, order.order.symbol)}" for order in account.open_orders
    ]
    if len(lines) == 1:
        lines += ["  nothing is held, nothing waits", *_last_words(journal, account.venue)]
    known = {} if venue.abilities.spot else await journal_coins(journal, venue)
    told = {position.symbol: position.quantity for position in account.positions}
    apart: list[Json] = []
    for symbol in sorted(known.keys() | told.keys() if not venue.abilities.spot else ()):
        there, sent = told.get(symbol, 0.0), known.get(symbol, 0.0)
        if not agree(there, sent):
            apart.append({"symbol": symbol, "venue": there, "journal": sent})
            lines.append(
                f"  ! {symbol}: the venue says {there:+g}, zuno's journal {sent:+g}; until they "
                "agree nothing is sent for it"
            )
    remarks = (*check.faults, *check.remarks)
    standing: dict[str, Json] = {
        **parts(account, "venue", "equity", "fees", "funding"),
        "remarks": list(remarks),
        "differences": apart,
        "positions": [
            {**to_builtins(position), "mark": marks[position.symbol]}
            for position in account.positions
        ],
        "openOrders": [document(order) for order in account.open_orders],
    }
    return [*lines, *(f"  {words}" for words in remarks)], standing


def _last_words(journal: TradeJournal, venue: str) -> Iterator[str]:
    """What became of the newest plan there, of which nothing is left."""
    answers = [
        (entry.plan_id, entry.answer)
        for entry in journal.entries()
        if entry.venue == venue and entry.answer is not None
    ]
    newest = answers[-1][0] if answers else None
    orders = [answer for plan_id, answer in answers if plan_id == newest]
    for order in [order for order in orders if order.filled] or orders[:1]:
        yield f"  last, {newest}: {progress_words(order, order.order.symbol)}"


def _held_words(position: PerpetualPosition, mark: float, *, spot: bool) -> str:
    """Coins that came from elsewhere have no price here at which they were bought."""
    quantity, entry = position.quantity, position.entry
    name = f"{position.symbol} {quantity:+g}"
    if spot:
        name = f"{quantity:g} {position.symbol.removesuffix('USDT')}"
    if not entry:
        return f"{name}, worth ${quantity * mark:,.2f}"
    end = f", liquidated at {position.liquidation:,.2f}" if position.liquidation else ""
    return f"{name} from {entry:,.2f}, {dollar_gain(quantity * (mark - entry))}{end}"


async def memory(session: Session) -> CommandAnswer:
    """Every trade that has ended and what it taught, the newest first, then all setups in sum."""
    with trade_memory(session) as kept:
        async with open_trading(session) as trading:
            await learn_everywhere(session, trading, kept)
            setups = await judge_setups(session, trading.market)
        ended = sorted(kept.all(), key=lambda lesson: lesson.time, reverse=True)
    taught = tuple(
        wrap_text(
            f"{lesson.memory_id} {_money(lesson.venue)}, {lesson.setup}: {lesson.outcome}. "
            f"{lesson.constraint}.",
            indent=2,
        )
        for lesson in ended
    ) or ("No trade of this desk has ended yet.",)
    return CommandAnswer(
        lines=(*taught, *(wrap_text(line, indent=2) for line in setup_lines(setups))),
        document={"trades": [document(lesson) for lesson in ended], "setups": to_builtins(setups)},
    )


def _money(venue: str) -> str:
    return "" if not venue else "paper" if is_paper(venue) else f"real, {venue}"


def report(session: Session) -> CommandAnswer:
    """The newest plan of the desk with everything that was said for it, and where it is kept."""
    plan, document = stored_trade(session, None)
    files = report_files(session.home, plan.plan_id)
    places = [path for path in (files.text, files.document, files.chart) if path.exists()]
    answer = trade_answer(plan, document)
    kept = ("", *(f"kept as {path}" for path in places)) if places else ()
    return CommandAnswer(
        (*report_lines(plan, document, line_width() or _PAGE_WIDTH), *kept),
        {**document, "files": [str(path) for path in places]},  # type: ignore[dict-item]
        remarks=answer.remarks,
    )


def why(session: Session) -> CommandAnswer:
    """What spoke for the newest decision, and what against it."""
    plan, _ = stored_trade(session, None)
    reasoning, conflicts = plan.reasoning, plan.conflicts
    lines = [f"{plan.plan_id} · {plan.decision.value}: {plan.reason}."]
    told = {"plan_id", "decision", "reason"}
    if reasoning is not None:
        parts = reasoning.model_dump(mode="json", by_alias=True)
        lines += [wrap_text(f"{name}: {words}", indent=2) for name, words in parts.items() if words]
        lines += [wrap_text(line, indent=2) for line in case_lines(plan)]
        told |= {"reasoning", "hold_duration", "ev_rationale", "key_factors"}
    if conflicts is not None:
        lines += [
            wrap_text(
                f"{conflict.between[0].spoken_name} against {conflict.between[1].spoken_name}: "
                f"{conflict.tiebreaker}",
                indent=2,
            )
            for conflict in conflicts.conflicts
        ]
        told.add("conflicts")
    return CommandAnswer(tuple(lines), plan.model_dump(mode="json", by_alias=True, include=told))


TRADE_PAGE = PageWords(
    doing="Send orders",
    verb="send",
    done="sent",
    asks="and press Enter to send the orders",
    confirmed="Confirmed. Looking at the market and the account again …",
    over="The approval is over. Nothing was sent. Ask for a new plan.",
    steps=("ORDERS", "each is sent once"),
    limits="with every order at the dearer fee",
    terms="ACCOUNT",
)
_BESIDE = 74
"""Cells of what stands under the orders, on a page of any width."""


def approval_view(waiting: ApprovedTrade, seconds_left: float | None = None) -> ApprovalView:
    plan, told = waiting.plan, verdict(waiting.plan)
    return ApprovalView(
        plan_id=plan.plan_id,
        headline=told.headline,
        hash=waiting.approval.hash,
        expires_at=waiting.approval.expires_at,
        seconds_left=seconds_left,
        steps=tuple(
            StepView(order.client_id, (f"sent as {order.client_id}",), order_words(each, plan.coin))
            for each, order in zip(plan.orders, waiting.orders, strict=True)
        ),
        outcome=(f"! {told.dissent}",) if told.dissent else (),
        wallet="",
        signs_with="",
        can_sign=True,
        needs_passphrase=False,
        word=TRADE_WORD,
        terms=tuple(("account", words) for words in waiting.remarks),
        receipt=_receipt(waiting),
        venue=venue_words(plan.venue),
        below=tuple(plain(line).rstrip() for line in rest_lines(told, _BESIDE)),
        page=TRADE_PAGE,
    )


def _receipt(waiting: ApprovedTrade) -> ReceiptView:
    plan, cost, profit = waiting.plan, waiting.cost, waiting.profit
    lines = [
        ReceiptLine(
            "trade",
            f"{order.side} {order.quantity:g} {plan.coin}",
            usd(order.quantity * (order.price or plan.mark)),
        )
        for order in plan.trading_orders
    ]
    if profit is not None:
        words = "of what is closed, at the price now, before fees"
        lines.append(ReceiptLine("result", words, dollar_gain(profit)))
    lines += [
        ReceiptLine("fees", "of the venue", usd(cost.expected)),
        ReceiptLine("pay", "", usd(cost.expected)),
        ReceiptLine(
            "bound",
            f"of fees, before the exit, filled at {cost.highest:,.2f} or less",
            f"≤ {usd(ceil(100 * cost.most) / 100)}",
            "worst case",
        ),
        *_stop_line(waiting),
    ]
    return ReceiptView(
        tuple(lines),
        swap_cost=cost.expected,
        network_cost=0.0,
        most_cost=cost.most,
        profit=profit,
    )


def _stop_line(waiting: ApprovedTrade) -> Iterator[ReceiptLine]:
    """What a trade loses that is stopped out, by its own prices."""
    plan = waiting.plan
    if plan.stop is None or plan.entry is None:
        return
    lost = plan.quantity * (plan.entry - plan.stop) * plan.decision.sign
    # The way out pays the dearer fee again.
    total = lost + waiting.cost.expected + waiting.cost.most
    words = "lost, both fees included; more where the price jumps past it"
    yield ReceiptLine("bound", words, f"−{usd(total)}", "at the stop")


def progress_words(progress: OrderProgress, coin: str) -> str:
    order = progress.order
    price = "" if order.price is None else f" at {order.price:,.2f}"
    kind = order.type.value.replace("_", " ")
    return f"{order.side.value} {order.quantity:g} {coin} {kind}{price}: {came_words(progress)}"


def came_words(progress: OrderProgress) -> str:
    seconds = progress.order.expires_seconds
    done = "" if progress.average is None else f", {progress.filled:g} at {progress.average:,.2f}"
    lived = progress.changed_at - progress.placed_at
    if progress.state in _NOT_FILLED and seconds and lived >= seconds - 1:
        return f"not filled in {seconds} s, cancelled{done}"
    reason = f" ({progress.reason})" if progress.reason else ""
    return f"{progress.state.value}{done}{reason}"


_NOT_FILLED = (OrderState.CANCELLED, OrderState.EXPIRED)
