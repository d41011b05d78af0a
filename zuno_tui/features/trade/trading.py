"""Opening the trade desk: its market, its venue and its journal; arguing, and keeping the plan."""

import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from agents.bus.envelope import Role
from agents.bus.plan_store import PlanDocument, PlanStore
from agents.bus.record import FileSink, RecordWriter, running_versions
from agents.bus.run import ArgumentEnd, Listener
from agents.bus.worker import Ambient
from agents.memory.lesson_writing import feedback, kind_records
from agents.memory.memory import TradeMemory
from agents.model.budget import BudgetLimits, Spent
from agents.model.interface import Model
from agents.trade.facts import AccountFacts, DeskQuestion, DeskSettings, HedgeFacts, SpotAccount
from agents.trade.flow import TRADE_FLOW, hold_desk
from agents.trade.observe.news import MemoryIngestion, NarrativeReader, NewsReader
from agents.trade.observe.observer import (
    SIMULATED,
    FearGreedReader,
    LiquidationsReader,
    MacroReader,
    MarketObserver,
    OptionsReader,
    SectionReader,
    SimulatedReader,
)
from agents.trade.plan import TradePlan
from agents.trade.plan_document import trade_document
from agents.trade.terms import DeskLimits, MarketAnomaly, Objective, SectionName, TradeMode
from agents.trade.triage import TriageInput, anomalies
from chain.base.clean_text import Redactor
from chain.base.home import locked_if_free
from chain.exchange.orders.ccxt_client import OtherVenues, VenuePackageError
from chain.exchange.orders.engine import tend_orders
from chain.exchange.public.binance import BASE_URL, BinancePublic, BookStream
from chain.exchange.public.deribit import DeribitPublic
from chain.exchange.public.market import closed_candles, contract_symbol
from chain.exchange.public.okx import OkxPublic
from chain.exchange.public.surroundings import DemoSurroundings, FearGreedIndex, Fred
from chain.execution.outbox.outbox import Outbox
from chain.prices.market_http import MarketError
from chain.wallet.errors import WalletError
from zuno_tui.app.session import Session
from zuno_tui.features.trade.gate import Trading, venue_terms
from zuno_tui.features.trade.hedged_position import position_now
from zuno_tui.features.trade.lessons import (
    last_decision,
    last_plan,
    learn,
    recall_lessons,
    setup_of,
    setup_records,
    trade_memory,
)
from zuno_tui.features.trade.models import OpenModels, open_models
from zuno_tui.features.trade.settings import TradeTable
from zuno_tui.features.trade.setups import desk_record, judge_setups, keep_setup, kind_lessons
from zuno_tui.features.trade.venue import (
    VenueUnreadError,
    exchange_address,
    held_by_journal,
    open_venue,
)


@asynccontextmanager
async def outside_readers(
    session: Session, narrative: Model | None = None, *, emergency: bool = False
) -> AsyncIterator[dict[SectionName, SectionReader]]:
    """The embedded chain's world has some of its own, simulated; else whom the person has set."""
    table = session.settings.table(TradeTable)
    async with AsyncExitStack() as closing:
        readers: dict[SectionName, SectionReader] = {}
        if table.news:
            news = NewsReader(table.news, time.time, emergency=emergency)
            closing.push_async_callback(news.close)
            readers[SectionName.NEWS] = news
        if narrative is not None:
            readers[SectionName.NARRATIVE] = NarrativeReader(narrative, time.time)
        if session.network.clock == "head" and session.settings.table(TradeTable).url is None:
            world = DemoSurroundings(exchange_address(session).base_url)
            closing.push_async_callback(world.close)
            readers |= {name: SimulatedReader(name, world) for name in SIMULATED}
        if session.network.clock != "head":
            options, fear, okx = DeribitPublic(), FearGreedIndex(), OkxPublic()
            for source in (options, fear, okx):
                closing.push_async_callback(source.close)
            readers[SectionName.OPTIONS] = OptionsReader(options, time.time)
            readers[SectionName.FEAR_GREED] = FearGreedReader(fear, time.time)
            readers[SectionName.LIQUIDATIONS] = LiquidationsReader(okx, time.time)
            key = fred_key(session)
            if key is not None:
                macro = Fred(key)
                closing.push_async_callback(macro.close)
                readers[SectionName.MACRO] = MacroReader(macro, time.time)
        yield readers


@asynccontextmanager
async def other_venues(session: Session) -> AsyncIterator[OtherVenues | None]:
    """None in the embedded chain's world, and where ccxt is not installed."""
    if session.network.clock == "head" or session.settings.table(TradeTable).url is not None:
        yield None
        return
    from chain.exchange.orders.ccxt_client import OtherVenues

    try:
        venues = OtherVenues()
    except VenuePackageError:
        yield None
        return
    try:
        yield venues
    finally:
        await venues.close()


