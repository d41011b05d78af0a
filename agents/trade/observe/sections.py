"""One kind of context from its source, or the reason there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from agents.trade.facts import ContextSection
from agents.trade.terms import SectionName, SectionStatus

if TYPE_CHECKING:
    from chain.exchange.public.market import VenueReading

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
