"""Reads one contract and everything around it at once; what fails is missing, never made up."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Literal, Protocol, TypeVar

from msgspec import Struct
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
from agents.trade.indicators import z_score
from agents.trade.services import DeskObservation
from agents.trade.terms import SectionName, SectionStatus, TradeMode
from chain.base.clean_text import clean_text
from chain.exchange.public import deribit, okx, surroundings
from chain.exchange.public.binance import INTERVAL_SECONDS, BinancePublic, BookStream, LiveBook
from chain.exchange.public.book import imbalance, slippage_bips, spread_bips
from chain.exchange.public.deribit import DeribitPublic
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
from chain.exchange.public.okx import OkxPublic
from chain.exchange.public.surroundings import DayValue, DemoSurroundings, FearGreedIndex, Fred
from chain.prices.market_http import MarketError

OLDEST_SECONDS = {
    SectionName.FUNDING: 300,
    SectionName.CVD: 2 * 3600 + 300,
    SectionName.MICROSTRUCTURE: 60,
    SectionName.LIQUIDATIONS: 300,
    SectionName.OPTIONS: 2 * 3600,
    SectionName.MACRO: 5 * 86_400,
    SectionName.FEAR_GREED: 2 * 86_400,
    SectionName.NARRATIVE: 4 * 3600,
    SectionName.NEWS: 4 * 3600,
}
"""Beyond it a section is stale: shown, and no part of any decision."""


class SectionReader(Protocol):
    """A source outside the venue; raises MarketError where it has nothing."""

    async def read(self, coin: str) -> ContextSection: ...


class VenueAnswers(Protocol):
    """What several venues told; `failures` are the words of those that told nothing."""

    @property
    def readings(self) -> tuple[VenueReading, ...]: ...

    @property
    def failures(self) -> tuple[str, ...]: ...


class Elsewhere(Protocol):
    """Venues beside the one that is traded on."""

    async def read(self, coin: str) -> VenueAnswers: ...


class Ingestion(Protocol):
    """Files what strangers wrote; tells of it in a section of its own."""

    async def ingest(
        self, sections: Mapping[SectionName, ContextSection], coin: str
    ) -> ContextSection: ...


def section(
    name: SectionName,
    source: str,
    text: str,
    numbers: Mapping[str, float | None],
    *,
    as_of: float,
    now: float,
) -> ContextSection:
    """A section with what is known, fresh or stale by its age."""
    oldest = OLDEST_SECONDS.get(name)
    fresh = oldest is None or now - as_of <= oldest
    return ContextSection(
        name=name,
        status=SectionStatus.OK if fresh else SectionStatus.STALE,
        source=source,
        as_of=int(as_of),
        text=text,
        numbers={field: number for field, number in numbers.items() if number is not None},
    )


def unavailable(name: SectionName, source: str, reason: str) -> ContextSection:
    return ContextSection(
        name=name, status=SectionStatus.UNAVAILABLE, source=source, as_of=None, text=reason
    )


_WEEK, _QUARTER = 7.0, 90.0
_CURVE_DAYS = 5
_SERIES = ("DGS2", "DGS10", "DTWEXBGS", "NASDAQCOM")


class OptionsReader:
    def __init__(self, source: DeribitPublic, clock: Callable[[], float]) -> None:
        self._source = source
        self._clock = clock

    async def read(self, coin: str) -> ContextSection:
        now = self._clock()
        index, options = await asyncio.gather(
            self._source.volatility_index(coin, now), self._source.options(coin, now)
        )
        z = z_score(index.closes)
        week = deribit.term_volatility(options, _WEEK, now)
        quarter = deribit.term_volatility(options, _QUARTER, now)
        words = "" if z is None else f", {z:+.1f} σ of 30 days"
        return section(
            SectionName.OPTIONS,
            deribit.SOURCE,
            f"DVOL {index.closes[-1]:.1f}%{words}.",
            {
                "dvol": index.closes[-1],
                "dvol_z": z,
                "put_call": deribit.put_call_ratio(options),
                "week_volatility": week,
                "quarter_volatility": quarter,
                "skew_25d": deribit.skew_25_delta(options, now),
            },
            as_of=index.time,
            now=now,
        )


class MacroReader:
    def __init__(self, source: Fred, clock: Callable[[], float]) -> None:
        self._source = source
        self._clock = clock

    async def read(self, _coin: str) -> ContextSection:
        now = self._clock()
        two, ten, dollar, nasdaq = await asyncio.gather(
            *(self._source.latest(series, now=now) for series in _SERIES)
        )
        curve = curve_days(two, ten)
        spread = curve[-1] if curve else None
        before = curve[-1 - _CURVE_DAYS] if len(curve) > _CURVE_DAYS else None
        change = None if spread is None or before is None else spread - before
        return section(
            SectionName.MACRO,
            Fred.name,
            f"10 years {ten[-1].value:.2f}%, 2 years {two[-1].value:.2f}%, dollar "
            f"{dollar[-1].value:.1f}, Nasdaq {nasdaq[-1].value:,.0f}.",
            {
                "dgs2": two[-1].value,
                "dgs10": ten[-1].value,
                "curve_spread": spread,
                "curve_change": change,
                "dollar": dollar[-1].value,
                "dollar_change": last_change(dollar),
                "nasdaq": nasdaq[-1].value,
                "nasdaq_change": last_change(nasdaq),
            },
            as_of=min(two[-1].time, ten[-1].time),
            now=now,
        )


class FearGreedReader:
    def __init__(self, source: FearGreedIndex, clock: Callable[[], float]) -> None:
        self._source = source
        self._clock = clock

    async def read(self, _coin: str) -> ContextSection:
        now = self._clock()
        seen = await self._source.latest(now)
        words = "" if seen.before is None else f", {seen.before:.0f} a day before"
        return section(
            SectionName.FEAR_GREED,
            FearGreedIndex.name,
            f"{seen.value:.0f} of 100{words}.",
            {"value": seen.value, "before": seen.before},
            as_of=seen.time,
            now=now,
        )


class LiquidationsReader:
    def __init__(self, source: OkxPublic, clock: Callable[[], float]) -> None:
        self._source = source
        self._clock = clock

    async def read(self, coin: str) -> ContextSection:
        now = self._clock()
        hour = await self._source.liquidations(coin, now)
        least = "" if hour.whole else "at least "
        return section(
            SectionName.LIQUIDATIONS,
            okx.SOURCE,
            f"Liquidated within the hour: {least}longs {hour.long_usd:,.0f}, "
            f"shorts {hour.short_usd:,.0f} USD.",
            {"long_usd": hour.long_usd, "short_usd": hour.short_usd},
            as_of=now,
            now=now,
        )


class SimulatedReader:
    """One kind of source of the demo's world, by what its own market does."""

    def __init__(self, name: SectionName, source: DemoSurroundings) -> None:
        self._name = name
        self._source = source

    async def read(self, coin: str) -> ContextSection:
        seen = await self._source.read(coin, 0.0)
        numbers = seen.numbers.get(self._name.value)
        if numbers is None:
            return unavailable(self._name, surroundings.SOURCE, "the demo has none")
        told = ", ".join(
            f"{field.replace('_', ' ')} {number:,.4g}" for field, number in numbers.items()
        )
        words = f"Simulated: {told}."
        now = seen.time
        return section(self._name, surroundings.SOURCE, words, numbers, as_of=now, now=now)


