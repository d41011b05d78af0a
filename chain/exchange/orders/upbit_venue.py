"""Upbit's spot market as a venue: coins are bought and what is held is sold, nothing is levered.

The desk thinks in dollars: won are turned into them by the venue's own price of a dollar coin.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from chain.exchange.orders.ccxt_asking import BETWEEN_LOOKS, CcxtAsking, NotThereError, refused
from chain.exchange.orders.ccxt_client import open_client
from chain.exchange.orders.order import OrderSide, OrderType, PerpetualPosition
from chain.exchange.orders.slicing import market_parts
from chain.exchange.orders.upbit_orders import (
    DOLLAR,
    order_request,
    progress_of,
    refusal,
    seen_order,
    spot_market,
)
from chain.exchange.orders.venue import VenueAccount
from chain.exchange.public.fields import VenueAnswer
from chain.exchange.public.market import ContractRules

if TYPE_CHECKING:
    from chain.exchange.orders.ccxt_client import VenueKeys
    from chain.exchange.orders.order import OrderProgress, VenueOrder
    from chain.exchange.public.binance import BinancePublic

SOURCE = "Upbit"
_LEAST_WON = 5_000.0
_QUANTITY_STEP = 1e-8
_CASH = ("KRW", "USDT")


class UpbitVenue:
    """One account; every question raises `MarketError` where the venue cannot be understood."""

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
        self._market = market
        self._markets: set[str] = set()
        self._read = VenueAnswer(SOURCE)
        self._client = open_client("upbit", keys, base_url=base_url)
        self._ask = CcxtAsking(SOURCE, self._client, between_looks, tells_why=_tells_why)

    async def close(self) -> None:
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
        waiting = self._read.rows(
            await self._ask.asked(self._client.privateGetOrdersOpen, {}), "open orders"
        )
        return VenueAccount(
            self.name,
            await self.now(),
            cash + sum(held[coin][0] * marks[f"{coin}USDT"] for coin in coins),
            tuple(
                PerpetualPosition(f"{coin}USDT", held[coin][0], held[coin][1] / won)
                for coin in coins
            ),
            tuple(seen_order(self._read, self._read.mapping(one, "order"), won) for one in waiting),
            None,
            0.0,
            krw_per_usd=won,
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
            return refused(order, reason, await self.now())
        market = spot_market(order.symbol)
        prices = await self._prices(market, DOLLAR)
        step, best = await self._step(market), await self._best_offer(market)
        asked = order_request(order, quantity, prices[DOLLAR], step, best)
        return await self._ask.sent(
            order, lambda: self._client.privatePostOrders(asked), self.find, self.now
        )

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        try:
            seen = await self._ask.asked(
                self._client.privateGetOrder, {"identifier": order.client_id}
            )
        except NotThereError:
            return None
        won = (await self._prices(DOLLAR))[DOLLAR]
        return progress_of(self._read, order, self._read.mapping(seen, "order"), won)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        with suppress(NotThereError):
            await self._ask.asked(self._client.privateDeleteOrder, {"identifier": order.client_id})
        # It is cancelled now, or was filled or never there before: looking tells which.
        return await self.find(order)

    async def _balances(self) -> dict[str, tuple[float, float]]:
        """Of each coin how much, with what waits in orders, and what it cost in won."""
        rows = self._read.rows(
            await self._ask.asked(self._client.privateGetAccounts, {}), "account"
        )
        found = {}
        for row in rows:
            entry = self._read.mapping(row, "account")
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
            rows = self._read.rows(
                await self._ask.asked(self._client.publicGetMarketAll), "markets"
            )
            self._markets = {str(self._read.mapping(row, "market").get("market")) for row in rows}
        return f"KRW-{coin}" in self._markets

    async def _prices(self, *markets: str) -> dict[str, float]:
        asked = {"markets": ",".join(markets)}
        rows = self._read.rows(await self._ask.asked(self._client.publicGetTicker, asked), "ticker")
        entries = [self._read.mapping(row, "ticker") for row in rows]
        found = {
            str(one.get("market")): self._read.positive(one.get("trade_price"), "price")
            for one in entries
        }
        if set(markets) - found.keys():
            raise self._read.wrong("ticker")
        return found

    async def _step(self, market: str) -> float:
        rows = await self._ask.asked(
            self._client.publicGetOrderbookInstruments, {"markets": market}
        )
        [row] = self._read.rows(rows, "price step") or [None]
        return self._read.positive(self._read.mapping(row, "price step").get("tick_size"), "step")

    async def _best_offer(self, market: str) -> float:
        rows = await self._ask.asked(self._client.publicGetOrderbook, {"markets": market})
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
