"""Binance's USD-margined futures as a venue: orders with names of their own, sent once.

Stops and profits rest on the venue and only reduce.
"""

from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from chain.exchange.orders.ccxt_client import (
    BETWEEN_LOOKS,
    RECEIVE_MILLISECONDS,
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
    rest_at_best,
    unfit,
    would_take,
)
from chain.exchange.orders.venue import AccountCheck, VenueAccount, VenueKeys, sized_parts
from chain.exchange.orders.venues.binance import ABILITIES, DEMO_STREAM_URL, DEMO_URL
from chain.exchange.public.binance import BASE_URL, BinancePublic
from chain.exchange.public.market import VenueAnswer, contract_symbol

FUTURES = {"defaultType": "swap", "fetchMarkets": {"types": ["linear"]}}
_STREAM = {
    **FUTURES,
    "watchBalance": {"fetchBalanceSnapshot": False},
    "watchPositions": {"fetchPositionsSnapshot": False},
}
"""Orders alone: nothing else is asked for when the stream is opened."""
CONDITIONAL = frozenset({OrderType.STOP, OrderType.TAKE_PROFIT})
"""They wait apart from the book until their price is reached."""

_STATES = {
    "NEW": OrderState.OPEN,
    "PARTIALLY_FILLED": OrderState.OPEN,
    "TRIGGERING": OrderState.OPEN,
    "TRIGGERED": OrderState.OPEN,
    "FILLED": OrderState.FILLED,
    "FINISHED": OrderState.FILLED,
    "CANCELED": OrderState.CANCELLED,
    "EXPIRED": OrderState.EXPIRED,
    "EXPIRED_IN_MATCH": OrderState.EXPIRED,
    "REJECTED": OrderState.REFUSED,
}
_TYPES = {
    "LIMIT": OrderType.MAKER,
    "MARKET": OrderType.MARKET,
    "STOP": OrderType.STOP,
    "STOP_MARKET": OrderType.STOP,
    "TAKE_PROFIT": OrderType.TAKE_PROFIT,
    "TAKE_PROFIT_MARKET": OrderType.TAKE_PROFIT,
}

_INCOME_DAYS, _PAGE_ROWS, _MOST_PAGES = 7, 1_000, 20
_DOLLARS = frozenset({"USDT", "USDC", "FDUSD", "BUSD", "BFUSD", "LDUSDT", "BNFCR"})
"""What the venue settles in, each counted as a dollar."""


def order_request(order: VenueOrder) -> tuple[str, float | None, dict[str, Any]]:
    """Type, price and parameters, as ccxt takes them."""
    named: dict[str, Any] = {"clientOrderId": order.client_id}
    if order.reduce_only or order.type in CONDITIONAL:
        named["reduceOnly"] = True
    match order.type:
        case OrderType.MAKER:
            # Refused where it would take. The venue ends it with its other end alone: `tend_orders`
            # cancels it when its time is over.
            return "limit", order.price, {**named, "timeInForce": "GTX"}
        case OrderType.LIMIT_TAKER:
            return "limit", order.price, {**named, "timeInForce": "IOC"}
        case OrderType.STOP:
            # A single trade far off touches no stop that goes by the mark.
            stop = {"stopLossPrice": order.price, "workingType": "MARK_PRICE"}
            return "market", None, {**named, **stop}
        case OrderType.TAKE_PROFIT:
            profit = {"takeProfitPrice": order.price, "workingType": "MARK_PRICE"}
            return "limit", order.price, {**named, **profit}
        case _:
            return "market", None, named


def progress_of(
    read: VenueAnswer, order: VenueOrder, entry: dict[str, object], fees: float
) -> OrderProgress:
    """How far it has come, by what the venue tells of it."""
    filled = read.amount(entry.get("executedQty", "0"), "order")
    average = read.amount(entry.get("avgPrice", "0"), "order")
    state = _state(read, entry)
    if state is OrderState.EXPIRED and order.type is OrderType.LIMIT_TAKER:
        state = OrderState.CANCELLED
    rests_at = read.amount(entry.get("price") or "0", "order")
    if order.type is OrderType.MAKER and rests_at:
        order = replace(order, price=rests_at)
    return OrderProgress(
        order=order,
        state=state,
        placed_at=_seconds(read, entry, "time", "createTime", "updateTime"),
        filled=filled,
        average=average if filled and average else None,
        fees=fees,
        changed_at=_seconds(read, entry, "updateTime", "time", "createTime"),
        reason="" if state in (OrderState.OPEN, OrderState.FILLED) else f"the venue: {state.value}",
    )


def seen_order(read: VenueAnswer, entry: dict[str, object]) -> OrderProgress:
    """An order that rests, whoever has sent it."""
    kind = _TYPES.get(str(entry.get("type") or entry.get("orderType")), OrderType.STOP)
    price = read.amount(entry.get("price") or "0", "order")
    trigger = read.amount(entry.get("triggerPrice") or entry.get("stopPrice") or "0", "order")
    order = VenueOrder(
        client_id=str(entry.get("clientOrderId") or entry.get("clientAlgoId")),
        symbol=str(entry.get("symbol")),
        side=OrderSide(str(entry.get("side")).lower()),
        type=kind,
        quantity=read.positive(entry.get("origQty") or entry.get("quantity"), "order"),
        price=None if kind is OrderType.MARKET else (price or trigger),
        reduce_only=entry.get("reduceOnly") in (True, "true"),
    )
    return progress_of(read, order, entry, 0.0)


