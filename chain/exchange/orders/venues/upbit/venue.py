"""Upbit's spot market as a venue: coins are bought and what is held is sold, nothing is levered.

The desk thinks in dollars: won are turned into them by the venue's own price of a dollar coin.
"""

from contextlib import suppress
from datetime import datetime
from math import ceil, floor
from typing import Any

from chain.exchange.orders.ccxt_client import (
    BETWEEN_LOOKS,
    CcxtAsking,
    CcxtOrderStream,
    NotThereError,
    open_client,
    refused_order,
)
from chain.exchange.orders.order import (
    OrderProgress,
    OrderSide,
    OrderState,
    OrderType,
    PerpetualPosition,
    VenueOrder,
    market_parts,
)
from chain.exchange.orders.venue import AccountCheck, VenueAccount, VenueKeys
from chain.exchange.orders.venues.upbit import ABILITIES
from chain.exchange.public.binance import BinancePublic
from chain.exchange.public.market import ContractRules, VenueAnswer
from chain.prices.market_http import MarketError

DOLLAR = "KRW-USDT"
"""The venue's own price of a dollar coin, in won."""
_AT_ANY_PRICE = 0.005
"""How far above the best offer a purchase at any price goes: nothing there buys coins by count."""
_DUST = 1e-9
_STATES = {
    "wait": OrderState.OPEN,
    "watch": OrderState.OPEN,
    "done": OrderState.FILLED,
    "cancel": OrderState.CANCELLED,
}


def spot_market(symbol: str) -> str:
    """A dollar contract's coin against won."""
    return f"KRW-{symbol.removesuffix('USDT')}"


def refusal(order: VenueOrder) -> str:
    """Why spot cannot take it; empty where it can."""
    if order.side is OrderSide.SELL and not order.reduce_only:
        return "Upbit is spot: only what is held can be sold"
    if order.side is OrderSide.BUY and order.reduce_only:
        return "Upbit is spot: nothing is short there"
    if order.type is OrderType.STOP:
        return "Upbit keeps no stops"
    if order.type is OrderType.MAKER:
        return "Upbit's resting orders never expire"
    return ""


def order_request(
    order: VenueOrder, quantity: float, won: float, step: float, best: float
) -> dict[str, Any]:
    """As Upbit takes it: `won` for a dollar, prices in whole steps, never worse than asked for."""
    asked: dict[str, Any] = {
        "market": spot_market(order.symbol),
        "side": "bid" if order.side is OrderSide.BUY else "ask",
        "volume": f"{quantity:.8f}",
        "identifier": order.client_id,
    }
    if order.price is None and order.side is OrderSide.SELL:
        return {**asked, "ord_type": "market"}
    limit = best * (1 + _AT_ANY_PRICE) if order.price is None else order.price * won
    rounded = (floor if order.side is OrderSide.BUY else ceil)(limit / step) * step
    asked |= {"ord_type": "limit", "price": f"{rounded:.8f}".rstrip("0").rstrip(".")}
    return asked if order.type is OrderType.TAKE_PROFIT else {**asked, "time_in_force": "ioc"}


def progress_of(
    read: VenueAnswer, order: VenueOrder, entry: dict[str, object], won: float
) -> OrderProgress:
    """How far it has come, in dollars at the won of now."""
    filled = read.amount(entry.get("executed_volume") or "0", "order")
    trades = read.entries(entry.get("trades") or [], "trades")
    volume = sum(read.amount(trade.get("volume"), "trade") for trade in trades)
    funds = sum(read.amount(trade.get("funds"), "trade") for trade in trades)
    state = _state(read, entry)
    if state is OrderState.CANCELLED and order.quantity - filled <= _DUST:
        state = OrderState.FILLED
    times = [_seconds(read, row.get("created_at")) for row in (entry, *trades)]
    return OrderProgress(
        order=order,
        state=state,
        placed_at=times[0],
        filled=filled,
        average=funds / volume / won if volume else None,
        fees=read.amount(entry.get("paid_fee") or "0", "order") / won,
        changed_at=max(times),
        reason="the venue: cancelled" if state is OrderState.CANCELLED else "",
    )


