"""Ended trades kept twice: as lines, which last, and in an index, which finds what is alike."""

import re
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from chain.base.home import FOLDER_MODE, append_line, hold_lock
from chain.base.sqlite import open_database, transaction
from chain.base.units import signed_percent

_WORDS_TABLE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS memory USING fts5"
    "(memory_id UNINDEXED, channel UNINDEXED, text, tokenize = 'unicode61 tokenchars ''_''')"
)
_WORD = re.compile(r"[A-Za-z0-9_]{2,40}")
_MOST_WORDS = 40


class IndexUnavailableError(Exception):
    """The index cannot be used: the lines beside it are read instead."""


class Match(NamedTuple):
    memory_id: str
    score: float
    """Higher is more alike."""


class LexicalIndex:
    def __init__(self, path: Path) -> None:
        try:
            self._connection = open_database(path)
            self._connection.execute(_WORDS_TABLE)
        except (sqlite3.Error, OSError) as error:
            raise IndexUnavailableError(f"the index {path.name} cannot be opened") from error

    def close(self) -> None:
        self._connection.close()

    def add(self, memory_id: str, channel: str, text: str) -> None:
        """The same id again replaces what was there."""
        try:
            with transaction(self._connection):
                self._connection.execute("DELETE FROM memory WHERE memory_id = ?", (memory_id,))
                self._connection.execute(
                    "INSERT INTO memory VALUES (?, ?, ?)", (memory_id, channel, text)
                )
        except sqlite3.Error as error:
            raise IndexUnavailableError("the index cannot be written") from error

    def holds(self, memory_id: str) -> bool:
        try:
            row = self._connection.execute(
                "SELECT 1 FROM memory WHERE memory_id = ? LIMIT 1", (memory_id,)
            ).fetchone()
        except sqlite3.Error as error:
            raise IndexUnavailableError("the index cannot be read") from error
        return row is not None

    def search(self, text: str, channel: str, most: int) -> tuple[Match, ...]:
        """Of one channel alone, the most alike first; age plays no part."""
        words = list(dict.fromkeys(_WORD.findall(text)))[:_MOST_WORDS]
        if not words:
            return ()
        asked = " OR ".join(f'"{word}"' for word in words)
        try:
            rows = self._connection.execute(
                "SELECT memory_id, -bm25(memory) AS score FROM memory"
                " WHERE memory MATCH ? AND channel = ? ORDER BY score DESC, memory_id LIMIT ?",
                (asked, channel, most),
            ).fetchall()
        except sqlite3.Error as error:
            raise IndexUnavailableError("the index cannot be read") from error
        return tuple(Match(*row) for row in rows)

    def texts(self, text: str, channels: Sequence[str], most: int) -> tuple[tuple[str, str], ...]:
        """Of these channels the ids and texts that are most alike."""
        found = [
            (match.score, match.memory_id)
            for channel in channels
            for match in self.search(text, channel, most)
        ]
        names = [name for _, name in sorted(found, reverse=True)[:most]]
        rows = (
            self._connection.execute(
                "SELECT memory_id, text FROM memory WHERE memory_id = ?", (name,)
            ).fetchone()
            for name in names
        )
        return tuple((row[0], row[1]) for row in rows if row is not None)


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
    def was_won(self) -> bool | None:
        return None if self.pnl_pct is None else self.pnl_pct > 0

    @property
    def words(self) -> str:
        how = self.how.replace("_", " ")
        if self.entry is None or self.pnl_pct is None:
            return f"left by {how} at {self.exit:.6g}; what was paid for it is not known here"
        side = "won" if self.was_won else "lost"
        gained = signed_percent(self.pnl_pct / 100)
        return f"{side} {gained} by {how}, {self.entry:.6g} to {self.exit:.6g}"


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
    fair_pct: float | None = None
    """How often a price without drift would have won it."""
    venue: str = ""
    """Where it was traded; empty of what nobody sent."""

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
    fair_pct: float | None = None
    """None in lines of an older form, and of hedges."""
    venue: str = ""
    """Empty in lines of an older form."""

    @property
    def text(self) -> str:
        return f"{self.setup} {self.outcome} {self.constraint}"