def book_stream(session: Session, market: BinancePublic) -> BookStream | None:
    """Of Binance itself; servers of its shapes, the embedded chain's among them, stream nothing."""
    if exchange_address(session).base_url != BASE_URL:
        return None
    return BookStream(market.name, market.snapshot)


def fred_key(session: Session) -> str | None:
    place = session.settings.table(TradeTable).fred_key
    return None if place is None else os.environ.get(place.removeprefix("env:")) or None


def sample_seconds(session: Session) -> float:
    """Between two looks at a book; the embedded chain's moves with its blocks alone."""
    return 0.0 if session.network.clock == "head" else 1.0


def desk_settings(session: Session) -> DeskSettings:
    limits, table = DeskLimits(), session.settings.table(TradeTable)
    return DeskSettings(
        order_usd=table.order_usd or limits.order_usd,
        hedge_usd=table.hedge_usd,
        hedge_seconds=table.hedge_seconds,
        account_leverage=table.account_leverage or limits.account_leverage,
    )


@asynccontextmanager
async def open_trading(
    session: Session, plan: TradePlan | None = None, *, coin: str = ""
) -> AsyncIterator[Trading]:
    """Opens the venue, or a plan's own, and first brings to its end what was left between.

    A coin that was bought on the spot venue is argued about there: that is where it is sold.
    """
    spot = session.settings.table(TradeTable).spot_venue
    there = spot is not None and plan is not None and plan.venue.partition(":")[0] == spot
    if spot is not None and coin:
        there = await _holds(session, spot, contract_symbol(coin))
    async with open_venue(session, spot if there else None) as opened:
        # Whoever is sending right now knows best what has become of it.
        with locked_if_free(session.home.trades_lock) as nobody_sends:
            left = await tend_orders(opened.journal, opened.venue) if nobody_sends else ()
        for notice in left:
            session.narrate(notice.words)
        with Outbox.open(session.home.outbox) as outbox:
            yield Trading(
                opened.market,
                opened.venue,
                opened.journal,
                opened.fees,
                desk_settings(session),
                time.time,
                session.home.trades_lock,
                outbox,
                partial(position_now, session, opened.market),
                session.settings.table(TradeTable).allow_withdrawing_key,
            )


async def _holds(session: Session, name: str, symbol: str) -> bool:
    """Whether what was bought there through this desk is there still."""
    if held_by_journal(session.home, name).get(symbol, 0.0) <= 0:
        return False
    async with open_venue(session, name) as opened:
        return (await opened.venue.account()).quantity_of(symbol) > 0


async def learn_everywhere(
    session: Session, trading: Trading, memory: TradeMemory, model: Model | None = None
) -> None:
    """Of the venue that is open and of the one for spot, where that is another."""
    await learn(session, trading, memory, model)
    spot = session.settings.table(TradeTable).spot_venue
    known = {lesson.memory_id for lesson in memory.all()}
    sent = (entry for entry in trading.journal.entries() if entry.plan_id not in known)
    # It is opened only for what was sent there and is not learned from yet.
    if all(entry.venue.partition(":")[0] != spot for entry in sent) or spot is None:
        return
    try:
        async with open_venue(session, spot) as opened:
            await learn(session, opened, memory, model)
    except (VenueUnreadError, VenuePackageError, WalletError) as error:
        session.narrate(f"What ended on {spot} cannot be read. {error}")


class ArguedTrade(Struct, frozen=True):
    ended: ArgumentEnd[TradePlan]
    document: PlanDocument | None
    spent: Spent = Spent()
    """On models."""


async def argue_trade(
    session: Session,
    trading: Trading,
    coin: str,
    mode: TradeMode,
    hedge: HedgeFacts | None = None,
    *,
    emergency: bool = False,
    anyway: bool = False,
    most: BudgetLimits | None = None,
    request_id: str | None = None,
    listener: Listener | None = None,
    on_crash: Callable[[Role, Exception], None] | None = None,
) -> ArguedTrade:
    """Argue on the record and keep the plan that comes of it."""
    request_id = request_id or f"req_{secrets.token_hex(8)}"
    path = session.home.records / f"{request_id}.jsonl"
    async with AsyncExitStack() as opened:
        models = await opened.enter_async_context(open_models(session, listener, most))
        memory = opened.enter_context(trade_memory(session))
        await learn_everywhere(session, trading, memory, models.lessons)
        question = await _question(
            session,
            trading,
            memory,
            models,
            _Subject(coin, mode, hedge, emergency=emergency, anyway=anyway),
        )
        now = float(question.account.time)
        elsewhere = await opened.enter_async_context(other_venues(session))
        async with outside_readers(session, models.narrative, emergency=emergency) as readers:
            record = RecordWriter(
                FileSink(path),
                request_id,
                running_versions(TRADE_FLOW.package),
                Redactor((*_secrets(session), *models.secrets)),
                flow=TRADE_FLOW.name,
            )
            artist = models.artist(path, reported=_is_sent(session))
            try:
                ended = await hold_desk(
                    question,
                    MarketObserver(
                        trading.market,
                        readers,
                        ingestion=MemoryIngestion(memory, time.time, models.filing),
                        stream=book_stream(session, trading.market),
                        elsewhere=elsewhere,
                        contracts=trading.venue.contracts,
                        sample_seconds=sample_seconds(session),
                    ),
                    record,
                    ambient=Ambient(lambda: now, lambda: request_id),
                    request_id=request_id,
                    model=models.model,
                    names=models.names,
                    artist=artist,
                    limits=models.limits,
                    tokens=models.tokens,
                    listener=listener,
                    on_crash=on_crash,
                )
            finally:
                record.close()
            spent = models.spent()
    if ended.plan is None:
        return ArguedTrade(ended, None, spent)
    if artist is not None:
        await artist.finish(ended.plan)
    document = trade_document(ended, record.last_hash)
    PlanStore(session.home.plans).keep(document)
    keep_setup(session, ended.plan, trading.market.name)
    return ArguedTrade(ended, document, spent)


