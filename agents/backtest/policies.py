"""What is walked side by side: the advice, what it must beat, and the advice without a part."""

from __future__ import annotations

from enum import StrEnum
from math import log

import numpy as np
from msgspec.structs import replace

from agents.backtest.deciders import Advisor, by_advice, by_chance, by_recentring
from agents.backtest.walking import BacktestTerms, PolicyRun, Track, moment_at, snapped, walk
from agents.numbers.advice import WITHOUT_DEAD_BAND

WIDE_REACH = 0.2
"""`wide` is ±20 %: from P/1.2 to 1.2·P."""
PLACEBO_SEED = 0


class PolicyName(StrEnum):
    ADVICE = "advice"
    NEVER = "never"
    WIDE = "wide"
    FULL_RANGE = "full_range"
    RECENTRE = "recentre"
    PLACEBO = "placebo"
    WITHOUT_CRITIC = "without_critic"
    WITHOUT_DEAD_BAND = "without_dead_band"


def walk_all(
    track: Track, terms: BacktestTerms, advisor: Advisor, *, ablate: bool = False
) -> dict[PolicyName, PolicyRun]:
    """Every policy over the same windows, each from its own first range."""
    opening = moment_at(track, 0, 0)
    own = snapped(opening.log_price, advisor.base_sigmas * opening.sigma, terms.tick_spacing)
    reach = np.full_like(opening.price, log(1 + WIDE_REACH))
    wide = snapped(opening.log_price, reach, terms.tick_spacing)
    everywhere = (np.full_like(opening.price, -np.inf), np.full_like(opening.price, np.inf))
    advice = walk(track, terms, own, by_advice(terms, advisor))
    chance = by_chance(terms, advisor, advice.actions, PLACEBO_SEED)
    runs = {
        PolicyName.ADVICE: advice,
        PolicyName.NEVER: walk(track, terms, own),
        PolicyName.WIDE: walk(track, terms, wide),
        PolicyName.FULL_RANGE: walk(track, terms, everywhere),
        PolicyName.RECENTRE: walk(track, terms, own, by_recentring(terms, advisor)),
        PolicyName.PLACEBO: walk(track, terms, own, chance),
    }
    if ablate:
        alone = replace(advisor, critic=False)
        eager = replace(advisor, lines=WITHOUT_DEAD_BAND)
        runs[PolicyName.WITHOUT_CRITIC] = walk(track, terms, own, by_advice(terms, alone))
        runs[PolicyName.WITHOUT_DEAD_BAND] = walk(track, terms, own, by_advice(terms, eager))
    return runs
