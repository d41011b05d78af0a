"""The trade desk on the command line: argue, approve, apply, and tell how trades stand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from agents.trade.facts import HedgeFacts
from agents.trade.opinions import RangeExposure
from agents.trade.terms import TradeMode
from chain.contracts.networks import NATIVE, Network
from chain.exchange.orders.hedge import HedgeKey
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.overview import OnePosition, Sources, read_one
from chain.tokens.pair import pair_of
from chain.tokens.token import TokenClass, listed_token
from zuno_tui.app.confirming import may_have_sent, require_typed
from zuno_tui.app.inspect import MissingPositionError
from zuno_tui.app.session import Session, say
from zuno_tui.features.trade.gate import ApprovedTrade, apply_trade, approve_trade, waiting_trade
from zuno_tui.features.trade.hedges import (
    hedged_document,
    hedged_lines,
    hedged_result,
    owned_facts,
    read_hedges,
)
from zuno_tui.features.trade.lessons import keep_run, keep_sent, learn, trade_memory
from zuno_tui.features.trade.plans import stored_trade
from zuno_tui.features.trade.report import report_files, report_lines, report_run
from zuno_tui.features.trade.run_view import order_words, trade_answer
from zuno_tui.features.trade.trading import ArguedTrade, argue_trade, open_trading
from zuno_tui.features.trade.venue import OpenVenue
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.present.answer import CommandAnswer, print_answer
from zuno_tui.present.exit_codes import DONE, FAILED
from zuno_tui.present.transcript import line_width, wrapped
from zuno_tui.present.words import dollar_gain

if TYPE_CHECKING:
    from argparse import Namespace

    from agents.trade.plan import TradePlan
    from chain.exchange.orders.order import OrderProgress, PerpetualPosition
    from chain.tokens import Token
    from zuno_tui.features.trade.gate import Trading
    from zuno_tui.present.output import Json

_WRAPPED = {"WBTC": "BTC", "CBBTC": "BTC"}


def hedge_facts(network: Network, one: OnePosition) -> HedgeFacts:
    """Refuses what has no dollar side: what it moves with is no one coin's price."""
    position, pool = one.snapshot, one.snapshot.pool
    tokens = one.tokens[pool.key.currency0], one.tokens[pool.key.currency1]
    pair = pair_of(network, *tokens, pool.sqrt_price_x96)
    dollars = [_is_dollar(network, token) for token in (pair.base, pair.quote)]
    price = pair.price(pool.sqrt_price_x96)
    if dollars != [False, True] or price is None:
        raise GateRefusedError(
            f"#{position.token_id} holds {pair.name}: a hedge needs one coin against a dollar. "
            "See what each position holds: zuno positions"
        )
    identity = position.identity
    ticks = (identity.tick_upper, identity.tick_lower)
    bounds = [
        pair.price(sqrt_price_at_tick(tick)) for tick in (ticks if pair.inverted else ticks[::-1])
    ]
    lower, upper = (0.0 if bound is None else bound.value for bound in bounds)
    decimals = [token.decimals or 0 for token in tokens]
    exposure = RangeExposure(position.liquidity / float(10 ** (sum(decimals) / 2)), lower, upper)
    amounts = (position.amount0, position.amount1)
    if pair.inverted:
        amounts = amounts[::-1]
    coins = amounts[0] / 10 ** (pair.base.decimals or 0)
    quoted = amounts[1] / 10 ** (pair.quote.decimals or 0)
    return HedgeFacts(
        token_id=position.token_id,
        chain_id=network.chain_id,
        network=network.name,
        block=position.block.number,
        pair=pair.name,
        coin=coin_of(network, pair.base),
        delta=coins,
        gamma=exposure.gamma(price.value),
        lower=lower,
        upper=upper,
        worth_usd=coins * price.value + quoted,
        price=price.value,
        amount0=position.amount0 + position.fees0,
        amount1=position.amount1 + position.fees1,
        sqrt_price_x96=pool.sqrt_price_x96,
        wallet=position.owner,
        token=pair.base.address,
    )


def coin_of(network: Network, token: Token) -> str:
    """What venues call it: wrapped coins trade under their own name."""
    if token.address in (NATIVE, network.wrapped_native):
        return network.native_symbol
    return _WRAPPED.get(token.label.upper(), token.label.upper())


def _is_dollar(network: Network, token: Token) -> bool:
    listed = listed_token(network, token.address)
    return listed is not None and listed.kind is TokenClass.DOLLAR


TRADE_WORD = "trade"
_PAGE_WIDTH = 110


async def argued(
    session: Session, coin: str, mode: str, *, emergency: bool = False
) -> CommandAnswer:
    async with open_trading(session) as trading:
        done = await argue_trade(session, trading, coin, TradeMode(mode), emergency=emergency)
    return await _argued_answer(session, done)


