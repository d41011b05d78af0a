"""Many scores in few figures: how often advice beat what it must beat, and what was said right."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from agents.scorecard.score import HORIZON_DAYS, AdviceKind, DecidedBy, HorizonScore

if TYPE_CHECKING:
    from agents.calibration.calibrate import ReliabilityBin


class BeatCount(NamedTuple):
    """How often the choice was worth more than another option, of the times both are known."""

    beat: int
    judged: int
    median: float | None
    """Of the differences, as parts of the worth before; None where none is known."""
    median_usd: float | None


class AdviceScore(Struct, frozen=True):
    """All plans of one kind, decided one way, over one horizon."""

    kind: AdviceKind
    decided_by: DecidedBy
    days: int
    plans: int
    applied: int | None
    """How many of them a person carried out; None where there is nothing to carry out."""
    hold: BeatCount
    exit: BeatCount
    wide: BeatCount


class StayScore(Struct, frozen=True):
    """Chances to stay over one horizon, every range of every plan counted."""

    days: int
    ranges: int
    stayed: int
    brier: float
    """The mean square of said minus seen: 0 is all right, 0.25 is what a coin would get."""
    ece: float
    bins: tuple[ReliabilityBin, ...]


class FeeScore(NamedTuple):
    """A day's fees against their 10–90 % interval."""

    inside: int
    below: int
    above: int

    @property
    def judged(self) -> int:
        return self.inside + self.below + self.above


class DebateScore(Struct, frozen=True):
    """Plans a model argued about, against what the rules alone would have chosen."""

    days: int
    better: int
    worse: int
    same: int
    unknown: int
    median: float | None


class ScoreSummary(Struct, frozen=True):
    plans: int
    advice: tuple[AdviceScore, ...]
    stays: tuple[StayScore, ...]
    fees: FeeScore
    debates: tuple[DebateScore, ...]


def summarise(
    scores: Sequence[HorizonScore], applied: Container[str] = frozenset()
) -> ScoreSummary:
    """Of which plans were applied a home's journal knows, by their ids."""
    return ScoreSummary(
        plans=len({one.plan_id for one in scores}),
        advice=tuple(_advice(scores, applied)),
        stays=tuple(_stays(scores)),
        fees=_fees(scores),
        debates=tuple(_debates(scores)),
    )


def beat_count(
    scores: Iterable[HorizonScore], over: Callable[[HorizonScore], float | None]
) -> BeatCount:
    known = [(one, part) for one in scores if (part := over(one)) is not None]
    dollars = [one.dollars(part) for one, part in known]
    priced = [one for one in dollars if one is not None]
    return BeatCount(
        beat=sum(part > 0 for _, part in known),
        judged=len(known),
        median=median(part for _, part in known) if known else None,
        median_usd=median(priced) if priced else None,
    )


def _advice(scores: Sequence[HorizonScore], applied: Container[str]) -> Iterable[AdviceScore]:
    groups: dict[tuple[AdviceKind, DecidedBy, int], list[HorizonScore]] = {}
    for one in scores:
        groups.setdefault((one.kind, one.decided_by, one.days), []).append(one)
    kinds = list(AdviceKind)
    for kind, decided_by, days in sorted(
        groups, key=lambda group: (kinds.index(group[0]), group[1] == "model", group[2])
    ):
        several = groups[kind, decided_by, days]
        yield AdviceScore(
            kind=kind,
            decided_by=decided_by,
            days=days,
            plans=len(several),
            applied=sum(one.plan_id in applied for one in several) if kind.acts else None,
            hold=beat_count(several, lambda one: one.over_hold),
            exit=beat_count(several, lambda one: one.over_exit),
            wide=beat_count(several, lambda one: one.over_wide),
        )


def _stays(scores: Sequence[HorizonScore]) -> Iterable[StayScore]:
    for days in HORIZON_DAYS:
        outcomes = [stay for one in scores if one.days == days for stay in one.stays]
        if outcomes:
            import numpy as np

            from agents.calibration.calibrate import binned, calibration_error

            said = np.array([one.said for one in outcomes])
            stayed = np.array([one.stayed for one in outcomes])
            bins = binned(said, stayed)
            yield StayScore(
                days=days,
                ranges=len(outcomes),
                stayed=int(stayed.sum()),
                brier=float(((said - stayed) ** 2).mean()),
                ece=calibration_error(bins),
                bins=bins,
            )


def _fees(scores: Sequence[HorizonScore]) -> FeeScore:
    outcomes = [fee for one in scores for fee in one.fees]
    return FeeScore(
        inside=sum(one.is_inside for one in outcomes),
        below=sum(one.earned < one.low for one in outcomes),
        above=sum(one.earned > one.high for one in outcomes),
    )


def _debates(scores: Sequence[HorizonScore]) -> Iterable[DebateScore]:
    for days in HORIZON_DAYS:
        argued = [one for one in scores if one.days == days and one.decided_by == "model"]
        if not argued:
            continue
        same = sum(one.rules_same for one in argued)
        counted = beat_count(argued, lambda one: one.over_rules)
        yield DebateScore(
            days=days,
            better=counted.beat,
            worse=counted.judged - counted.beat,
            same=same,
            unknown=len(argued) - same - counted.judged,
            median=counted.median,
        )
