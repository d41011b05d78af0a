"""Reads one contract and everything around it at once; what fails is missing, never made up."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Literal, Protocol, TypeVar

from msgspec.structs import replace

from agents.trade.expert_rules import price_and_flow
from agents.trade.facts import (
    BookFacts,
    BookSample,
    CandleSeries,
    ContextSection,
    DeskQuestion,
    MarketSnapshot,
)
from agents.trade.observe.sections import (
    Elsewhere,
    Ingestion,
    SectionReader,
    VenueAnswers,
    section,
    unavailable,
)
from agents.trade.services import DeskObservation
from agents.trade.terms import SectionName, TradeMode
from chain.base.clean_text import clean_text
from chain.exchange.public.binance import INTERVAL_SECONDS, BinancePublic
from chain.exchange.public.book import imbalance, slippage_bips, spread_bips
from chain.exchange.public.book_stream import BookStream, LiveBook
from chain.exchange.public.market import (
    Candle,
    FundingPayment,
    FundingState,
    OpenInterestPoint,
    OrderBook,
    VenueReading,
    closed_candles,
    cumulative_delta,
)
from chain.prices.market_http import MarketError

T = TypeVar("T")

_HOURS = 240
_SLOW = 120
_LEVELS = 100
_SAMPLES = 3
_STREAM_SECONDS = 3.0
"""How long a stream may take to its first book."""
_FUNDING_SECONDS = 7 * 86_400
_SLIPPAGE_USD = 100_000.0
_NOT_SET = "no source is set for it"


class TradedContracts(Protocol):
    async def funding(self, symbol: str) -> FundingState: ...


class MarketObserver:
    """Sees one venue's public market, and asks other sources for the rest."""

    def __init__(
        self,
        market: BinancePublic,
        readers: Mapping[SectionName, SectionReader] | None = None,
        *,
        ingestion: Ingestion | None = None,
        stream: BookStream | None = None,
        elsewhere: Elsewhere | None = None,
        contracts: TradedContracts | None = None,
        sample_seconds: float = 1.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`contracts` are those of the venue that orders go to, where it is not this market."""
        self._market = market
        self._contracts = None if contracts is market else contracts
        self._readers = readers or {}
        self._ingestion = ingestion
        self._stream = stream
        self._elsewhere = elsewhere
        self._sample_seconds = sample_seconds
        self._sleep = sleep

    async def look(self, question: DeskQuestion) -> DeskObservation:
        symbol = question.symbol
        slow: Literal["4h", "1d"] = "4h" if question.mode is TradeMode.SWING else "1d"
        ask = self._market
        async with asyncio.TaskGroup() as group:
            asked = (
                group.create_task(_settled(ask.time())),
                group.create_task(_settled(ask.rules(symbol))),
                group.create_task(_settled(ask.candles(symbol, "1h", count=_HOURS))),
                group.create_task(_settled(ask.candles(symbol, slow, count=_SLOW))),
                group.create_task(_settled(ask.funding(symbol))),
                group.create_task(_settled(ask.open_interest(symbol, hours=3))),
                group.create_task(
                    _settled(ask.payments(symbol, since=question.account.time - _FUNDING_SECONDS))
                ),
                group.create_task(self._books(symbol)),
            )
            own = group.create_task(self._own_funding(symbol))
            others = group.create_task(self._elsewhere_read(question.coin))
            outside = [
                group.create_task(self._outside(name, reader, question))
                for name, reader in self._readers.items()
            ]
        clock, contract, hourly, slower, premium, points, paid, looks = asked
        now, rules, hours = clock.result(), contract.result(), hourly.result()
        funding, books = premium.result(), looks.result()
        known = {section.name: section for section in (task.result() for task in outside)}
        time = 0 if isinstance(now, MarketError) else int(now)
        closed = _closed(hours, "1h", time)
        seen = (
            _funding_section(ask.name, _owned(funding, own.result()), time, others.result()),
            _flow_section(self._market.name, closed, time),
            _book_section(self._market.name, books, time),
            *_own_sections(question),
        )
        found = {section.name: section for section in seen} | known
        if self._ingestion is not None:
            found[SectionName.INGESTION] = await self._ingestion.ingest(found, question.coin)
        sections = tuple(
            found.get(name, unavailable(name, "", _reason_without(name))) for name in SectionName
        )
        slow_candles = slower.result()
        for needed in (now, rules, hours, slow_candles, funding):
            if isinstance(needed, MarketError):
                return DeskObservation(
                    time=time, market=None, unreadable=clean_text(str(needed)), sections=sections
                )
        if isinstance(rules, MarketError) or isinstance(funding, MarketError):
            raise TypeError("both were looked at above")
        market = MarketSnapshot(
            symbol=symbol,
            venue=ask.name,
            time=time,
            mark=funding.mark,
            price_step=rules.price_step,
            quantity_step=rules.quantity_step,
            least_notional=rules.least_notional,
            hours=CandleSeries(interval="1h", rows=closed),
            slow=CandleSeries(interval=slow, rows=_closed(slow_candles, slow, time)),
            book=_book_facts(books),
            interest_change=_interest_change(points.result()),
            funding=_paid(paid.result()),
        )
        return DeskObservation(time=time, market=market, unreadable="", sections=sections)

    async def _own_funding(self, symbol: str) -> FundingState | MarketError | None:
        return None if self._contracts is None else await _settled(self._contracts.funding(symbol))

    async def _elsewhere_read(self, coin: str) -> VenueAnswers | None:
        return None if self._elsewhere is None else await self._elsewhere.read(coin)

    async def _books(self, symbol: str) -> tuple[OrderBook | MarketError, ...]:
        """Looks one after the other: an imbalance that does not last is none."""
        if self._stream is None:
            return await self._looks(symbol, None)
        async with self._stream.following(symbol) as live:
            with suppress(TimeoutError):
                async with asyncio.timeout(_STREAM_SECONDS):
                    await live.known()
            return await self._looks(symbol, live)

    async def _looks(
        self, symbol: str, live: LiveBook | None
    ) -> tuple[OrderBook | MarketError, ...]:
        found = []
        for place in range(_SAMPLES):
            if place:
                await self._sleep(self._sample_seconds)
            found.append(await self._book(symbol, live))
        return tuple(found)

    async def _book(self, symbol: str, live: LiveBook | None) -> OrderBook | MarketError:
        """From the stream, where it has a book that is known to be right; else asked for."""
        if live is not None:
            with suppress(MarketError):
                return live.book(_LEVELS)
        return await _settled(self._market.book(symbol, levels=_LEVELS))

    async def _outside(
        self, name: SectionName, reader: SectionReader, question: DeskQuestion
    ) -> ContextSection:
        try:
            return await reader.read(question.coin)
        except MarketError as error:
            return unavailable(name, "", clean_text(str(error)))


async def _settled(asked: Awaitable[T]) -> T | MarketError:
    try:
        return await asked
    except MarketError as error:
        return error


def _closed(
    candles: tuple[Candle, ...] | MarketError, interval: Literal["1h", "4h", "1d"], now: int
) -> tuple[Candle, ...]:
    if isinstance(candles, MarketError):
        return ()
    return closed_candles(candles, INTERVAL_SECONDS[interval], now)


def _interest_change(points: tuple[OpenInterestPoint, ...] | MarketError) -> float | None:
    """Between the last two full hours: the same hour in which a spike is looked for."""
    if isinstance(points, MarketError) or len(points) < 2 or not points[-2].coins:
        return None
    return points[-1].coins / points[-2].coins - 1


def _paid(payments: tuple[FundingPayment, ...] | MarketError) -> tuple[tuple[int, float], ...]:
    if isinstance(payments, MarketError):
        return ()
    return tuple((int(payment.time), payment.rate) for payment in payments)


def _book_facts(books: tuple[OrderBook | MarketError, ...]) -> BookFacts | None:
    known = [book for book in books if not isinstance(book, MarketError)]
    if not known:
        return None
    last = known[-1]
    return BookFacts(
        samples=tuple(
            BookSample(
                time=int(book.time),
                spread_bips=spread_bips(book),
                imbalance5=imbalance(book, 5),
                imbalance20=imbalance(book, 20),
                imbalance100=imbalance(book, 100),
            )
            for book in known
        ),
        bids=last.bids,
        asks=last.asks,
        buy_slippage_bips=slippage_bips(last, buy=True, dollars=_SLIPPAGE_USD),
        sell_slippage_bips=slippage_bips(last, buy=False, dollars=_SLIPPAGE_USD),
    )


def _owned(
    market: FundingState | MarketError, own: FundingState | MarketError | None
) -> FundingState | MarketError:
    """The market's prices with what the contract pays that would be traded."""
    if own is None or isinstance(market, MarketError):
        return market
    if isinstance(own, MarketError):
        return own
    return replace(market, rate=own.rate, interval_hours=own.interval_hours)


def _funding_section(
    venue: str, funding: FundingState | MarketError, now: int, elsewhere: VenueAnswers | None
) -> ContextSection:
    if isinstance(funding, MarketError):
        return unavailable(SectionName.FUNDING, venue, clean_text(str(funding)))
    others = () if elsewhere is None else elsewhere.found
    paid = "" if funding.interval_hours == 8 else f", paid every {funding.interval_hours:g} h"
    return section(
        SectionName.FUNDING,
        ", ".join((venue, *(market.venue for market in others))),
        f"Funding {funding.rate_of_8_hours:+.4%} for 8 h{paid}, mark {funding.mark:,.2f}."
        f"{_elsewhere_words(elsewhere, funding.mark)}",
        {
            "rate": funding.rate_of_8_hours,
            "mark": funding.mark,
            "index": funding.index,
            **_elsewhere_numbers(others, funding.mark),
        },
        as_of=funding.time,
        now=now,
    )


def _elsewhere_words(elsewhere: VenueAnswers | None, mark: float) -> str:
    if elsewhere is None:
        return ""
    told = [
        f"{market.venue} {market.price / mark - 1:+.2%}"
        + ("" if market.funding_rate is None else f", funding {market.funding_rate:+.4%}")
        + ("" if market.interest_usd is None else f", open interest ${market.interest_usd:,.0f}")
        for market in elsewhere.found
    ]
    failed = [clean_text(reason) for reason in elsewhere.failed]
    return "".join(f" {sentence}." for sentence in (*told, *failed))


def _elsewhere_numbers(others: tuple[VenueReading, ...], mark: float) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for market in others:
        name = market.venue.lower()
        found[f"{name}_premium"] = market.price / mark - 1
        found[f"{name}_rate"] = market.funding_rate
        found[f"{name}_interest_usd"] = market.interest_usd
    return found


def _flow_section(venue: str, hours: tuple[Candle, ...], now: int) -> ContextSection:
    if not hours:
        return unavailable(SectionName.CVD, venue, "there are no candles")
    moved, bought = price_and_flow(hours)
    total = cumulative_delta(hours[-24:])[-1]
    return section(
        SectionName.CVD,
        venue,
        f"In 24 h takers bought net {bought:+.1%} while the price moved {moved:+.2%}.",
        {"cvd_24h": total, "bought_24h": bought, "moved_24h": moved},
        as_of=hours[-1].time + 3600,
        now=now,
    )


def _book_section(
    venue: str, books: tuple[OrderBook | MarketError, ...], now: int
) -> ContextSection:
    facts = _book_facts(books)
    if facts is None:
        reasons = [str(book) for book in books if isinstance(book, MarketError)]
        return unavailable(SectionName.MICROSTRUCTURE, venue, clean_text(reasons[-1]))
    last = facts.samples[-1]
    deep = facts.buy_slippage_bips is not None and facts.sell_slippage_bips is not None
    words = "" if deep else " The book does not hold $100k: insufficient depth."
    return section(
        SectionName.MICROSTRUCTURE,
        venue,
        f"Spread {last.spread_bips or 0:.2f} bp, imbalance {last.imbalance20 or 0:+.0%}.{words}",
        {
            "spread_bips": last.spread_bips,
            "imbalance5": last.imbalance5,
            "imbalance20": last.imbalance20,
            "imbalance100": last.imbalance100,
            "buy_slippage_bips": facts.buy_slippage_bips,
            "sell_slippage_bips": facts.sell_slippage_bips,
        },
        as_of=last.time,
        now=now,
    )


def _own_sections(question: DeskQuestion) -> tuple[ContextSection, ...]:
    """What came with the question: memories of like setups, and how past decisions fared."""
    lessons, record = question.lessons, question.record
    told = (
        "; ".join(f"{lesson.setup} → {lesson.outcome}" for lesson in lessons)
        or "nothing like it yet"
    )
    time = question.account.time
    return (
        section(
            SectionName.MEMORY, "own memory", told, {"found": len(lessons)}, as_of=time, now=time
        ),
        section(
            SectionName.LESSONS,
            "own record",
            f"{record.won} of {record.resolved} trades won.",
            {"resolved": record.resolved, "won": record.won, "brier": record.brier},
            as_of=time,
            now=time,
        ),
    )


def _reason_without(name: SectionName) -> str:
    if name is SectionName.LIQUIDATIONS:
        return "venues tell liquidations only while they happen, and nobody has listened"
    return _NOT_SET