async def _argued_answer(session: Session, done: ArguedTrade) -> CommandAnswer:
    if done.ended.plan is None or done.document is None:
        failure = done.ended.failure
        stage = "" if failure is None else failure.stage
        reason = "" if failure is None else failure.reason
        words = f"The desk ended at {stage}: {reason}"
        return CommandAnswer((), {"stage": stage, "reason": reason}, remarks=(words,), code=FAILED)
    await report_run(session, done.ended.plan, done.document)
    keep_run(session, done.ended.plan, done.document)
    return trade_answer(done.ended.plan, done.document)


async def hedged(
    session: Session, token_id: int, mode: str, *, emergency: bool = False
) -> CommandAnswer:
    """What the position and its hedge have come to, and what the desk makes of it now."""
    async with session.sources() as sources:
        one = await _read_position(session, sources, token_id)
        async with open_trading(session) as trading:
            hedges = await read_hedges(trading.journal, trading.venue)
            facts = await owned_facts(trading, sources, hedges, hedge_facts(session.network, one))
            own = hedges.get(HedgeKey(facts.chain_id, facts.token_id))
            opened = OpenVenue(trading.market, trading.venue, trading.journal, trading.fees)
            result = (
                None
                if own is None
                else await hedged_result(opened, sources, one.snapshot, one.tokens, own)
            )
            done = await argue_trade(
                session, trading, facts.coin, TradeMode(mode), facts, emergency=emergency
            )
    answer = await _argued_answer(session, done)
    if result is None or own is None:
        return answer
    document = dict(answer.document) if isinstance(answer.document, dict) else {}
    return replace(
        answer,
        lines=(*hedged_lines(own, result), *answer.lines),
        document={**document, "result": hedged_document(own, result)},
    )


async def read_hedged(
    session: Session, sources: Sources, trading: Trading, token_id: int
) -> HedgeFacts:
    """The position whose coins are to be hedged, with what is short for it, as it is now."""
    one = await _read_position(session, sources, token_id)
    hedges = await read_hedges(trading.journal, trading.venue)
    return await owned_facts(trading, sources, hedges, hedge_facts(session.network, one))


async def _read_position(session: Session, sources: Sources, token_id: int) -> OnePosition:
    one = await read_one(sources, token_id, session.settings.unit)
    if one is None:
        raise MissingPositionError(
            f"{session.network.title} has no position #{token_id}, or it was burned."
        )
    return one


def shown(session: Session, plan_id: str | None) -> CommandAnswer:
    return trade_answer(*stored_trade(session, plan_id))


async def approved(session: Session, plan_id: str | None) -> CommandAnswer:
    plan, _ = stored_trade(session, plan_id)
    async with open_trading(session) as trading:
        waiting = await approve_trade(trading, plan)
    return CommandAnswer(
        lines=tuple(waiting_lines(waiting)),
        document=_waiting_document(waiting),
        remarks=(
            f"Approved for ten minutes; nothing is sent yet. To send it: zuno apply {plan.plan_id}",
        ),
    )


def apply_run(session: Session, arguments: Namespace) -> int:
    return asyncio.run(_applied(session, arguments))


async def _applied(session: Session, arguments: Namespace) -> int:
    plan, document = stored_trade(session, arguments.plan_id)
    async with open_trading(session) as trading:
        waiting = await waiting_trade(trading, plan, arguments.confirm)
        for line in waiting_lines(waiting):
            say(line)
        if arguments.confirm is None:
            require_typed(
                TRADE_WORD, f"Type {TRADE_WORD} to send this to {waiting.approval.venue}: "
            )
            # A word takes its time, and the market does not wait for it.
            waiting = await waiting_trade(trading, plan, None)
        with may_have_sent():
            sent = await apply_trade(trading, waiting, _telling(plan))
    refused = [one for one in sent if one.state.value == "refused"]
    lines = tuple(progress_words(one, plan.coin) for one in sent)
    await report_run(session, plan, document, lines)
    keep_sent(session, plan.plan_id, sent)
    answer = CommandAnswer(
        lines=lines,
        document={"planId": plan.plan_id, "orders": [_progress_document(one) for one in sent]},
        remarks=("See how it stands: zuno trade status",),
        code=FAILED if refused else DONE,
    )
    return print_answer(answer, as_json=session.as_json)


def _dollars(amount: float | None) -> str:
    return "unknown" if amount is None else f"${amount:,.2f}"


def _telling(plan: TradePlan) -> Callable[[OrderProgress], None]:
    """Says how each part stands where sending them takes its time."""
    if not any(order.type == "sliced" for order in plan.orders):
        return lambda _: None
    return lambda one: say(f"  {progress_words(one, plan.coin)}")


def _open_gain(position: PerpetualPosition, mark: float | None) -> float:
    return position.quantity * ((mark or position.entry) - position.entry)


