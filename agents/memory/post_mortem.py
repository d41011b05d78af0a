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
    entry: float
    exit: float
    how: ExitKind
    pnl_usd: float
    """After fees."""
    pnl_pct: float
    """Of what was opened, after fees."""

    @property
    def won(self) -> bool:
        return self.pnl_usd > 0


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
    won: bool
    pnl_pct: float
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
    side = "won" if ended.won else "lost"
    how = ended.how.replace("_", " ")
    return PostMortem(
        memory_id=setup.plan_id,
        time=ended.closed_at,
        symbol=setup.symbol,
        setup=setup.words,
        outcome=f"{side} {ended.pnl_pct:+.2f} % by {how}, {ended.entry:.6g} to {ended.exit:.6g}",
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
    if ended.won:
        return f"{where} has worked: size it no larger for that"
    if ended.how == "stop":
        return f"{where} was stopped out: ask for a wider stop or a stronger vote"
    return f"{where} did not pay: ask what has changed before repeating it"
