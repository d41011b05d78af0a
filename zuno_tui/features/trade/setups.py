"""Every setup the desk drafts: kept, judged on the candles that follow, told in sum."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec.structs import replace

from agents.memory.shadow_book import (
    ShadowBook,
    ShadowSetup,
    judge_setup,
    least_excess,
    shadow_sums,
)
from agents.trade.facts import DeskRecord, KindLesson
from agents.trade.plan import TradePlan
from chain.base.units import signed_percent
from chain.exchange.public.binance import MOST_CANDLES, BinancePublic
from chain.exchange.public.market import closed_candles
from chain.prices.market_http import MarketError
from zuno_tui.app.session import Session
from zuno_tui.features.trade.lessons import setup_of


def keep_setup(session: Session, plan: TradePlan, market: str) -> None:
    """Sent or not: what it comes to is judged on the candles that follow."""
    drafted = plan.setup
    if drafted is None:
        return
    setup = replace(setup_of(plan), decision=drafted.decision.value, venue="")
    shadow = ShadowSetup(
        setup=setup,
        market=market,
        made_at=plan.market_time,
        entry=drafted.entry,
        stop=drafted.stop,
        take_profit=drafted.take_profit,
        notional_usd=drafted.notional_usd,
        cost_pct=drafted.cost_pct,
        refused_by=drafted.refused_by,
    )
    with ShadowBook.open(session.home.setups) as book:
        book.add(shadow)


async def judge_setups(session: Session, market: BinancePublic) -> tuple[ShadowSetup, ...]:
    """Of this market all that was drafted, judged until now; one that cannot be read stays open."""
    with ShadowBook.open(session.home.setups) as book:
        with suppress(MarketError):
            for setup in book.setups(market.name, only_open=True):
                book.keep(await _judged_until_now(market, setup))
        return book.setups(market.name)


async def _judged_until_now(market: BinancePublic, setup: ShadowSetup) -> ShadowSetup:
    """By minutes, so that it does not matter when anybody looks; the rest at the next look."""
    now, symbol = await market.time(), setup.setup.symbol
    for _ in range(_MOST_PAGES):
        since = max(setup.judged_until, setup.made_at)
        seen = await market.candles(symbol, "1m", count=MOST_CANDLES, since=since // 60 * 60)
        payments = await market.payments(symbol, since=since)
        judged_further = judge_setup(setup, closed_candles(seen, 60, now), 60, payments)
        if judged_further.judged_until == setup.judged_until or judged_further.ended:
            return judged_further
        setup = judged_further
    return setup


_MOST_PAGES = 8
"""Of minutes, at one look."""


def desk_record(setups: Sequence[ShadowSetup]) -> DeskRecord:
    """How often setups won, how often chance would have, and how far the odds were off."""
    proving = [setup for setup in setups if setup.proves]
    won = [setup.ended is not None and setup.ended.how == "take_profit" for setup in proving]
    odds = [
        ((setup.setup.win_pct or 0.0) / 100 - hit) ** 2
        for setup, hit in zip(proving, won, strict=True)
        if setup.setup.win_pct is not None
    ]
    return DeskRecord(
        resolved=len(proving),
        won=sum(won),
        fair_wins=sum(setup.fair for setup in proving),
        brier=sum(odds) / len(odds) if odds else None,
        proved=least_excess([setup.ended.score for setup in proving if setup.ended is not None]),
    )


def kind_lessons(setups: Sequence[ShadowSetup]) -> tuple[KindLesson, ...]:
    return tuple(KindLesson(**kind._asdict()) for kind in shadow_sums(setups))


def setup_lines(setups: Sequence[ShadowSetup]) -> Iterator[str]:
    """All in sum; no setup of it was sent anywhere by itself."""
    if not setups:
        return
    record = desk_record(setups)
    waiting = sum(setup.ended is None for setup in setups)
    beside = sum(setup.overlaps for setup in setups)
    drafted = "1 setup" if len(setups) == 1 else f"{len(setups)} setups"
    alone = f", {beside} beside another of their coin, which prove nothing" if beside else ""
    judged = (
        f"{record.won} of {record.resolved} won by what the price did next, {record.fair_wins:.1f} "
        f"by chance: {record.proved * 100:.1f} points proved at 99%"
        if record.resolved
        else "none has ended yet"
    )
    yield f"shadow: {drafted} drafted, {waiting} open{alone}; {judged}"
    for kind in shadow_sums(setups):
        yield (
            f"shadow: {kind.decision} in {kind.regime}: {kind.won} of {kind.ended} won, "
            f"{kind.fair_wins:.1f} by chance, {signed_percent(kind.mean_pct / 100)} on average "
            f"after costs. The last taught: {kind.lesson}"
            + (f". {kind.came_true} of {kind.ended - 1} before came true" if kind.ended > 1 else "")
        )