SIMULATED = (
    SectionName.OPTIONS,
    SectionName.FEAR_GREED,
    SectionName.LIQUIDATIONS,
    SectionName.MACRO,
)


def curve_days(two: Sequence[DayValue], ten: Sequence[DayValue]) -> list[float]:
    """The 10-year less the 2-year yield on each day that has both, the oldest first."""
    short = {reading.day: reading.value for reading in two}
    return [day_yield.value - short[day_yield.day] for day_yield in ten if day_yield.day in short]


def last_change(days: Sequence[DayValue]) -> float | None:
    changes = [after.value / before.value - 1 for before, after in pairwise(days) if before.value]
    return changes[-1] if changes else None


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


class MarketObserver(Struct, eq=False):
    """Sees one venue's public market, and asks other sources for the rest.

    `contracts` are those of the venue that orders go to, where it is not this market.
    """

    market: BinancePublic
    readers: Mapping[SectionName, SectionReader] = {}
    ingestion: Ingestion | None = None
    stream: BookStream | None = None
    elsewhere: Elsewhere | None = None
    contracts: TradedContracts | None = None
    sample_seconds: float = 1.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def look(self, question: DeskQuestion) -> DeskObservation:
        symbol = question.symbol
        slow: Literal["4h", "1d"] = "4h" if question.mode is TradeMode.SWING else "1d"
        ask = self.market
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
                for name, reader in self.readers.items()
            ]
        clock, contract, hourly, slower, premium, points, paid, looks = asked
        now, rules, hours = clock.result(), contract.result(), hourly.result()
        funding, books = premium.result(), looks.result()
        known = {section.name: section for section in (task.result() for task in outside)}
        time = 0 if isinstance(now, MarketError) else int(now)
        closed = _closed(hours, "1h", time)
        seen = (
            _funding_section(ask.name, _owned(funding, own.result()), time, others.result()),
            _flow_section(self.market.name, closed, time),
            _book_section(self.market.name, books, time),
            *_own_sections(question),
        )
        found = {section.name: section for section in seen} | known
        if self.ingestion is not None:
            found[SectionName.INGESTION] = await self.ingestion.ingest(found, question.coin)
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
        if self.contracts is None or self.contracts is self.market:
            return None
        return await _settled(self.contracts.funding(symbol))

    async def _elsewhere_read(self, coin: str) -> VenueAnswers | None:
        return None if self.elsewhere is None else await self.elsewhere.read(coin)

    async def _books(self, symbol: str) -> tuple[OrderBook | MarketError, ...]:
        """Looks one after the other: an imbalance that does not last is none."""
        if self.stream is None:
            return await self._looks(symbol, None)
        async with self.stream.follow_book(symbol) as live:
            with suppress(TimeoutError):
                async with asyncio.timeout(_STREAM_SECONDS):
                    await live.wait_for_book()
            return await self._looks(symbol, live)

    async def _looks(
        self, symbol: str, live: LiveBook | None
    ) -> tuple[OrderBook | MarketError, ...]:
        found = []
        for place in range(_SAMPLES):
            if place:
                await self.sleep(self.sample_seconds)
            found.append(await self._book(symbol, live))
        return tuple(found)

    async def _book(self, symbol: str, live: LiveBook | None) -> OrderBook | MarketError:
        """From the stream, where it has a book that is known to be right; else asked for."""
        if live is not None:
            with suppress(MarketError):
                return live.book(_LEVELS)
        return await _settled(self.market.book(symbol, levels=_LEVELS))

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
    others = () if elsewhere is None else elsewhere.readings
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
        for market in elsewhere.readings
    ]
    failed = [clean_text(reason) for reason in elsewhere.failures]
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
