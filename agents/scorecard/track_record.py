"""What became of plans like this one: said under a plan when it is shown, never kept in it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from agents.lp.plan import Plan
from agents.scorecard.score import AdviceKind, BeatCount, HorizonScore, ScoreStore, beat_count
from agents.scorecard.scoring import kind_of
from chain.base.store import Store

_PREFERRED_DAYS = (7, 1)
"""A week is what the rule looks ahead; until one is over a day must do."""


class _Compared(NamedTuple):
    """How a kind of advice is called, and what it is compared with."""

    singular: str
    plural: str
    against: str
    over: Callable[[HorizonScore], float | None]


_COMPARED = {
    AdviceKind.MOVE: _Compared("move", "moves", "keeping it", lambda score: score.over_hold),
    AdviceKind.HOLD: _Compared(
        "plan to keep it", "plans to keep it", "closing", lambda score: score.over_exit
    ),
    AdviceKind.EXIT: _Compared(
        "plan to close", "plans to close", "keeping it", lambda score: score.over_hold
    ),
    AdviceKind.CREATE: _Compared(
        "new position", "new positions", "keeping the tokens", lambda score: score.over_hold
    ),
    AdviceKind.KEEP: _Compared(
        "plan to keep tokens", "plans to keep tokens", "a wide range", lambda score: score.over_wide
    ),
}


class TrackRecord(NamedTuple):
    """How often plans of one kind beat what they are compared with."""

    kind: AdviceKind
    days: int
    beaten: BeatCount

    @property
    def words(self) -> str:
        """`9 of 14 such moves beat keeping it after 7 days`, to end a sentence with."""
        compared, judged = _COMPARED[self.kind], self.beaten.judged
        name = compared.singular if judged == 1 else compared.plural
        after = "1 day" if self.days == 1 else f"{self.days} days"
        return f"{self.beaten.beat} of {judged} such {name} beat {compared.against} after {after}"

    @property
    def against(self) -> str:
        return _COMPARED[self.kind].against


def track_record(plan: Plan, store: Store | None) -> TrackRecord | None:
    """Of this network's plans of the same kind; None until one of them was judged."""
    if store is None:
        return None
    scores = ScoreStore(store, plan.chain_id, lambda: 0.0).scores()
    return record_of(kind_of(plan), [score for score in scores if score.plan_id != plan.plan_id])


def record_of(kind: AdviceKind, scores: Sequence[HorizonScore]) -> TrackRecord | None:
    for days in _PREFERRED_DAYS:
        alike = [score for score in scores if score.kind is kind and score.days == days]
        count = beat_count(alike, _COMPARED[kind].over)
        if count.judged:
            return TrackRecord(kind, days, count)
    return None
