"""What the desk knows when it argues: market, twelve kinds of context, account and hedge."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agents.bus.envelope import Measure, Payload, PositionNumber, Units
from agents.trade.risk_rules import VenueLimits
from agents.trade.terms import (
    MarketRegime,
    Objective,
    SectionName,
    SectionStatus,
    TradeDecision,
    TradeMode,
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
    hedge: Measure = 0.0
    """Of the quantity, what stands for hedges of positions."""


class WaitingOrder(Payload):
    """An order that may still open something."""

    venue: str
    symbol: str
    notional_usd: Measure | None


class VenueTerms(Payload):
    """What the venue can do: rules ask for an ability, never for a name."""

    spot: bool = False
    leverage: Measure = 3.0
    stops: bool = True
    rests: bool = True
    most_usd: Measure | None = 2_000.0
    """Of one outright order; None where its money has no known price."""
    made_up: bool = False
    """Whether nobody's money is at stake."""

    @property
    def limits(self) -> VenueLimits:
        return VenueLimits(self.spot, self.leverage, self.rests, self.most_usd)


class SpotAccount(Payload):
    """A second venue, where a long goes that fits its limits."""

    venue: str
    terms: VenueTerms
    cash: Measure
    """Dollars that are not in coins already."""
    maker_fee: Measure
    taker_fee: Measure


class AccountFacts(Payload):
    """What the person has on all venues, handed in with the start."""

    venue: str
    time: int
    equity: Measure | None
    positions: tuple[HeldContract, ...]
    waiting: tuple[WaitingOrder, ...]
    maker_fee: Measure
    taker_fee: Measure
    terms: VenueTerms = VenueTerms()
    spot: SpotAccount | None = None

    def quantity_of(self, symbol: str) -> float:
        return sum(position.quantity for position in self.positions if position.symbol == symbol)

    def hedge_quantity(self, symbol: str) -> float:
        """Of what is held, that which hedges positions: below 0 short."""
        return sum(position.hedge for position in self.positions if position.symbol == symbol)

    def outright(self, symbol: str) -> float:
        """Of what is held, that which hedges nothing."""
        return self.quantity_of(symbol) - self.hedge_quantity(symbol)


class HedgeFacts(Payload):
    """The position whose coins are to be hedged."""

    token_id: PositionNumber
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
    rated: bool = False
    """Whether its coin is worth a share or a multiple of what its contract is of."""
    rate: Measure = 1.0
    """Of that, how much one coin is worth."""
    other_rate: Measure = 0.0
    """The same of the pool's other token; 0 where that is no coin of this contract."""
    other_coin: str = ""
    """What else the position holds that has a hedge of its own; empty beside a dollar."""
    unhedged_coin: str = ""
    """What else it holds that the venue has no contract of."""
    target: Annotated[Measure, Field(ge=0, le=1)] = 1.0
    """Of its coins, what should be short."""
    band: Annotated[Measure, Field(gt=0, le=1)] = 0.2
    """How far the hedge may be off, as a share of what it should be, before it is adjusted."""
    short: Measure | None = None
    """Coins that are short for it; None counts all that are short of the coin."""
    fees_a_day_usd: Measure | None = None
    """What its pool paid it in the past 24 hours."""
    lvr_a_day_usd: Measure | None = None
    """What arbitrage took from it in that time."""
    taken_over: tuple[tuple[PositionNumber, Measure], ...] = ()
    """Of these coins, what was short for positions that are no more, by their ids."""

    @property
    def price_range(self) -> tuple[float, float] | None:
        """None where what it holds of the coin does not follow the coin's price."""
        return (self.lower, self.upper) if self.lower < self.upper else None

    @property
    def off_usd(self) -> float:
        """What its hedge lacks or has too much, in dollars."""
        return abs(self.delta * self.target - (self.short or 0.0)) * self.price


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
    """How the desk's own setups have fared on the candles that followed, sent or not."""

    resolved: int
    won: int
    fair_wins: Measure = 0.0
    """How many of them a price without drift would have won."""
    brier: Measure | None
    """None before any setup has ended."""
    proved: Measure = 0.0
    """By how much it beat chance at least, as a share of its setups, at 99 % whenever one looks."""


class SetupRecord(Payload):
    """How trades of one decision in one regime have ended."""

    decision: str
    regime: str
    ended: int
    won: int
    mean_pct: Measure
    mean_win_pct: Measure | None
    """The odds that were claimed."""


class KindLesson(Payload):
    """How setups of one decision in one regime came out, sent or not, and what they taught."""

    decision: str
    regime: str
    ended: int
    won: int
    fair_wins: Measure
    mean_pct: Measure
    """After costs."""
    lesson: str
    came_true: int
    """Of the lessons before it, those that the next of the kind bore out."""


class DeskSettings(Payload):
    """What the person has set, as far as the outcome depends on it."""

    order_usd: Measure
    """The largest outright order."""
    hedge_usd: Measure | None = None
    """The largest hedge; None is what its position is worth."""
    hedge_seconds: int = 30
    """How long a hedge rests before what is left of it is taken at once."""
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
    anyway: bool = False
    """Whether, with made-up money, what is expected to bring nothing is opened all the same."""
    previous: PastDecision | None = None
    lessons: tuple[Lesson, ...] = ()
    record: DeskRecord = DeskRecord(resolved=0, won=0, brier=None)
    kinds: tuple[SetupRecord, ...] = ()
    shadows: tuple[KindLesson, ...] = ()
    feedback: str = ""
    """What a model made of them for the judge; empty where none was asked."""

    @property
    def hedge_short(self) -> float:
        """Coins that are short for the position to be hedged."""
        if self.hedge is not None and self.hedge.short is not None:
            return self.hedge.short
        return max(-self.account.quantity_of(self.symbol), 0.0)


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
    def missing_sections(self) -> tuple[SectionName, ...]:
        return tuple(
            section.name for section in self.sections if section.status is not SectionStatus.OK
        )
