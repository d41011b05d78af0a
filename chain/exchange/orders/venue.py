"""The one interface to a venue that takes orders, and what a venue can do, as data."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import Struct

from chain.base.errors import Failure, ZunoError
from chain.exchange.orders.order import (
    OrderProgress,
    OrderType,
    PerpetualPosition,
    VenueOrder,
    fit_order,
    market_parts,
)
from chain.exchange.public.binance import BinancePublic
from chain.exchange.public.market import ContractRules, FundingPayment, FundingState, VenueAbilities

KEY_WARNED_DAYS = 14
"""So long before what signs on a venue ends, every look at the account says so."""


class OrderUnansweredError(ZunoError):
    """An order was sent, and the venue may have it or not; it is never sent again."""

    failure = Failure.NETWORK


class VenueAccount(Struct, frozen=True):
    """What a venue says one has there: dollars, positions and what may still be filled."""

    venue: str
    time: float
    equity: float
    positions: tuple[PerpetualPosition, ...]
    open_orders: tuple[OrderProgress, ...]
    fees: float | None
    """None where the venue does not tell them in one sum."""
    funding: float
    money_per_usd: float | None = None
    """Where the venue counts in money of its own."""
    days: int | None = None
    """So far back fees and funding are told; None for all of them."""
    marks: dict[str, float] = {}
    """In dollars, where the venue prices what is held itself."""

    def quantity_of(self, symbol: str) -> float:
        """Above 0 long, below 0 short."""
        return sum(position.quantity for position in self.positions if position.symbol == symbol)


class AccountCheck(Struct, frozen=True):
    """Sentences for people: what keeps orders from being sent, and what is good to know."""

    faults: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    may_withdraw: bool = False
    """The key can move money away; refused unless a setting allows it."""


class VenueKeys(Struct, frozen=True):
    """What an account is reached with; never printed."""

    key: str
    secret: str

    def __repr__(self) -> str:
        return "VenueKeys(…)"


class VenueFees(Struct, frozen=True):
    """Fractions of notional; Binance's of an ordinary account."""

    maker: float = 0.0002
    taker: float = 0.0005
    most_leverage: float = 20.0
    """Beyond it the venue itself refuses: its margin is insufficient."""


class VenueContracts(Protocol):
    """What a venue tells everybody about its contracts."""

    async def rules(self, symbol: str) -> ContractRules: ...

    async def funding(self, symbol: str) -> FundingState: ...

    async def payments(self, symbol: str, *, since: int) -> tuple[FundingPayment, ...]: ...


@runtime_checkable
class TakesGroups(Protocol):
    """A venue that takes what opens and what protects it at once, where its abilities say so."""

    async def submit_group(self, orders: Sequence[VenueOrder]) -> tuple[OrderProgress, ...]: ...


@runtime_checkable
class KnowsKeyEnd(Protocol):
    """A venue whose keys end."""

    async def key_ends_at(self) -> float | None:
        """Seconds since 1970, 0 where it takes nothing from this key; None where none is set."""


class OrderStream(Protocol):
    async def event(self) -> None:
        """Until the venue tells of an order; MarketError where the stream broke."""


@runtime_checkable
class TellsOfOrders(Protocol):
    """A venue that tells of an account's orders by itself, where its abilities say so."""

    @property
    def order_stream(self) -> OrderStream: ...


class Venue(Protocol):
    """A place that takes orders; the same client id twice is one order."""

    name: str
    abilities: VenueAbilities
    late_seconds: float
    """An order that has not arrived so long after it was sent never will."""

    @property
    def contracts(self) -> VenueContracts: ...

    async def check(self, symbol: str) -> AccountCheck:
        """Whether the account and its key are fit for orders of this contract."""

    async def account(self) -> VenueAccount: ...

    async def parts(self, order: VenueOrder) -> tuple[VenueOrder, ...]:
        """In which orders it takes this one; those after the first wait their seconds."""

    async def submit(self, order: VenueOrder) -> OrderProgress: ...

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        """By its client id."""

    async def cancel(self, order: VenueOrder) -> OrderProgress | None: ...

    async def now(self) -> float: ...

    async def close(self) -> None: ...


async def sized_parts(contracts: VenueContracts, order: VenueOrder) -> tuple[VenueOrder, ...]:
    """As the contract takes it; one in slices as the orders that it consists of."""
    rules = await contracts.rules(order.symbol)
    if order.type is not OrderType.SLICED:
        return (fit_order(order, rules),)
    return market_parts(order, rules, (await contracts.funding(order.symbol)).mark)


class VenueOpening(Struct, frozen=True):
    """All that a venue may need to be opened."""

    market: BinancePublic
    """Tells the time, by which everything of the desk is dated."""
    base_url: str
    keys: VenueKeys
    paper: Path
    """Where made-up money is kept."""
    paper_usd: float | None


class VenueEntry(Struct, frozen=True, kw_only=True):
    """A venue as it is found in its folder; opening it loads what it needs."""

    name: str
    """As it is set, and as orders are filed."""
    title: str
    what: str
    """Where orders go, after "Orders go to …:"."""
    abilities: VenueAbilities
    open: Callable[[VenueOpening], Venue]
    fees: VenueFees = VenueFees()
    prompts: tuple[str, str] | None = ("the API key", "the secret")
    """What its keys are called; None where it needs none."""
    keyring: str = ""
    address: tuple[str, str] | None = None
    """A market of its own to read, and what that is called."""
    check_keys: Callable[[VenueKeys], str | None] = lambda _: None
    """Why these cannot be its keys."""
    identity: Callable[[VenueKeys], str | None] = lambda _: None
    """Who signs with these keys, where an identity that was given up must never come back."""
    advice: str = "A key that may trade and nothing else is enough."
