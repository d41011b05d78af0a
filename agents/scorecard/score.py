"""How a plan did over a horizon, kept for good, and many scores in few figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from enum import StrEnum
from math import ceil
from statistics import fmean, median, stdev
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct, to_builtins

from agents.numbers.survival import ReliabilityBin
from chain.base.store import Store, read_as

HORIZON_DAYS = (1, 7, 30)

DecidedBy: TypeAlias = Literal["rules", "model"]
Option: TypeAlias = Literal["hold", "exit", "wide", "rules", "wanted"]


class AdviceKind(StrEnum):
    MOVE = "move"
    HOLD = "hold"
    EXIT = "exit"
    CREATE = "create"
    KEEP = "keep"
    """Not opening the position somebody asked for."""

    @property
    def acts(self) -> bool:
        """Whether there is anything to apply."""
        return self not in (AdviceKind.HOLD, AdviceKind.KEEP)


class JudgedBlock(NamedTuple):
    """Up to which block the chain was read."""

    number: int
    hash: str


class StayOutcome(NamedTuple):
    """A range's chance to hold the price for this long, and whether it did."""

    said: float
    stayed: bool


class FeeOutcome(NamedTuple):
    """The ends of a day's expected fees, and what they were, in dollars."""

    low: float
    high: float
    earned: float

    @property
    def is_inside(self) -> bool:
        return self.low <= self.earned <= self.high


class OptionWorths(Struct, frozen=True):
    """What each option came to be worth in units of currency1, after its cost; None is unknown."""

    choice: float | None
    hold: float | None
    exit: float | None
    wide: float | None
    rules: float | None
    wanted: float | None = None
    """What a model would have done that was overruled."""


class HorizonScore(Struct, frozen=True):
    plan_id: str
    chain_id: int
    kind: AdviceKind
    decided_by: DecidedBy
    days: int
    made_at: int
    """Unix seconds, by the block the plan was made at."""
    read_at: JudgedBlock
    worth_before: float
    """Of what could be used, in units of currency1 at the plan's own price."""
    unit1_usd: float | None
    """What a unit of currency1 was worth then."""
    worths: OptionWorths
    """At the last price: mostly what the price did to the tokens of each."""
    rules_same: bool
    """Whether the rules alone chose the same."""
    stays: tuple[StayOutcome, ...]
    """Of the horizons the card gives a chance for."""
    fees: tuple[FeeOutcome, ...]
    """Of the horizon of a day."""
    hedged: OptionWorths | None = None
    """Fees − LVR − cost of each; None of a score that was kept before these were."""
    objected: bool = False
    """Whether a model was overruled."""

    def over(self, other: Option, *, at_last_price: bool = False) -> float | None:
        """By which part of its worth before the choice beat another option, the price left out."""
        results = self.worths if at_last_price else self.hedged
        if results is None:
            return None
        chosen: float | None = results.choice
        rival: float | None = getattr(results, other)
        if chosen is None or rival is None or self.worth_before <= 0:
            return None
        return (chosen - rival) / self.worth_before

    def price_part(self, other: Option) -> float | None:
        """What the price did to the tokens of the one and the other."""
        whole, earned = self.over(other, at_last_price=True), self.over(other)
        return None if whole is None or earned is None else whole - earned

    @property
    def over_hold(self) -> float | None:
        """None also where the choice is to hold."""
        return self.over("hold") if self.kind.acts else None

    @property
    def over_exit(self) -> float | None:
        return None if self.kind is AdviceKind.EXIT else self.over("exit")

    @property
    def over_wide(self) -> float | None:
        return self.over("wide")

    @property
    def over_rules(self) -> float | None:
        return None if self.rules_same else self.over("rules")

    @property
    def over_wanted(self) -> float | None:
        return self.over("wanted") if self.objected else None

    def dollars(self, part: float) -> float | None:
        """A part of the worth before, in dollars."""
        return None if self.unit1_usd is None else part * self.worth_before * self.unit1_usd


_NAMESPACE = "scorecard"


class ScoreStore:
    """The scores of one network's plans, each written once its horizon is over."""

    def __init__(self, store: Store, chain_id: int, clock: Callable[[], float]) -> None:
        self._store = store
        self._chain_id = chain_id
        self._clock = clock

    def scores(self) -> list[HorizonScore]:
        """All that can be read; one that cannot is as if it was never written."""
        kept = self._store.items(_NAMESPACE).values()
        read = (read_as(HorizonScore, row) for row in kept)
        return [score for score in read if score is not None and score.chain_id == self._chain_id]

    def finished_plans(self) -> frozenset[str]:
        """The plans of which every horizon was judged."""
        counted = Counter(score.plan_id for score in self.scores())
        return frozenset(kind for kind, count in counted.items() if count == len(HORIZON_DAYS))

    def keep(self, scores: Iterable[HorizonScore]) -> None:
        written = {self._key(score): to_builtins(score) for score in scores}
        self._store.put_many(_NAMESPACE, written, now=self._clock())

    def forget(self, scores: Iterable[HorizonScore]) -> None:
        for score in scores:
            self._store.forget_key(_NAMESPACE, self._key(score))

    def _key(self, score: HorizonScore) -> str:
        return f"{self._chain_id}/{score.plan_id}/{score.days}"


class BeatCount(Struct, frozen=True, rename="camel"):
    """How often the choice was worth more than another option, of the times both are known."""

    beat: int
    judged: int
    median: float | None
    """Of the differences, as parts of the worth before; None where none is known."""
    median_usd: float | None
    more_needed: int | None = None
    """Plans, until so large a mean would stand clear of chance; None with fewer than two."""


