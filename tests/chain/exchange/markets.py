"""Small markets whose every number a test chooses."""

from chain.exchange.orders.journal import JournalEntry, JournalState, TradeJournal
from chain.exchange.orders.order import OrderSide, OrderType, VenueOrder
from chain.exchange.orders.venues.paper.venue import MarketMoment, PaperAccount
from chain.exchange.public.market import BookLevel, Candle, ContractRules, OrderBook

ETH = "ETHUSDT"
RULES = ContractRules(ETH, price_step=0.01, quantity_step=0.001, least_notional=20.0)
START = 1_767_574_800


def book(*, bids: list[tuple[float, float]], asks: list[tuple[float, float]]) -> OrderBook:
    return OrderBook(
        float(START),
        tuple(BookLevel(*level) for level in bids),
        tuple(BookLevel(*level) for level in asks),
    )


BOOK = book(bids=[(2999.0, 1.0), (2998.0, 4.0)], asks=[(3001.0, 1.0), (3003.0, 4.0)])


def moment(found: OrderBook = BOOK, time: float = START) -> MarketMoment:
    return MarketMoment(found, RULES, time)


def account(cash: float = 10_000.0) -> PaperAccount:
    return PaperAccount(cash=cash)


def order(
    side: OrderSide,
    kind: OrderType,
    quantity: float,
    price: float | None = None,
    *,
    name: str = "one",
    reduce_only: bool = False,
    expires: int | None = None,
) -> VenueOrder:
    return VenueOrder(
        client_id=name,
        symbol=ETH,
        side=side,
        type=kind,
        quantity=quantity,
        price=price,
        reduce_only=reduce_only,
        expires_seconds=expires,
    )


def candle(
    minute: int,
    *,
    low: float,
    high: float,
    start: float | None = None,
    close: float | None = None,
    volume: float = 100.0,
) -> Candle:
    """The minute so many after the start."""
    return Candle(
        START + 60 * minute,
        low if start is None else start,
        high,
        low,
        high if close is None else close,
        volume,
        volume / 2,
    )


def unsettled(journal: TradeJournal) -> list[JournalEntry]:
    """What a crash has left between being written down and being answered."""
    between = (JournalState.INTENDED, JournalState.SENDING)
    return [entry for entry in journal.entries() if entry.state in between]
