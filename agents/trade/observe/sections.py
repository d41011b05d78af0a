"""One kind of context from its source or the reason there is none; the sources beside the venue."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from agents.trade.facts import ContextSection
from agents.trade.indicators import z_score
from agents.trade.terms import SectionName, SectionStatus
from chain.exchange.public import deribit, fear_greed, fred, okx, surroundings
from chain.exchange.public.deribit import DeribitPublic
from chain.exchange.public.fear_greed import FearGreedIndex
from chain.exchange.public.fred import DayValue, Fred
from chain.exchange.public.market import VenueReading
from chain.exchange.public.okx import OkxPublic
from chain.exchange.public.surroundings import DemoSurroundings

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
    """What several venues told; `failed` are the words of those that told nothing."""

    @property
    def found(self) -> tuple[VenueReading, ...]: ...

    @property
    def failed(self) -> tuple[str, ...]: ...


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
            fred.SOURCE,
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
            fear_greed.SOURCE,
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
        hour = await self._source.liquidated(coin, now)
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
