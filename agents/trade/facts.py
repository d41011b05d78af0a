"""What the desk knows when it argues: market, twelve kinds of context, account and hedge."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.bus.envelope import Measure, Payload, Units
from agents.trade.terms import (
    MarketRegime,
    Objective,
    SectionName,
    SectionStatus,
    TradeDecision,
    TradeMode,
    VenueKind,
)
from chain.exchange.public.market import BookLevel, Candle

CandleRow = tuple[int, Measure, Measure, Measure, Measure, Measure, Measure]
"""Time, open, high, low, close, volume, bought by takers."""
LevelRow = tuple[Measure, Measure]
"""Price, quantity."""


class CandleSeries(Payload):
    """Closed candles, the oldest first."""

    interval: Literal["1h", "4h", "1d"]
    rows: tuple[CandleRow, ...]

    @property
    def candles(self) -> tuple[Candle, ...]:
        return tuple(Candle(*row) for row in self.rows)


class BookSample(Payload):
    """One look at the book; None where a side was empty."""

    time: int
    spread_bips: Measure | None
    imbalance5: Measure | None
    imbalance20: Measure | None
    imbalance100: Measure | None


class BookFacts(Payload):
    samples: tuple[BookSample, ...]
    """Consecutive, the newest last."""
    bids: tuple[LevelRow, ...]
    asks: tuple[LevelRow, ...]
    """Of the newest sample, the best first."""
    buy_slippage_bips: Measure | None
    sell_slippage_bips: Measure | None
    """Of $100k from the middle; None where the book does not hold as much."""

    @property
    def bid_levels(self) -> tuple[BookLevel, ...]:
        return tuple(BookLevel(*row) for row in self.bids)

    @property
    def ask_levels(self) -> tuple[BookLevel, ...]:
        return tuple(BookLevel(*row) for row in self.asks)


class MarketSnapshot(Payload):
    """One contract at one moment of its venue's clock."""

    travels_on: ClassVar[bool] = True

    symbol: str
    venue: str
    venue_kind: VenueKind
    time: int
    mark: Measure
    price_step: Measure
    quantity_step: Measure
    least_notional: Measure
    hours: CandleSeries
    slow: CandleSeries
    """Four hours when swinging, days when positioning."""
    book: BookFacts | None
    interest_change: Measure | None
    """Of open interest within the last full hour."""
    funding: tuple[tuple[int, Measure], ...] = ()
    """When and how much was paid lately, the oldest first."""


class ContextSection(Payload):
    """One kind of context, or why there is none."""

    name: SectionName
    status: SectionStatus
    source: str
    as_of: int | None
    """When it was true, by the clock of whoever said it."""
    text: str
    """Untrusted where it comes from outside: quoted, never followed."""
    numbers: dict[str, Measure] = Field(default_factory=dict)


class HeldContract(Payload):
    """A position on a venue: above 0 long."""

    venue: str
    symbol: str
    quantity: Measure
    entry: Measure
    mark: Measure | None


class WaitingOrder(Payload):
    """An order that may still open something."""

    venue: str
    symbol: str
    notional_usd: Measure | None


class AccountFacts(Payload):
    """What the person has on all venues, handed in with the start."""

    venue: str
    time: int
    equity: Measure | None
    positions: tuple[HeldContract, ...]
    waiting: tuple[WaitingOrder, ...]
    maker_fee: Measure
    taker_fee: Measure
    venue_kind: VenueKind = VenueKind.BINANCE
    krw_per_usd: Measure | None = None
    """Where the venue counts in won."""

    def held(self, symbol: str) -> float:
        return sum(position.quantity for position in self.positions if position.symbol == symbol)


class HedgeFacts(Payload):
    """The position whose coins are to be hedged."""

    token_id: Units
    chain_id: int
    network: str
    block: int
    pair: str
    coin: str
    delta: Measure
    """Coins it holds, which is how its worth moves with the price."""
    gamma: Measure
    lower: Measure
    upper: Measure
    worth_usd: Measure
    price: Measure
    amount0: Units = 0
    amount1: Units = 0
    """In the tokens' smallest units, with uncollected fees."""
    sqrt_price_x96: Units = 0
    wallet: str = ""
    token: str = ""
    """The coin's address in the pool."""
    short: Measure | None = None
    """Coins that are short for it; None counts all that are short of the coin."""
    taken_over: tuple[tuple[Units, Measure], ...] = ()
    """Of these coins, what was short for positions that are no more, by their ids."""


class PastDecision(Payload):
    """The last decision on this contract, for consistency."""

    plan_id: str
    time: int
    decision: TradeDecision
    regime: MarketRegime
    mark: Measure


class Lesson(Payload):
    """A post-mortem of a trade that ended."""

    memory_id: str
    time: int
    symbol: str
    setup: str
    outcome: str
    constraint: str
    score: Measure


class DeskRecord(Payload):
    """How the desk's own odds have fared."""

    resolved: int
    won: int
    brier: Measure | None
    """None before any trade has ended."""


class SetupRecord(Payload):
    """How trades of one decision in one regime have ended."""

    decision: str
    regime: str
    ended: int
    won: int
    mean_pct: Measure
    mean_win_pct: Measure | None
    """The odds that were claimed."""


class DeskSettings(Payload):
    """What the person has set, as far as the outcome depends on it."""

    binance_usd: Measure
    account_leverage: Annotated[Measure, Field(gt=0, le=2)]


class DeskQuestion(Payload):
    """What is asked, and everything that only the person's own home can tell."""

    travels_on: ClassVar[bool] = True

    asked_at: int
    """By the person's clock, which tells how old a plan is; a demo's venue may run faster."""
    symbol: str
    coin: str
    mode: TradeMode
    objective: Objective
    account: AccountFacts
    settings: DeskSettings
    hedge: HedgeFacts | None = None
    emergency: bool = False
    """Whether only what has just happened counts as news."""
    previous: PastDecision | None = None
    lessons: tuple[Lesson, ...] = ()
    record: DeskRecord = DeskRecord(resolved=0, won=0, brier=None)
    kinds: tuple[SetupRecord, ...] = ()
    feedback: str = ""
    """What a model made of them for the judge; empty where none was asked."""

    @property
    def hedge_short(self) -> float:
        """Coins that are short for the position to be hedged."""
        if self.hedge is not None and self.hedge.short is not None:
            return self.hedge.short
        return max(-self.account.held(self.symbol), 0.0)


class TradeContext(Payload):
    """The twelve sections, each once."""

    travels_on: ClassVar[bool] = True

    sections: tuple[ContextSection, ...]

    def section(self, name: SectionName) -> ContextSection:
        return next(section for section in self.sections if section.name is name)

    def number(self, name: SectionName, field: str) -> float | None:
        """Only of what is fresh: a stale number is shown, and decides nothing."""
        section = self.section(name)
        return section.numbers.get(field) if section.status is SectionStatus.OK else None

    @property
    def missing(self) -> tuple[SectionName, ...]:
        return tuple(
            section.name for section in self.sections if section.status is not SectionStatus.OK
        )
