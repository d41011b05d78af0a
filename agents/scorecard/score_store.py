"""Scores that are kept: a plan's file may go, what became of the plan stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from msgspec import to_builtins

from agents.scorecard.score import HORIZON_DAYS, HorizonScore
from chain.base.store import Store, read_as

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
        read = (read_as(HorizonScore, one) for one in kept)
        return [one for one in read if one is not None and one.chain_id == self._chain_id]

    def finished(self) -> frozenset[str]:
        """The plans of which every horizon was judged."""
        counted = Counter(one.plan_id for one in self.scores())
        return frozenset(one for one, count in counted.items() if count == len(HORIZON_DAYS))

    def keep(self, scores: Iterable[HorizonScore]) -> None:
        written = {self._key(one): to_builtins(one) for one in scores}
        self._store.put_many(_NAMESPACE, written, now=self._clock())

    def forget(self, scores: Iterable[HorizonScore]) -> None:
        for one in scores:
            self._store.forget_key(_NAMESPACE, self._key(one))

    def _key(self, score: HorizonScore) -> str:
        return f"{self._chain_id}/{score.plan_id}/{score.days}"
