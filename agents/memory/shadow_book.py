"""Every setup the desk drafts, sent or not, judged on the candles that follow: what odds rest on.

A setup is judged as strictly as a paper trade: it opens with the next candle, its stop comes first
where a candle touches both, a profit counts once the price has traded through it, costs are paid.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from math import exp, inf, log, log1p
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agents.memory.memory import EndedTrade, TradeSetup, write_lesson
from chain.base.sqlite import open_versioned, transaction
from chain.exchange.public.market import Candle, FundingPayment

SetupExit = Literal["stop", "take_profit", "void"]


class SetupEnd(NamedTuple):
    closed_at: int
    exit: float
    how: SetupExit
    """`void` where the market opened beyond its stop or its profit: nobody was in."""
    pnl_pct: float
    """After costs, of what was opened."""
    score: float
    """What it gained before costs, of the way from stop to profit: nothing on average by chance."""


class ShadowSetup(Struct, frozen=True, kw_only=True):
    setup: TradeSetup
    market: str
    made_at: int
    """By the market's clock."""
    entry: float
    stop: float
    take_profit: float
    notional_usd: float
    cost_pct: float
    """Fees and slippage of both ways, of its notional."""
    refused_by: str = ""
    """The stage that refused it; empty where it became a plan."""
    overlaps: bool = False
    """Another of its coin was open: it is judged, and proves nothing."""
    opened: float | None = None
    judged_until: int = 0
    funding_pct: float = 0.0
    """Paid less received."""
    ended: SetupEnd | None = None

    @property
    def sign(self) -> int:
        return 1 if self.take_profit > self.stop else -1

    @property
    def fair(self) -> float:
        """How often a price that drifts nowhere wins from where it was opened."""
        opened = self.entry if self.opened is None else self.opened
        return abs(opened - self.stop) / abs(self.take_profit - self.stop)

    @property
    def proves(self) -> bool:
        return self.ended is not None and self.ended.how != "void" and not self.overlaps


def judge_setup(
    setup: ShadowSetup,
    candles: Sequence[Candle],
    seconds: int,
    payments: Sequence[FundingPayment] = (),
) -> ShadowSetup:
    """The setup after these closed candles; those it has been through are passed over."""
    sign, opened, paid = setup.sign, setup.opened, setup.funding_pct
    stop, profit = setup.stop, setup.take_profit
    until, end = max(setup.judged_until, setup.made_at), None
    for candle in candles:
        if candle.time < until:
            continue
        until, enters = candle.time + seconds, opened is None
        if opened is None:
            opened = candle.open
            if (opened - stop) * sign <= 0 or (profit - opened) * sign <= 0:
                end = SetupEnd(until, opened, "void", 0.0, 0.0)
                break
        left = _left_at(candle, sign, stop, profit, enters=enters)
        if left is not None:
            gain = (left[1] - opened) * sign
            net = gain / opened * 100 - setup.cost_pct - paid
            end = SetupEnd(until, left[1], left[0], net, gain / abs(profit - stop))
            break
        for payment in payments:
            if candle.time < payment.time <= until:
                paid += sign * payment.rate * (payment.mark or candle.close) / opened * 100
    return replace(setup, opened=opened, judged_until=until, funding_pct=paid, ended=end)


def _left_at(
    candle: Candle, sign: int, stop: float, profit: float, *, enters: bool
) -> tuple[SetupExit, float] | None:
    """A market that opened beyond the stop was never at it; in its first candle nothing is won."""
    if sign > 0:
        if candle.low <= stop:
            return "stop", min(stop, candle.open)
        return ("take_profit", profit) if candle.high > profit and not enters else None
    if candle.high >= stop:
        return "stop", max(stop, candle.open)
    return ("take_profit", profit) if candle.low < profit and not enters else None


_CHANCE = 0.01
_BETS = (0.02, 0.04, 0.08, 0.16, 0.32)
"""Of its capital, what a gambler puts on each setup."""
_HALVINGS = 30


def least_excess(scores: Sequence[float]) -> float:
    """What the scores prove their mean to be above, at 99 %, however often one looks.

    A gambler who bets that scores are above some mean grows rich once in a hundred times where they
    are not, whenever he stops (Ville). The bound is the largest mean at which he has grown rich.
    """
    if capital(scores, 0.0) < 1 / _CHANCE:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        mean = (low + high) / 2
        low, high = (mean, high) if capital(scores, mean) >= 1 / _CHANCE else (low, mean)
    return low