def _is_sent(session: Session) -> bool:
    """Whether somebody is sent a report of the run."""
    return (
        session.settings.table(TradeTable).send_reports
        and session.settings.telegram.token is not None
    )


class _Subject(NamedTuple):
    coin: str
    mode: TradeMode
    hedge: HedgeFacts | None
    emergency: bool
    anyway: bool


async def _question(
    session: Session, trading: Trading, memory: TradeMemory, models: OpenModels, about: _Subject
) -> DeskQuestion:
    """What is asked, with everything that the home alone can tell."""
    symbol = contract_symbol(about.coin)
    previous = last_decision(session, symbol)
    objective = Objective.TRADE if about.hedge is None else Objective.HEDGE
    past, setups = memory.all(), await judge_setups(session, trading.market)
    return DeskQuestion(
        asked_at=int(time.time()),
        symbol=symbol,
        coin=symbol.removesuffix("USDT"),
        mode=about.mode,
        objective=objective,
        account=await account_facts(session, trading, hedging=about.hedge is not None),
        settings=trading.settings,
        hedge=about.hedge,
        emergency=about.emergency,
        anyway=about.anyway,
        previous=previous,
        lessons=recall_lessons(memory, symbol, await _situation(session, trading, about, symbol)),
        record=desk_record(setups),
        kinds=setup_records(past),
        shadows=kind_lessons(setups),
        feedback=await feedback(kind_records(past), models.feedback),
    )


async def account_facts(session: Session, trading: Trading, *, hedging: bool) -> AccountFacts:
    """With the second venue, where one is set and a trade is asked for."""
    account, name = await trading.account(), session.settings.table(TradeTable).spot_venue
    if name in (None, trading.venue.name.partition(":")[0]) or hedging:
        return account
    async with open_venue(session, name) as opened:
        seen = await opened.venue.account()
        held = (
            position.quantity * seen.marks.get(position.symbol, position.entry)
            for position in seen.positions
        )
        cash = max(seen.equity - sum(held), 0.0)
        spot = SpotAccount(
            venue=opened.venue.name,
            terms=venue_terms(opened.venue.abilities, seen, trading.settings.order_usd),
            cash=cash,
            maker_fee=opened.fees.maker,
            taker_fee=opened.fees.taker,
        )
    return account.model_copy(update={"spot": spot})


async def _situation(session: Session, trading: Trading, about: _Subject, symbol: str) -> str:
    """In the words that post-mortems have: mode, aim, regime, and what is unusual right now."""
    objective = Objective.TRADE if about.hedge is None else Objective.HEDGE
    words = [symbol, about.mode.value, objective.value]
    last = last_plan(session, symbol)
    if last is not None:
        words.append(setup_of(last).words)
    with suppress(MarketError):
        words += [anomaly.value for anomaly in await triage_now(trading.market, symbol)]
    return " ".join(words)


async def triage_now(market: BinancePublic, symbol: str) -> tuple[MarketAnomaly, ...]:
    """What is unusual by its hours and its open interest; no expert and no model is asked."""
    limits, now = DeskLimits(), await market.time()
    hours = await market.candles(symbol, "1h", count=limits.atr_hours + 24)
    points = await market.open_interest(symbol, hours=3)
    change = points[-1].coins / points[-2].coins - 1 if len(points) > 1 else None
    seen = TriageInput(hours=closed_candles(hours, 3600, now), interest_change=change)
    return anomalies(seen, limits)


def _secrets(session: Session) -> tuple[str, ...]:
    """Everything known to be secret, so that none of it can reach the record."""
    urls = [url for chosen in session.settings.endpoints.values() for url in chosen]
    return tuple(secret for secret in (*urls, fred_key(session)) if secret)


async def recent_headlines(urls: Sequence[str]) -> tuple[str, ...]:
    """What the feeds wrote in the last hours, the newest first; nothing where none answers."""
    news = NewsReader(urls, time.time)
    try:
        return tuple(item.title for item in await news.recent())
    except MarketError:
        return ()
    finally:
        await news.close()
