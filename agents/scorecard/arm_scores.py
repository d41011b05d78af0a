"""What the arms came to, with intervals, and the smallest effect that could have been seen."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import sqrt
from statistics import fmean, stdev

from msgspec import Struct

from agents.lp.propose import candidates_of, shapes_by_rules
from agents.scorecard.arms import (
    Arm,
    ArmAnswer,
    ChosenForm,
    JudgedSituation,
    guard_choice,
    hedge_score,
    reference,
    taken_by_rules,
    taken_of,
)
from agents.scorecard.debate_check import CountedShare
from agents.scorecard.score import FEWEST_WEEKS, WeekInterval, by_week

_OTHERS = 8
"""Other situations whose choice is tried in one."""
_FOUR_TIMES_IN_FIVE = 2.8
"""An effect of so many standard errors is found with 80 % probability at the 5 % level."""


class ArmScore(Struct, frozen=True, rename="camel"):
    """How one arm did over the situations that every arm finished; None is unknown."""

    arm: Arm
    over_rules: WeekInterval | None
    skill: WeekInterval | None
    as_said: WeekInterval | None
    brier: WeekInterval | None
    flips: CountedShare
    false_numbers: CountedShare
    questions: int
    silences: int
    tokens: int
    nano_usd: int | None
    """None where a price is unknown."""


class ArmsReport(Struct, frozen=True):
    situations: int
    """Those that every arm finished."""
    weeks: int
    scores: tuple[ArmScore, ...]


def attempts_of(arm: Arm, times: int) -> int:
    """The rules say the same however often they are asked."""
    return 1 if arm is Arm.RULES else times


def arms_report(
    situations: Sequence[JudgedSituation],
    arms: Sequence[Arm],
    times: int,
    answers: Iterable[ArmAnswer],
) -> ArmsReport:
    by_place = {(answer.situation, answer.arm, answer.attempt): answer for answer in answers}
    places = [(arm, attempt) for arm in arms for attempt in range(attempts_of(arm, times))]
    complete = [
        situation
        for situation in situations
        if all((situation.request_id, *place) in by_place for place in places)
    ]
    scores = []
    for arm in arms:
        attempts = range(attempts_of(arm, times))
        pairs = [
            (situation, [by_place[situation.request_id, arm, number] for number in attempts])
            for situation in complete
        ]
        scores.append(_scored(arm, pairs))
    return ArmsReport(len(complete), len({situation.week for situation in complete}), tuple(scores))


def smallest_effect(situations: Sequence[JudgedSituation]) -> float | None:
    """Dollars for each $10,000 that so many situations could show, by the options they leave.

    From what the rules' own candidates came to, before any model is asked.
    """
    differences: list[float] = []
    for place, situation in enumerate(situations):
        moves = candidates_of(situation.context, shapes_by_rules(situation.context, ()))
        if not moves:
            continue
        value = hedge_score(situation, taken_of(moves[place % len(moves)].candidate))
        own = hedge_score(situation, taken_by_rules(situation))
        differences += [] if value is None or own is None else [value - own]
    if len(differences) < FEWEST_WEEKS:
        return None
    return _FOUR_TIMES_IN_FIVE * stdev(differences) / sqrt(len(differences))


_Answered = tuple[JudgedSituation, list[ArmAnswer]]


def _scored(arm: Arm, pairs: Sequence[_Answered]) -> ArmScore:
    weeks = [situation.week for situation, _ in pairs]
    each = [answer for _, several in pairs for answer in several]
    again = [(several[0], answer) for _, several in pairs for answer in several[1:]]
    costs = [answer.nano_usd for answer in each]
    rules = [hedge_score(situation, taken_by_rules(situation)) for situation, _ in pairs]
    done = [
        _mean(hedge_score(situation, answer.taken) for answer in several)
        for situation, several in pairs
    ]
    said = [
        _mean(hedge_score(situation, answer.said) for answer in several)
        for situation, several in pairs
    ]
    elsewhere = [
        _mean(_tried(situation, several[0].form) for several in _others(pairs, place))
        for place, (situation, _) in enumerate(pairs)
    ]
    return ArmScore(
        arm=arm,
        over_rules=by_week(_less(done, rules), weeks),
        skill=by_week(_less(done, elsewhere), weeks),
        as_said=by_week(_less(said, rules), weeks),
        brier=by_week([_brier(situation, several) for situation, several in pairs], weeks),
        flips=CountedShare(sum(answer.taken != other.taken for answer, other in again), len(again)),
        false_numbers=CountedShare(
            sum(answer.false_numbers for answer in each), sum(answer.numbers for answer in each)
        ),
        questions=sum(answer.calls for answer in each),
        silences=sum(answer.silences for answer in each),
        tokens=sum(answer.tokens for answer in each),
        nano_usd=None if None in costs else sum(cost or 0 for cost in costs),
    )


def _others(pairs: Sequence[_Answered], place: int) -> Iterator[list[ArmAnswer]]:
    """The arm's answers in some other situations, the next ones, going round at the end."""
    for step in range(1, min(_OTHERS, len(pairs) - 1) + 1):
        yield pairs[(place + step) % len(pairs)][1]


@lru_cache(maxsize=4_096)
def _tried(situation: JudgedSituation, form: ChosenForm) -> float | None:
    return hedge_score(situation, taken_of(guard_choice(situation, form)))


def _brier(situation: JudgedSituation, answers: Sequence[ArmAnswer]) -> float | None:
    named = taken_of(reference(situation.context)).stake
    chances = [answer.chance for answer in answers if answer.chance is not None]
    if named is None or not chances:
        return None
    pool_id = reference(situation.context).pool_id
    stayed = situation.course(pool_id, 1).stays_in(named.ticks)
    return fmean((chance - stayed) ** 2 for chance in chances)


def _mean(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if not known or None in known else fmean(value or 0.0 for value in known)


def _less(values: Sequence[float | None], others: Sequence[float | None]) -> list[float | None]:
    return [
        None if value is None or other is None else value - other
        for value, other in zip(values, others, strict=True)
    ]