def _state(read: VenueAnswer, entry: dict[str, object]) -> OrderState:
    told = entry.get("status") or entry.get("algoStatus")
    state = _STATES.get(str(told))
    if state is None:
        raise read.wrong("order's state")
    return state


def _seconds(read: VenueAnswer, entry: dict[str, object], *names: str) -> float:
    for name in names:
        value = entry.get(name)
        if value:
            return read.number(value, "order's time") / 1000
    raise read.wrong("order's time")


_SENTENCES = {
    "-4061": "longs and shorts are held apart here (hedge mode); set one-way mode in Binance's "
    "futures preferences",
    "-4164": "it is worth less than the venue takes",
    "-2021": "its price is reached already",
    "-2022": "nothing is left to reduce",
    "-5022": "it would have taken at once, and should rest",
    "-4131": "the book is too thin for it",
    "-2015": "the keys are refused, or not from this address",
}
"""What codes mean that people meet."""


def _is_true(value: object) -> bool:
    return value in (True, "true")


class BinanceVenue:
    """One account; every question raises `MarketError` where the venue cannot be understood."""

    abilities = ABILITIES
    late_seconds = 2 * RECEIVE_MILLISECONDS / 1000
    """An order that it has not got by then was refused on arrival."""

    def __init__(
        self,
        name: str,
        market: BinancePublic,
        keys: VenueKeys,
        *,
        base_url: str | None = None,
        between_looks: float = BETWEEN_LOOKS,
    ) -> None:
        self.name = name
        self.contracts = market
        self._market = market
        # The key's permissions are told by another of its servers; demo trading has none.
        self._tells_permissions = base_url != DEMO_URL
        base_url = None if base_url == BASE_URL else base_url
        self._read = VenueAnswer(market.name)
        self._client = open_client("binanceusdm", keys, base_url=base_url, options=FUTURES)
        self._ask = CcxtAsking(market.name, self._client, between_looks, sentences=_SENTENCES)
        socket_url = DEMO_STREAM_URL if base_url == DEMO_URL else None
        self.order_stream = CcxtOrderStream(
            "binanceusdm", keys, base_url=base_url, socket_url=socket_url, options=_STREAM
        )

    async def close(self) -> None:
        await self.order_stream.close()
        await self._client.close()

    async def now(self) -> float:
        return await self._market.time()

    async def account(self) -> VenueAccount:
        held = self._read.mapping(
            await self._ask.read(self._client.fapiPrivateV3GetAccount), "account"
        )
        risks = await self._ask.read(self._client.fapiPrivateV3GetPositionRisk)
        waiting = await self._ask.read(self._client.fapiPrivateGetOpenOrders)
        conditional = await self._ask.read(self._client.fapiPrivateGetOpenAlgoOrders)
        orders = [
            entry
            for rows in (waiting, conditional)
            for entry in self._read.entries(rows, "open orders")
        ]
        return VenueAccount(
            self.name,
            await self.now(),
            self._read.number(held.get("totalMarginBalance"), "account"),
            tuple(
                position
                for position in map(self._position, self._read.entries(risks, "positions"))
                if position.quantity
            ),
            tuple(seen_order(self._read, order) for order in orders),
            -await self._income("COMMISSION"),
            await self._income("FUNDING_FEE"),
            days=_INCOME_DAYS,
        )

    async def check(self, symbol: str) -> AccountCheck:
        ask, client = self._ask.read, self._client
        sides = self._read.mapping(await ask(client.fapiPrivateGetPositionSideDual), "mode")
        assets = self._read.mapping(await ask(client.fapiPrivateGetMultiAssetsMargin), "mode")
        configs = await ask(client.fapiPrivateGetSymbolConfig, {"symbol": symbol})
        faults, remarks = [], []
        if _is_true(sides.get("dualSidePosition")):
            faults.append(_SENTENCES["-4061"])
        if _is_true(assets.get("multiAssetsMargin")):
            remarks.append("multi-assets mode: all coins of this account answer for every loss")
        for entry in self._read.entries(configs, "leverage"):
            leverage = self._read.positive(entry.get("leverage"), "leverage")
            cross = str(entry.get("marginType")).upper().startswith("CROSS")
            answers = "the whole futures wallet answers for it" if cross else "isolated margin"
            remarks.append(f"{symbol} is set to {leverage:g}×: {answers}")
        key = await self._permissions() if self._tells_permissions else {}
        if key and not _is_true(key.get("enableFutures")):
            faults.append("this key may not trade futures; allow it under API Management")
        withdraws = _is_true(key.get("enableWithdrawals"))
        return AccountCheck(tuple(faults), tuple(remarks), withdraws)

    async def _permissions(self) -> dict[str, object]:
        answer = await self._ask.read(self._client.sapiGetAccountApiRestrictions)
        return self._read.mapping(answer, "key's permissions")

    async def parts(self, order: VenueOrder) -> tuple[VenueOrder, ...]:
        return await sized_parts(self._market, order)

    async def submit(self, order: VenueOrder) -> OrderProgress:
        """Sent once; the same name twice is one order. Raises where nobody can tell."""
        if order.type is OrderType.MAKER:
            book = await self._market.book(order.symbol)
            order = rest_at_best(order, book)
            if would_take(order, book):
                return refused_order(
                    order, "nothing rests on its side of the book", await self.now()
                )
        mark = order.price or (await self._market.funding(order.symbol)).mark
        reason = unfit(order, await self._market.rules(order.symbol), mark)
        if reason:
            return refused_order(order, reason, await self.now())
        await self._ask.read(self._client.load_markets)
        return await self._ask.send(order, lambda: self._placed(order), self.find, self.now)

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        try:
            entry = await self._entry(order)
        except NotThereError:
            return None
        fees = await self._fees(order, entry)
        return progress_of(self._read, order, entry, fees)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        drop, named = self._client.fapiPrivateDeleteOrder, self._named(order)
        with suppress(NotThereError):
            if order.type in CONDITIONAL:
                entry = await self._entry(order)
                if "orderId" in entry:
                    named = {"symbol": order.symbol, "orderId": str(entry["orderId"])}
                else:
                    drop = self._client.fapiPrivateDeleteAlgoOrder
            await self._ask.read(drop, named)
        # It is cancelled now, or was filled or never there before: looking tells which.
        return await self.find(order)

    async def _entry(self, order: VenueOrder) -> dict[str, object]:
        """What is told of it; a stop or profit that was triggered is an order of the book since."""
        if order.type not in CONDITIONAL:
            seen = await self._ask.read(self._client.fapiPrivateGetOrder, self._named(order))
            return self._read.mapping(seen, "order")
        seen = await self._ask.read(self._client.fapiPrivateGetAlgoOrder, self._named(order))
        entry = self._read.mapping(seen, "order")
        if not entry.get("actualOrderId"):
            return entry
        triggered = {"symbol": order.symbol, "orderId": entry["actualOrderId"]}
        seen = await self._ask.read(self._client.fapiPrivateGetOrder, triggered)
        return self._read.mapping(seen, "order")

    async def _placed(self, order: VenueOrder) -> object:
        kind, price, parameters = order_request(order)
        return await self._client.create_order(
            order.symbol, kind, order.side.value, order.quantity, price, parameters
        )

    async def _fees(self, order: VenueOrder, entry: dict[str, object]) -> float:
        """Dollars, from the trades themselves; orders do not tell."""
        if not self._read.amount(entry.get("executedQty", "0"), "order"):
            return 0.0
        asked = {"symbol": order.symbol, "orderId": entry.get("orderId")}
        trades = await self._ask.read(self._client.fapiPrivateGetUserTrades, asked)
        return await self._dollars(trades, "trade", "commission", "commissionAsset")

    async def _income(self, kind: str) -> float:
        rows: dict[str, object] = {}
        since = int((await self.now() - _INCOME_DAYS * 86_400) * 1000)
        for _ in range(_MOST_PAGES):
            asked = {"incomeType": kind, "limit": _PAGE_ROWS, "startTime": since}
            answer = await self._ask.read(self._client.fapiPrivateGetIncome, asked)
            entries = self._read.entries(answer, "income")
            # A page begins with the millisecond that the last one ended in.
            rows |= {str(entry.get("tranId")): entry for entry in entries}
            if len(entries) < _PAGE_ROWS:
                break
            since = int(self._read.positive(entries[-1].get("time"), "income"))
        return await self._dollars(list(rows.values()), "income", "income", "asset")

    async def _dollars(self, rows: object, what: str, amount: str, coin: str) -> float:
        """Their sum at the marks of now: fees are paid in the venue's own coin, too."""
        sums: dict[str, float] = {}
        for entry in self._read.entries(rows, what):
            name = str(entry.get(coin) or "USDT")
            sums[name] = sums.get(name, 0.0) + self._read.number(entry.get(amount), what)
        total = 0.0
        for name, paid in sums.items():
            mark = 1.0
            if paid and name not in _DOLLARS:
                mark = (await self._market.funding(contract_symbol(name))).mark
            total += paid * mark
        return total

    def _position(self, entry: dict[str, object]) -> PerpetualPosition:
        return PerpetualPosition(
            str(entry.get("symbol")),
            self._read.number(entry.get("positionAmt"), "position"),
            self._read.amount(entry.get("entryPrice"), "position"),
            self._read.amount(entry.get("liquidationPrice") or "0", "position") or None,
        )

    def _named(self, order: VenueOrder) -> dict[str, str]:
        if order.type in CONDITIONAL:
            return {"clientAlgoId": order.client_id}
        return {"symbol": order.symbol, "origClientOrderId": order.client_id}