def write_lesson(setup: TradeSetup, ended: EndedTrade) -> PostMortem:
    """By the rules: the lesson names what the loss or the gain hung on."""
    return PostMortem(
        memory_id=setup.plan_id,
        time=ended.closed_at,
        symbol=setup.symbol,
        setup=setup.words,
        outcome=ended.words,
        constraint=_constraint(setup, ended),
        won=ended.was_won,
        pnl_pct=ended.pnl_pct,
        win_pct=setup.win_pct,
        fair_pct=setup.fair_pct,
        decision=setup.decision,
        regime=setup.regime,
        venue=setup.venue,
    )


def _constraint(setup: TradeSetup, ended: EndedTrade) -> str:
    where = f"{setup.decision} in {setup.regime}"
    if setup.anomalies:
        where = f"{where} with {', '.join(setup.anomalies)}"
    if ended.was_won is None:
        return f"{where} ended what this desk had not opened: ask what it cost before judging it"
    if ended.was_won:
        return f"{where} has worked: size it no larger for that"
    if ended.how == "stop":
        return f"{where} was stopped out: ask for a wider stop or a stronger vote"
    return f"{where} did not pay: ask what has changed before repeating it"


_NEWEST = 3
_LINES = "post-mortems.jsonl"
_INDEX = "index.db"


class Recalled(NamedTuple):
    post_mortem: PostMortem
    score: float | None
    """How alike it is; None where it is only among the newest."""


class TradeMemory:
    """One folder; every process on a home may write, one at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        self._index: LexicalIndex | None
        try:
            self._index = LexicalIndex(folder / _INDEX)
        except IndexUnavailableError:
            self._index = None

    def close(self) -> None:
        if self._index is not None:
            self._index.close()

    def keep(self, trade: PostMortem) -> bool:
        """Whether it was new; the same trade is kept once."""
        path = self._folder / _LINES
        with hold_lock(self._folder / f"{_LINES}.lock"):
            if any(known.memory_id == trade.memory_id for known in self.all()):
                return False
            append_line(path, msgspec.json.encode(trade))
        if self._index is not None:
            self._index.add(trade.memory_id, trade.channel, trade.text)
        return True

    def holds(self, memory_id: str) -> bool:
        """Whether the index has it; raises IndexUnavailableError where there is none."""
        return self._usable_index().holds(memory_id)

    def file_text(self, memory_id: str, channel: str, text: str) -> None:
        """A text that is no post-mortem: it is searched for in its own channel alone."""
        if channel == CHANNEL:
            raise ValueError("only trades that have ended make post-mortems")
        self._usable_index().add(memory_id, channel, text)

    def texts_like(
        self, situation: str, channels: Sequence[str], but: Collection[str], most: int = 3
    ) -> tuple[str, ...]:
        """What was filed and fits the situation, without these; raises IndexUnavailableError."""
        wanted = most + len(but)
        found = self._usable_index().texts(situation, channels, wanted)
        return tuple(text for memory_id, text in found if memory_id not in but)[:most]

    def _usable_index(self) -> LexicalIndex:
        if self._index is None:
            raise IndexUnavailableError("the index cannot be opened")
        return self._index

    def all(self) -> list[PostMortem]:
        """In the order they were kept; a line that was cut off is passed over."""
        try:
            lines = (self._folder / _LINES).read_bytes().splitlines()
        except FileNotFoundError:
            return []
        found = []
        for line in lines:
            try:
                found.append(msgspec.json.decode(line, type=PostMortem))
            except msgspec.DecodeError:
                continue
        return found

    def similar(self, symbol: str, setup: str) -> tuple[Recalled, ...]:
        """Those most alike, however old; without an index the newest of the symbol."""
        by_id = {trade.memory_id: trade for trade in self.all()}
        try:
            matches = self._usable_index().search(setup, CHANNEL, _NEWEST)
        except IndexUnavailableError:
            return self._newest(symbol)
        return tuple(
            Recalled(by_id[match.memory_id], match.score)
            for match in matches
            if match.memory_id in by_id
        )

    def _newest(self, symbol: str) -> tuple[Recalled, ...]:
        of_symbol = [trade for trade in self.all() if trade.symbol == symbol]
        newest = sorted(of_symbol, key=lambda one: one.time, reverse=True)[:_NEWEST]
        return tuple(Recalled(trade, None) for trade in newest)
