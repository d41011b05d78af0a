"""What features watch beside positions, as the monitor finds it: it knows no feature by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from enum import Enum, auto
from typing import Protocol

from msgspec import Struct

from agents.monitor.alerts.alert import Finding
from agents.monitor.rules.situation import Situation
from agents.monitor.rules.thresholds import Thresholds
from chain.contracts.networks import Address, Network
from chain.protocols.reference import PositionRef


class Found(Enum):
    """When a feature's alert is raised."""

    OF_POSITION = auto()
    """As a position is judged."""
    OF_GONE = auto()
    """As a position turns out to hold nothing any more."""
    AS_NEWS = auto()
    """For as long as the feature tells of it."""
    IN_TENDING = auto()
    """As the feature brings to its end what was approved."""


class FeatureAlert(Struct, frozen=True):
    """One kind of alert that a feature raises."""

    resolved: str
    """Said when it no longer stands."""
    found: Found


class Attached(Protocol):
    """What is attached to positions, as it was read for one look."""

    def refs(self, wallet: Address) -> Set[PositionRef]: ...

    def findings(
        self, situation: Situation, thresholds: Thresholds, standing: Collection[str]
    ) -> Sequence[Finding]:
        """Given the kinds whose alerts stand already."""

    def of_gone(self, network: Network, ref: PositionRef) -> Sequence[Finding]: ...


class AttachedWatch(Protocol):
    async def tend(self) -> Mapping[str, Finding] | None:
        """Brings to its end what was approved and was cut off; what is urgent, by its label.

        None where that cannot be read.
        """

    async def look(self) -> Attached | None:
        """None where it cannot be read: alerts about it stay as they are."""


class FeatureNews(Struct, frozen=True):
    """What a feature wants told, for as long as it is so."""

    finding: Finding
    label: str
    position_id: PositionRef | None = None


class WatchedFeatures(Struct, frozen=True):
    """All that features add to the watch of one network."""

    alerts: Mapping[str, FeatureAlert] = {}
    """By kind."""
    attached: Callable[[], AttachedWatch | None] = lambda: None
    news: Callable[[], Sequence[FeatureNews]] = tuple


class NothingAttached:
    def refs(self, _: Address) -> Set[PositionRef]:
        return frozenset()

    def findings(self, _: Situation, __: Thresholds, ___: Collection[str]) -> Sequence[Finding]:
        return ()

    def of_gone(self, _: Network, __: PositionRef) -> Sequence[Finding]:
        return ()