async def status(session: Session) -> CommandAnswer:
    async with open_trading(session) as trading:
        account = await trading.venue.account()
        seen = await trading.account()
    marks = {position.symbol: position.mark for position in seen.positions}
    lines = [
        f"{account.venue}: ${account.equity:,.2f}, fees {_dollars(account.fees)}, "
        f"funding {dollar_gain(account.funding)}"
    ]
    lines += [
        f"  {position.symbol} {position.quantity:+g} from {position.entry:,.2f}, "
        f"{dollar_gain(_open_gain(position, marks[position.symbol]))}"
        for position in account.positions
    ]
    lines += [
        f"  waiting: {progress_words(order, order.order.symbol)}" for order in account.open_orders
    ]
    if len(lines) == 1:
        lines.append("  nothing is held, nothing waits")
    return CommandAnswer(
        lines=tuple(lines),
        document={
            "venue": account.venue,
            "equity": account.equity,
            "fees": account.fees,
            "funding": account.funding,
            "positions": [
                {
                    "symbol": position.symbol,
                    "quantity": position.quantity,
                    "entry": position.entry,
                    "mark": marks[position.symbol],
                }
                for position in account.positions
            ],
            "openOrders": [_progress_document(order) for order in account.open_orders],
        },
    )


async def memory(session: Session) -> CommandAnswer:
    """Every trade that has ended and what it taught, the newest first."""
    with trade_memory(session) as kept:
        async with open_trading(session) as trading:
            await learn(session, trading, kept)
        ended = sorted(kept.all(), key=lambda one: one.time, reverse=True)
    return CommandAnswer(
        lines=tuple(
            wrapped(f"{one.memory_id} {one.setup}: {one.outcome}. {one.constraint}.", indent=2)
            for one in ended
        )
        or ("No trade of this desk has ended yet.",),
        document=[
            {
                "memoryId": one.memory_id,
                "time": one.time,
                "symbol": one.symbol,
                "setup": one.setup,
                "outcome": one.outcome,
                "constraint": one.constraint,
                "won": one.won,
                "pnlPct": one.pnl_pct,
            }
            for one in ended
        ],
    )


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
    document: dict[str, Json] = {
        "planId": plan.plan_id,
        "decision": plan.decision.value,
        "reason": plan.reason,
    }
    if reasoning is not None:
        parts = reasoning.model_dump(mode="json", by_alias=True)
        lines += [wrapped(f"{name}: {words}", indent=2) for name, words in parts.items() if words]
        document["reasoning"] = parts
    if conflicts is not None:
        lines += [
            wrapped(
                f"{conflict.between[0].spoken} against {conflict.between[1].spoken}: "
                f"{conflict.tiebreaker}",
                indent=2,
            )
            for conflict in conflicts.conflicts
        ]
        document["conflicts"] = conflicts.model_dump(mode="json", by_alias=True)
    return CommandAnswer(tuple(lines), document)


def waiting_lines(waiting: ApprovedTrade) -> tuple[str, ...]:
    plan: TradePlan = waiting.plan
    return (
        f"{plan.plan_id} · {plan.decision.value} {plan.quantity:g} {plan.coin} "
        f"(${plan.notional_usd:,.2f}) on {waiting.approval.venue}",
        *(
            f"  {order_words(planned, plan.coin)} · {order.client_id}"
            for planned, order in zip(plan.orders, waiting.orders, strict=True)
        ),
        f"  hash {waiting.approval.hash}",
    )


def _waiting_document(waiting: ApprovedTrade) -> dict[str, Json]:
    return {
        "planId": waiting.plan.plan_id,
        "hash": waiting.approval.hash,
        "venue": waiting.approval.venue,
        "expiresAt": waiting.expires_at,
        "orders": [order.client_id for order in waiting.orders],
    }


def progress_words(one: OrderProgress, coin: str) -> str:
    order = one.order
    price = "" if order.price is None else f" at {order.price:,.2f}"
    done = "" if one.average is None else f", {one.filled:g} at {one.average:,.2f}"
    reason = f" ({one.reason})" if one.reason else ""
    kind = order.type.value.replace("_", " ")
    return (
        f"{order.side.value} {order.quantity:g} {coin} {kind}{price}: "
        f"{one.state.value}{done}{reason} · {order.client_id}"
    )


def _progress_document(one: OrderProgress) -> dict[str, Json]:
    return {
        "clientId": one.order.client_id,
        "symbol": one.order.symbol,
        "side": one.order.side.value,
        "type": one.order.type.value,
        "quantity": one.order.quantity,
        "price": one.order.price,
        "reduceOnly": one.order.reduce_only,
        "state": one.state.value,
        "filled": one.filled,
        "average": one.average,
        "fees": one.fees,
        "reason": one.reason,
    }
