"""The parts of a run of the trade desk, as it is drawn."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from chain.protocols.reference import PositionRef
from zuno_tui.present.views import ChartView

EXPERT_TITLES = ("liquidity", "microstructure", "macro", "geometry")


STAGE_TITLES = ("judge", "expected value", "budget", "risk officer", "leverage guard")


SOURCE_TITLES = (
    "market story",
    "filed notes",
    "funding",
    "net buying",
    "liquidations",
    "past runs",
    "news",
    "lessons",
    "order book",
    "macro",
    "options",
    "fear and greed",
)


LampState = Literal["waiting", "fresh", "stale", "missing"]


VerdictKind = Literal["acts", "holds", "failed"]
"""A HOLD because something needed was missing is `failed`, never `holds`."""


class SourceLamp(Struct, frozen=True):
    """One of the twelve kinds of context."""

    title: str
    state: LampState = "waiting"
    age: str = ""
    """How old it was when it was read; empty where nothing was."""
    source: str = ""
    says: str = ""


class RegimeChip(Struct, frozen=True):
    name: str
    budget: str
    leaning: Literal["risk_on", "neutral", "risk_off"]
    why: str
    trust: str


class ExpertCard(Struct, frozen=True):
    title: str
    bias: Literal["", "BULLISH", "BEARISH", "NEUTRAL"] = ""
    """Empty before the expert has spoken."""
    confidence: float | None = None
    sees: str = ""
    """What is unusual to it."""
    says: str = ""
    levels: str = ""
    by_rules: bool = False


class ConflictLine(Struct, frozen=True):
    between: str
    first: str
    second: str
    tiebreaker: str


class ConflictMapView(Struct, frozen=True):
    dominant: Literal["BULLISH", "BEARISH", "NEUTRAL"]
    strongest: str
    agreed: tuple[str, ...]
    conflicts: tuple[ConflictLine, ...]
    question: str
    note: str


class LadderRow(Struct, frozen=True):
    """What one stage left; where it took something, before and after."""

    stage: str
    decision: str = ""
    """Empty before the stage has judged."""
    allocation: str = ""
    leverage: str = ""
    worth: str = ""
    why: str = ""
    took: bool = False
    stopped: bool = False
    """Whether this stage made a HOLD of it."""


class Payoff(Struct, frozen=True):
    """Whole dollars that a position gains or loses by price, alone and with its short."""

    prices: tuple[float, ...]
    alone: tuple[float, ...]
    hedged: tuple[float, ...]
    marks: tuple[tuple[float, str], ...]
    """What stands where, like the ends of its range."""


class FigureRow(Struct, frozen=True):
    name: str
    first: str
    second: str
    beside: str = ""
    part: float | None = None
    """Of the largest row of its table, drawn as a bar."""
    dollars: tuple[int, int] | None = None
    """Of the two figures, drawn on one scale with those of the other rows."""


class FigureTable(Struct, frozen=True):
    title: str
    first: str
    second: str
    rows: tuple[FigureRow, ...]
    beside: bool = False
    """Whether it stands right of the others, where there is room."""
    note: str = ""
    """What is to be known of its figures, below them."""
    large: bool = False
    """Whether only the large chart and the shell have room for it."""


class TradeVerdict(Struct, frozen=True):
    kind: VerdictKind
    headline: str
    reason: str
    tables: tuple[FigureTable, ...] = ()
    """What a hedge changes."""
    lines: tuple[str, ...] = ()
    """Odds and account of a trade, what a hedge leaves out."""
    orders: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    dissent: str = ""
    """That the experts would do less than was asked for, and why; empty where they would not."""
    closed_by: str = ""
    """How what it opens is closed again; empty where it opens nothing."""
    payoff: Payoff | None = None
    """What a hedge makes of each price; None where none is opened."""


class TradeRunView(Struct, frozen=True):
    request_id: str
    subject: str
    mode: str
    venue: str
    coin: str = ""
    ref: PositionRef | None = None
    """The position that is hedged."""
    mark: str = ""
    read_at: int | None = None
    """By the clock of the venue."""
    working: str = ""
    """Who is at it; empty when it is over."""
    regime: RegimeChip | None = None
    anomalies: tuple[str, ...] | None = None
    """None before triage."""
    lamps: tuple[SourceLamp, ...] = tuple(SourceLamp(title) for title in SOURCE_TITLES)
    experts: tuple[ExpertCard, ...] = tuple(ExpertCard(title) for title in EXPERT_TITLES)
    conflicts: ConflictMapView | None = None
    ladder: tuple[LadderRow, ...] = tuple(LadderRow(title) for title in STAGE_TITLES)
    verdict: TradeVerdict | None = None
    plan_id: str = ""
    made_at: float | None = None
    next_phrase: str = ""
    """What leads on from here, to be typed; empty where nothing does."""
    progress: tuple[str, ...] = ()
    """What became of its approval and its orders."""
    chart: str = ""
    """The file of its picture; empty where none was drawn."""
    prices: ChartView | None = None
    """Its market's last week, with what the plan would trade at."""
