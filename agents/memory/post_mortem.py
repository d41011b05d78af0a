"""One trade that has ended: how it was set up, what came of it, what to mind next time."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

CHANNEL = "SYSTEM_POST_MORTEM"
"""What a post-mortem is filed under; news and the like are never found there."""

ExitKind = Literal["stop", "take_profit", "close"]


class EndedTrade(Struct, frozen=True):
    """What became of a plan on the venue, by its own fills."""

    closed_at: int
    entry: float | None
    """None where it was not opened by a plan of this desk."""
    exit: float
    how: ExitKind
    pnl_pct: float | None
    """Of what was opened, after fees."""

    @property
    def won(self) -> bool | None:
        return None if self.pnl_pct is None else self.pnl_pct > 0

    @property
    def words(self) -> str:
        how = self.how.replace("_", " ")
        if self.entry is None or self.pnl_pct is None:
            return f"left by {how} at {self.exit:.6g}; what was paid for it is not known here"
        side = "won" if self.won else "lost"
        return f"{side} {self.pnl_pct:+.2f} % by {how}, {self.entry:.6g} to {self.exit:.6g}"


class TradeSetup(Struct, frozen=True):
    """What was known when the plan was made."""

    plan_id: str
    symbol: str
    mode: str
    objective: str
    decision: str
    regime: str
    anomalies: tuple[str, ...]
    biases: tuple[str, ...]
    """Each expert and what it said, like `macro BEARISH`."""
    win_pct: float | None
    """The odds the plan told; None for a hedge."""

    @property
    def words(self) -> str:
        parts = (self.symbol, self.mode, self.objective, self.decision, self.regime)
        return " ".join((*parts, *self.anomalies, *self.biases))


class PostMortem(Struct, frozen=True):
    memory_id: str
    """The plan's own id: a trade ends once."""
    time: int
    symbol: str
    setup: str
    outcome: str
    constraint: str
    won: bool | None
    pnl_pct: float | None
    """None of what somebody else had opened."""
    win_pct: float | None
    channel: str = CHANNEL
    decision: str = ""
    regime: str = ""
    """Both empty in lines of an older form."""

    @property
    def text(self) -> str:
        return f"{self.setup} {self.outcome} {self.constraint}"


def written(setup: TradeSetup, ended: EndedTrade) -> PostMortem:
    """By the rules: the lesson names what the loss or the gain hung on."""
    return PostMortem(
        memory_id=setup.plan_id,
        time=ended.closed_at,
        symbol=setup.symbol,
        setup=setup.words,
        outcome=ended.words,
        constraint=_constraint(setup, ended),
        won=ended.won,
        pnl_pct=ended.pnl_pct,
        win_pct=setup.win_pct,
        decision=setup.decision,
        regime=setup.regime,
    )


def _constraint(setup: TradeSetup, ended: EndedTrade) -> str:
    where = f"{setup.decision} in {setup.regime}"
    if setup.anomalies:
        where = f"{where} with {', '.join(setup.anomalies)}"
    if ended.won is None:
        return f"{where} ended what this desk had not opened: ask what it cost before judging it"
    if ended.won:
        return f"{where} has worked: size it no larger for that"
    if ended.how == "stop":
        return f"{where} was stopped out: ask for a wider stop or a stronger vote"
    return f"{where} did not pay: ask what has changed before repeating it"
