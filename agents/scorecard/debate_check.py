"""What a model adds to a debate: the same situations decided with it, again with it, and without.

Who was right is another question, which `arms` answers.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from agents.lp.plan import Plan


class PlanDecision(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a plan recommends, told apart from every other thing it could have."""

    kind: str
    pool_id: str = ""
    tick_lower: int | None = None
    tick_upper: int | None = None


class DebateRun(Struct, frozen=True):
    """One debate about a situation."""

    plan: Plan | None
    seconds: float
    tokens: int = 0
    nano_usd: int | None = 0
    """None where a price is unknown."""
    questions: int = 0
    """Put to a model; none where the rule had decided before anybody argued."""
    answers: int = 0
    """Those that it answered usably."""
    silences: tuple[str, ...] = ()
    """Why it did not answer the others."""

    @property
    def decision(self) -> PlanDecision | None:
        return None if self.plan is None else decision_of(self.plan)


class CheckedSituation(Struct, frozen=True):
    request_id: str
    subject: str
    rules: DebateRun
    runs: tuple[DebateRun, ...]
    """With the model."""

    @property
    def model_runs(self) -> tuple[DebateRun, ...]:
        """Those in which a model said anything: the others were the rules once more."""
        return tuple(run for run in self.runs if run.answers)


class CountedShare(Struct, frozen=True):
    """So many of so many."""

    count: int
    of: int

    @property
    def part(self) -> float | None:
        return self.count / self.of if self.of else None

    @property
    def rest(self) -> CountedShare:
        return CountedShare(self.of - self.count, self.of)


class DebateCheck(Struct, frozen=True):
    situations: int
    agreed: CountedShare
    """Debates with the model that would do what the rules alone would: hold, exit or move."""
    agreed_exactly: CountedShare
    """And, where it is a move, to the very range."""
    flipped: CountedShare
    """Repeated debates that would do something else than the first about the same facts."""
    flipped_range: CountedShare
    """Or move to another range."""
    settled: CountedShare
    """Debates that the rule had decided before a model would have been asked."""
    silent: CountedShare
    """Debates in which no model answered anything that it was asked."""
    tokens: int
    nano_usd: int | None
    seconds: float
    """Of all debates with the model."""
    rules_seconds: float
    debates: int


def decision_of(plan: Plan) -> PlanDecision:
    move = plan.recommended
    if plan.choice.kind != "move":
        return PlanDecision(plan.choice.kind)
    return PlanDecision(plan.choice.kind, move.pool_id, move.tick_lower, move.tick_upper)


def debate_check(situations: Sequence[CheckedSituation]) -> DebateCheck:
    runs = [run for situation in situations for run in situation.runs]
    asked = [run for run in runs if run.questions]
    spoken = [(situation, run) for situation in situations for run in situation.model_runs]
    repeated = [
        (situation.model_runs[0], run)
        for situation in situations
        for run in situation.model_runs[1:]
    ]
    costs = [run.nano_usd for run in runs]
    return DebateCheck(
        situations=len(situations),
        agreed=_same([(run, situation.rules) for situation, run in spoken], exactly=False),
        agreed_exactly=_same([(run, situation.rules) for situation, run in spoken], exactly=True),
        flipped=_same(repeated, exactly=False).rest,
        flipped_range=_same(repeated, exactly=True).rest,
        settled=CountedShare(len(runs) - len(asked), len(runs)),
        silent=CountedShare(len(asked) - len(spoken), len(asked)),
        tokens=sum(run.tokens for run in runs),
        nano_usd=None if None in costs else sum(cost or 0 for cost in costs),
        seconds=sum(run.seconds for run in runs),
        rules_seconds=sum(situation.rules.seconds for situation in situations),
        debates=len(runs),
    )


def _same(pairs: Sequence[tuple[DebateRun, DebateRun]], *, exactly: bool) -> CountedShare:
    """How many of the pairs decided alike."""

    def decision_of(run: DebateRun) -> PlanDecision | str | None:
        decision = run.decision
        return decision if exactly or decision is None else decision.kind

    return CountedShare(
        sum(decision_of(run) == decision_of(other) for run, other in pairs), len(pairs)
    )