def seen_order(read: VenueAnswer, entry: dict[str, object], won: float) -> OrderProgress:
    """An order that rests, whoever has sent it; what sells only reduces."""
    price = read.amount(entry.get("price") or "0", "order") / won
    sells = entry.get("side") == "ask"
    order = VenueOrder(
        client_id=str(entry.get("identifier") or entry.get("uuid")),
        symbol=f"{str(entry.get('market')).removeprefix('KRW-')}USDT",
        side=OrderSide.SELL if sells else OrderSide.BUY,
        type=OrderType.MAKER if price else OrderType.MARKET,
        quantity=read.positive(entry.get("volume"), "order"),
        price=price or None,
        reduce_only=sells,
    )
    return progress_of(read, order, entry, won)


def _state(read: VenueAnswer, entry: dict[str, object]) -> OrderState:
    state = _STATES.get(str(entry.get("state")))
    if state is None:
        raise read.wrong("order's state")
    return state


def _seconds(read: VenueAnswer, value: object) -> float:
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        raise read.wrong("order's time") from None


SOURCE = "Upbit"
_LEAST_WON = 5_000.0
_QUANTITY_STEP = 1e-8
_CASH = ("KRW", "USDT")


class UpbitVenue:
    """One account; every question raises `MarketError` where the venue cannot be understood."""

    abilities = ABILITIES
    late_seconds = 10.0

    def __init__(
        self,
        name: str,
        market: BinancePublic,
        keys: VenueKeys,
        *,
        base_url: str | None = None,
        between_looks: float = BETWEEN_LOOKS,
    ) -> None:
        """`market` tells the time, by which everything of the desk is dated."""
        self.name = name
        self.contracts = market
        self._market = market
        self._markets: set[str] = set()
        self._read = VenueAnswer(SOURCE)
        self._client = open_client("upbit", keys, base_url=base_url)
        self._ask = CcxtAsking(SOURCE, self._client, between_looks, tells_why=_tells_why)
        self.order_stream = CcxtOrderStream("upbit", keys, base_url=base_url)

    async def close(self) -> None:
        await self.order_stream.close()
        await self._client.close()

    async def now(self) -> float:
        return await self._market.time()

    async def account(self) -> VenueAccount:
        held = await self._balances()
        coins = [coin for coin in held if coin not in _CASH and await self._is_traded(coin)]
        prices = await self._prices(*(f"KRW-{coin}" for coin in coins), DOLLAR)
        won = prices[DOLLAR]
        marks = {f"{coin}USDT": prices[f"KRW-{coin}"] / won for coin in coins}
        cash = held.get("KRW", (0.0, 0.0))[0] / won + held.get("USDT", (0.0, 0.0))[0]
        waiting = await self._ask.read(self._client.privateGetOrdersOpen, {})
        return VenueAccount(
            self.name,
            await self.now(),
            cash + sum(held[coin][0] * marks[f"{coin}USDT"] for coin in coins),
            tuple(
                PerpetualPosition(f"{coin}USDT", held[coin][0], held[coin][1] / won)
                for coin in coins
            ),
            tuple(
                seen_order(self._read, order, won)
                for order in self._read.entries(waiting, "open orders")
            ),
            None,
            0.0,
            money_per_usd=won,
            marks=marks,
        )

    async def parts(self, order: VenueOrder) -> tuple[VenueOrder, ...]:
        if order.type is not OrderType.SLICED:
            return (order,)
        prices = await self._prices(spot_market(order.symbol), DOLLAR)
        won = prices[DOLLAR]
        rules = ContractRules(order.symbol, 0.01, _QUANTITY_STEP, _LEAST_WON / won)
        return market_parts(order, rules, prices[spot_market(order.symbol)] / won)

    async def submit(self, order: VenueOrder) -> OrderProgress:
        """Sent once; the same name twice is one order. Raises where nobody can tell."""
        reason = refusal(order)
        quantity = order.quantity
        if not reason and order.side is OrderSide.SELL:
            coin = order.symbol.removesuffix("USDT")
            quantity = min(quantity, (await self._balances()).get(coin, (0.0, 0.0))[0])
            reason = "" if quantity > 0 else "nothing of it is held"
        if reason:
            return refused_order(order, reason, await self.now())
        market = spot_market(order.symbol)
        prices = await self._prices(market, DOLLAR)
        step, best = await self._step(market), await self._best_offer(market)
        asked = order_request(order, quantity, prices[DOLLAR], step, best)
        return await self._ask.send(
            order, lambda: self._client.privatePostOrders(asked), self.find, self.now
        )

    async def check(self, _: str) -> AccountCheck:
        """It tells no permissions: a key that may see what can be withdrawn is one that may."""
        try:
            asked = {"currency": "KRW"}
            await self._ask.read(self._client.privateGetWithdrawsChance, asked)
        except MarketError as error:
            if "out_of_scope" not in str(error):
                raise
            return AccountCheck()
        return AccountCheck(may_withdraw=True)

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        try:
            seen = await self._ask.read(
                self._client.privateGetOrder, {"identifier": order.client_id}
            )
        except NotThereError:
            return None
        won = (await self._prices(DOLLAR))[DOLLAR]
        return progress_of(self._read, order, self._read.mapping(seen, "order"), won)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        with suppress(NotThereError):
            await self._ask.read(self._client.privateDeleteOrder, {"identifier": order.client_id})
        # It is cancelled now, or was filled or never there before: looking tells which.
        return await self.find(order)

    async def _balances(self) -> dict[str, tuple[float, float]]:
        """Of each coin how much, with what waits in orders, and what it cost in won."""
        told = await self._ask.read(self._client.privateGetAccounts, {})
        found = {}
        for entry in self._read.entries(told, "account"):
            quantity = sum(
                self._read.amount(entry.get(field), "account") for field in ("balance", "locked")
            )
            cost = self._read.amount(entry.get("avg_buy_price") or "0", "account")
            if quantity:
                found[str(entry.get("currency"))] = (quantity, cost)
        return found

    async def _is_traded(self, coin: str) -> bool:
        """What has no market in won can be neither priced nor sold here."""
        if not self._markets:
            told = await self._ask.read(self._client.publicGetMarketAll)
            self._markets = {
                str(entry.get("market")) for entry in self._read.entries(told, "markets")
            }
        return f"KRW-{coin}" in self._markets

    async def _prices(self, *markets: str) -> dict[str, float]:
        asked = {"markets": ",".join(markets)}
        told = await self._ask.read(self._client.publicGetTicker, asked)
        found = {
            str(entry.get("market")): self._read.positive(entry.get("trade_price"), "price")
            for entry in self._read.entries(told, "ticker")
        }
        if set(markets) - found.keys():
            raise self._read.wrong("ticker")
        return found

    async def _step(self, market: str) -> float:
        rows = await self._ask.read(self._client.publicGetOrderbookInstruments, {"markets": market})
        [row] = self._read.rows(rows, "price step") or [None]
        return self._read.positive(self._read.mapping(row, "price step").get("tick_size"), "step")

    async def _best_offer(self, market: str) -> float:
        rows = await self._ask.read(self._client.publicGetOrderbook, {"markets": market})
        [row] = self._read.rows(rows, "book") or [None]
        units = self._read.rows(self._read.mapping(row, "book").get("orderbook_units"), "book")
        if not units:
            raise self._read.wrong("book")
        return self._read.positive(self._read.mapping(units[0], "book").get("ask_price"), "book")


def _tells_why(words: str) -> bool:
    """Whether an error that ccxt does not know says that the order was refused."""
    return any(name in words for name in _REFUSALS)


_REFUSALS = (
    "under_min_total",
    "validation_error",
    "create_bid_error",
    "create_ask_error",
    "offline",
)