class AdviceScore(Struct, frozen=True, rename="camel"):
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
    price: float | None
    """What the price did beside, the median against the first of Keep and Close that is another
    option than the choice, as a part of the worth before."""


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
    def judged_count(self) -> int:
        return self.inside + self.below + self.above


class DebateScore(Struct, frozen=True):
    """Plans a model argued about, against what the rules alone would have chosen."""

    days: int
    better: int
    worse: int
    same: int
    unknown: int
    median: float | None
    objections: int = 0
    """Of models that were overruled, where it is known what became of both."""
    right: int = 0
    """How many of them wanted what came out better."""


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
        plans=len({score.plan_id for score in scores}),
        advice=tuple(_advice(scores, applied)),
        stays=tuple(_stays(scores)),
        fees=_fees(scores),
        debates=tuple(_debates(scores)),
    )


def beat_count(
    scores: Iterable[HorizonScore], over: Callable[[HorizonScore], float | None]
) -> BeatCount:
    known = [(score, part) for score in scores if (part := over(score)) is not None]
    dollars = [score.dollars(part) for score, part in known]
    priced = [dollar for dollar in dollars if dollar is not None]
    return BeatCount(
        beat=sum(part > 0 for _, part in known),
        judged=len(known),
        median=median(part for _, part in known) if known else None,
        median_usd=median(priced) if priced else None,
        more_needed=_more_needed([part for _, part in known]),
    )


def _more_needed(parts: Sequence[float]) -> int | None:
    """By the mean and its spread so far, for 80 % power at the 5 % level."""
    if len(parts) < _FEWEST_PLANS or not (mean := fmean(parts)):
        return None
    return max(0, ceil((_STANDARD_ERRORS * stdev(parts) / mean) ** 2) - len(parts))


_FEWEST_PLANS = 2
_STANDARD_ERRORS = 2.8


def _advice(scores: Sequence[HorizonScore], applied: Container[str]) -> Iterable[AdviceScore]:
    groups: dict[tuple[AdviceKind, DecidedBy, int], list[HorizonScore]] = {}
    for horizon_score in scores:
        groups.setdefault(
            (horizon_score.kind, horizon_score.decided_by, horizon_score.days), []
        ).append(horizon_score)
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
            applied=sum(score.plan_id in applied for score in several) if kind.acts else None,
            hold=beat_count(several, lambda score: score.over_hold),
            exit=beat_count(several, lambda score: score.over_exit),
            wide=beat_count(several, lambda score: score.over_wide),
            price=_price_part(several, "hold" if kind.acts else "exit"),
        )


def _price_part(scores: Sequence[HorizonScore], other: Option) -> float | None:
    known = [part for score in scores if (part := score.price_part(other)) is not None]
    return median(known) if known else None


def _stays(scores: Sequence[HorizonScore]) -> Iterable[StayScore]:
    for days in HORIZON_DAYS:
        outcomes = [stay for score in scores if score.days == days for stay in score.stays]
        if outcomes:
            import numpy as np

            from agents.calibration.calibrate import bin_chances, calibration_error

            said = np.array([outcome.said for outcome in outcomes])
            stayed = np.array([outcome.stayed for outcome in outcomes])
            bins = bin_chances(said, stayed)
            yield StayScore(
                days=days,
                ranges=len(outcomes),
                stayed=int(stayed.sum()),
                brier=float(((said - stayed) ** 2).mean()),
                ece=calibration_error(bins),
                bins=bins,
            )


def _fees(scores: Sequence[HorizonScore]) -> FeeScore:
    outcomes = [fee for score in scores for fee in score.fees]
    return FeeScore(
        inside=sum(outcome.is_inside for outcome in outcomes),
        below=sum(outcome.earned < outcome.low for outcome in outcomes),
        above=sum(outcome.earned > outcome.high for outcome in outcomes),
    )


def _debates(scores: Sequence[HorizonScore]) -> Iterable[DebateScore]:
    for days in HORIZON_DAYS:
        argued = [score for score in scores if score.days == days and score.decided_by == "model"]
        if not argued:
            continue
        same = sum(score.rules_same for score in argued)
        counted = beat_count(argued, lambda score: score.over_rules)
        overruled = beat_count(argued, lambda score: score.over_wanted)
        yield DebateScore(
            days=days,
            better=counted.beat,
            worse=counted.judged - counted.beat,
            same=same,
            unknown=len(argued) - same - counted.judged,
            median=counted.median,
            objections=overruled.judged,
            right=overruled.judged - overruled.beat,
        )


FEWEST_WEEKS = 4
"""With fewer of them no interval is given."""
DRAWS = 1000
SEED = 0


class WeekInterval(Struct, frozen=True):
    mean: float
    low: float | None
    high: float | None
    """Of 95 %, by bootstrap over weeks."""


def by_week(values: Sequence[float | None], weeks: Sequence[int]) -> WeekInterval | None:
    """The mean and its interval, weeks drawn whole; None where nothing is known."""
    import numpy as np

    known = [(week, value) for week, value in zip(weeks, values, strict=True) if value is not None]
    if not known:
        return None
    mean = fmean(value for _, value in known)
    groups: dict[int, list[float]] = {}
    for week, value in known:
        groups.setdefault(week, []).append(value)
    if len(groups) < FEWEST_WEEKS:
        return WeekInterval(mean, None, None)
    sums = np.array([sum(several) for several in groups.values()])
    counts = np.array([len(several) for several in groups.values()])
    drawn = np.random.default_rng(SEED).integers(0, len(groups), (DRAWS, len(groups)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return WeekInterval(mean, float(low), float(high))
