"""`zuno unhedge`: from the hedges that stand to the plans that close them."""

import secrets
import time
from collections.abc import Sequence

from agents.bus.plan_store import PlanDocument, PlanStore
from agents.bus.run import ArgumentEnd
from agents.trade.facts import HedgeFacts
from agents.trade.plan import TradePlan
from agents.trade.plan_document import trade_document
from agents.trade.unhedging import HedgeContract, unhedge_plan
from chain.exchange.orders.hedge import HedgeKey, PositionHedge
from chain.protocols.reference import position_label
from zuno_tui.app.session import Session
from zuno_tui.features.trade.gate import Trading
from zuno_tui.features.trade.hedges import (
    forget_wanted,
    hedges_on_record,
    note_wanted,
    read_hedges,
    standing_short,
)
from zuno_tui.features.trade.run_view import trade_answer
from zuno_tui.features.trade.trading import open_trading
from zuno_tui.features.trade.venue import VenueUnreadError
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.intents.intent import PositionName
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.exit_codes import DONE

_DUST = 1e-9


async def plan_unhedge(
    session: Session, subject: PositionName, percent: int | None
) -> tuple[tuple[TradePlan, PlanDocument], ...]:
    """A plan for each hedge that is meant; kept, and nothing sent."""
    try:
        async with open_trading(session) as trading:
            plans = await unhedge_plans(session, trading, subject, (percent or 100) / 100)
    except VenueUnreadError as error:
        note_wanted(session, subject, percent)
        raise VenueUnreadError(
            f"{error} The hedge still stands. What you asked for is noted, and you are reminded "
            f"as soon as the venue answers."
        ) from None
    forget_wanted(session, subject)
    return tuple((plan, _keep(session, plan)) for plan in plans)


async def unhedge_answer(
    session: Session, subject: PositionName, percent: int | None
) -> CommandAnswer:
    plans = await plan_unhedge(session, subject, percent)
    return in_one_answer([trade_answer(plan, document) for plan, document in plans])


def in_one_answer(answers: Sequence[CommandAnswer]) -> CommandAnswer:
    if len(answers) == 1:
        return answers[0]
    return CommandAnswer(
        lines=tuple(line for answer in answers for line in (*answer.lines, "")),
        document=[answer.document for answer in answers],
        remarks=tuple(remark for answer in answers for remark in answer.remarks),
        code=max((answer.code for answer in answers), default=DONE),
    )


async def unhedge_plans(
    session: Session, trading: Trading, subject: PositionName, share: float
) -> tuple[TradePlan, ...]:
    """One for each hedge that is meant, whether its position still stands or not."""
    hedges = await read_hedges(trading.journal, trading.venue)
    meant = {
        key: hedge
        for key, hedge in hedges.items()
        if key.chain_id == session.network.chain_id
        and subject in ("all", key.ref)
        and hedge.short > _DUST
    }
    if not meant:
        what = "Nothing is" if subject == "all" else f"#{subject} is not"
        waits = any(hedge.waiting for key, hedge in hedges.items() if subject in ("all", key.ref))
        more = " An order of it still waits: ask again in a minute." if waits else ""
        for kept in hedges_on_record(trading.journal):
            here = kept.key.chain_id == session.network.chain_id
            if here and kept.venue != trading.venue.name and subject in ("all", kept.key.ref):
                name = kept.venue.partition(":")[0]
                more = (
                    f" {standing_short(kept.hedge):g} {kept.hedge.first.coin} is short for "
                    f"{position_label(kept.key.ref)} on {kept.venue}. To close it, set "
                    f'venue = "{name}" '
                    f"under [trade] in {session.home.settings} and ask again."
                )
        raise GateRefusedError(
            f"{what} hedged on {trading.venue.name}.{more} See what is held: zuno trade status"
        )
    return tuple([await _plan(trading, key, hedge, share) for key, hedge in meant.items()])


async def _plan(trading: Trading, key: HedgeKey, hedge: PositionHedge, share: float) -> TradePlan:
    start = hedge.last
    rules = await trading.venue.contracts.rules(start.symbol)
    funding = await trading.venue.contracts.funding(start.symbol)
    position = HedgeFacts(
        token_id=key.ref,
        chain_id=key.chain_id,
        network="",
        block=start.block,
        pair=start.coin,
        coin=start.coin,
        delta=0.0,
        gamma=0.0,
        lower=0.0,
        upper=0.0,
        worth_usd=0.0,
        price=start.mark,
        amount0=int(start.amount0),
        amount1=int(start.amount1),
        sqrt_price_x96=int(start.sqrt_price_x96),
        wallet=start.wallet,
        token=start.token,
        rate=start.rate,
        other_rate=start.other_rate,
        band=start.band,
        target=start.ratio,
        short=hedge.short,
    )
    contract = HedgeContract(
        start.symbol, funding.mark, rules.quantity_step, int(await trading.venue.now())
    )
    plan = unhedge_plan(
        position, contract, await trading.account(), share=share, asked_at=int(trading.clock())
    )
    if plan is None:
        raise GateRefusedError(
            f"The hedge of {position_label(key.ref)} is {hedge.short:g} {start.coin} by the "
            f"journal, and {trading.venue.name} holds less than can be bought back: it was closed "
            f"there, or the part is too small. See what is held: zuno trade status"
        )
    return plan


def _keep(session: Session, plan: TradePlan) -> PlanDocument:
    ended = ArgumentEnd(f"req_{secrets.token_hex(8)}", plan, None, ())
    document = trade_document(ended, "")
    PlanStore(session.home.plans, time.time).keep(document)
    return document