def capital(scores: Sequence[float], mean: float) -> float:
    """What became of one unit, spread over bets of several sizes."""
    return sum(_grown(scores, mean, bet) for bet in _BETS) / len(_BETS)


def _grown(scores: Sequence[float], mean: float, bet: float) -> float:
    grown = 0.0
    for score in scores:
        won = bet * (score - mean)
        if won <= -1:
            return 0.0
        grown += log1p(won)
    return inf if grown > _LARGEST else exp(grown)


_LARGEST = log(1e300)


class ShadowSum(NamedTuple):
    """How setups of one decision in one regime came out, and what they taught."""

    decision: str
    regime: str
    ended: int
    won: int
    fair_wins: float
    mean_pct: float
    """After costs."""
    lesson: str
    """Of the last one."""
    came_true: int
    """Of the lessons before it, those that the next of the kind bore out."""


def shadow_sums(setups: Iterable[ShadowSetup]) -> tuple[ShadowSum, ...]:
    """Of those that prove something, the commonest kinds first."""
    kinds: dict[tuple[str, str], list[tuple[ShadowSetup, EndedTrade]]] = {}
    for setup in setups:
        ended = as_ended(setup)
        if ended is not None and setup.proves:
            kind = setup.setup.decision, setup.setup.regime
            kinds.setdefault(kind, []).append((setup, ended))
    found = [
        ShadowSum(
            *kind,
            len(group),
            sum(ended.how == "take_profit" for _, ended in group),
            sum(setup.fair for setup, _ in group),
            sum(ended.pnl_pct or 0.0 for _, ended in group) / len(group),
            write_lesson(group[-1][0].setup, group[-1][1]).constraint,
            sum(before.was_won == after.was_won for (_, before), (_, after) in pairwise(group)),
        )
        for kind, group in kinds.items()
    ]
    return tuple(sorted(found, key=lambda kind: (-kind.ended, kind.decision, kind.regime)))


def as_ended(setup: ShadowSetup) -> EndedTrade | None:
    """As a trade that ended; None of what nobody was in, or is open still."""
    end = setup.ended
    if end is None or end.how == "void":
        return None
    return EndedTrade(end.closed_at, setup.opened, end.exit, end.how, end.pnl_pct)


_VERSION = 1
_TABLE = (
    "CREATE TABLE IF NOT EXISTS setups (plan_id TEXT PRIMARY KEY, market TEXT NOT NULL,"
    " symbol TEXT NOT NULL, open INTEGER NOT NULL, counts INTEGER NOT NULL, body BLOB NOT NULL)"
)


class ShadowBook:
    """One file; every process of a home may write."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator["ShadowBook"]:
        connection = open_versioned(path, _VERSION)
        try:
            connection.execute(_TABLE)
            yield cls(connection)
        finally:
            connection.close()

    def add(self, setup: ShadowSetup) -> ShadowSetup:
        """The same plan once; of a coin one open setup counts."""
        with transaction(self._connection):
            taken = self._connection.execute(
                "SELECT 1 FROM setups WHERE market = ? AND symbol = ? AND open AND counts LIMIT 1",
                (setup.market, setup.setup.symbol),
            ).fetchone()
            setup = replace(setup, overlaps=taken is not None)
            self._connection.execute(
                "INSERT OR IGNORE INTO setups VALUES (?, ?, ?, 1, ?, ?)",
                (
                    setup.setup.plan_id,
                    setup.market,
                    setup.setup.symbol,
                    not setup.overlaps,
                    msgspec.json.encode(setup),
                ),
            )
        return setup

    def keep(self, setup: ShadowSetup) -> None:
        """Unless somebody has judged it further meanwhile."""
        with transaction(self._connection):
            row = self._connection.execute(
                "SELECT body FROM setups WHERE plan_id = ?", (setup.setup.plan_id,)
            ).fetchone()
            known = None if row is None else msgspec.json.decode(row[0], type=ShadowSetup)
            if known is None or known.ended or known.judged_until > setup.judged_until:
                return
            self._connection.execute(
                "UPDATE setups SET open = ?, body = ? WHERE plan_id = ?",
                (setup.ended is None, msgspec.json.encode(setup), setup.setup.plan_id),
            )

    def setups(self, market: str, *, only_open: bool = False) -> tuple[ShadowSetup, ...]:
        """In the order in which they were made."""
        where = " AND open" if only_open else ""
        rows = self._connection.execute(
            f"SELECT body FROM setups WHERE market = ?{where} ORDER BY rowid",  # noqa: S608
            (market,),
        ).fetchall()
        return tuple(msgspec.json.decode(row[0], type=ShadowSetup) for row in rows)
