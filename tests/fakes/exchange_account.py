"""An account on the loopback exchange: signed requests in Binance's shapes, with ways to fail.

It lives in a file, so that it outlasts whoever sends to it; what is taken is matched as the paper
account matches it.
"""

import asyncio
import hashlib
import hmac
import json
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec.structs import replace

from chain.base.sqlite import open_database, transaction
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType, VenueOrder
from chain.exchange.orders.venue import VenueKeys
from chain.exchange.orders.venues.paper.venue import (
    MarketCourse,
    MarketMoment,
    PaperAccount,
    cancel_order,
    place_order,
    settle_candles,
)
from chain.exchange.public.market import BookLevel, Candle, ContractRules, OrderBook
from tests.fakes.exchange import ExchangeDouble, Refusal

KEYS = VenueKeys("the-key", "the-secret")
ETH = "ETHUSDT"
_KINDS = {
    "MARKET": OrderType.MARKET,
    "STOP_MARKET": OrderType.STOP,
    "TAKE_PROFIT": OrderType.TAKE_PROFIT,
}
_STATUS = {
    OrderState.OPEN: "NEW",
    OrderState.FILLED: "FILLED",
    OrderState.CANCELLED: "EXPIRED",
    OrderState.EXPIRED: "EXPIRED",
}
SILENT = Refusal(0)
"""Nothing is answered, and the connection is closed."""
LATE = Refusal(1)
"""The same, and what was asked for arrives some seconds later."""
_LATE_SECONDS = 4


def error(status: int, code: int, words: str, *headers: str) -> Refusal:
    return Refusal(status, json.dumps({"code": code, "msg": words}).encode(), headers)


@dataclass
class AccountDouble(ExchangeDouble):
    """Faults of orders come one after another; each says whether the order was taken before."""

    path: Path | None = None
    placing: list[tuple[Refusal, bool]] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    """Client ids of requests to place an order, each time one came."""
    skew_seconds: float = 0.0
    """By how much a request's clock must be off to be refused; 0 asks nobody."""
    depth: float | None = None
    """Coins that rest on the best price; None for the world's own book."""
    fee_coin: str = "USDT"
    fee_coin_mark: float = 1.0
    """What fees are paid in, and what one of it is worth."""
    liquidation: str = "0"
    paid_fees: list[int] = field(default_factory=list)
    """Milliseconds at which half a dollar was paid, the oldest first."""
    listen_keys: int = 0
    hedge_mode: bool = False
    multi_assets: bool = False
    may_withdraw: bool = False
    refuses: dict[str, int] = field(default_factory=dict)
    """By type of order, how often it is refused as if its price were reached already."""

    def held(self) -> PaperAccount:
        assert self.path is not None
        with closing(open_database(self.path)) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS held (body BLOB)")
            row = connection.execute("SELECT body FROM held").fetchone()
        if row is None:
            return PaperAccount(cash=10_000.0, keeps_orphans=True)
        return msgspec.json.decode(row[0], type=PaperAccount)

    def keep(self, account: PaperAccount) -> None:
        assert self.path is not None
        with closing(open_database(self.path)) as connection, transaction(connection):
            connection.execute("CREATE TABLE IF NOT EXISTS held (body BLOB)")
            connection.execute("DELETE FROM held")
            connection.execute("INSERT INTO held VALUES (?)", (msgspec.json.encode(account),))

    def accepted(self) -> list[str]:
        """The names of all orders that were ever taken, each time one was."""
        return self._log("SELECT name FROM accepted ORDER BY rowid")

    def _log(self, question: str, *values: object) -> list[str]:
        assert self.path is not None
        with closing(open_database(self.path)) as connection, transaction(connection):
            connection.execute("CREATE TABLE IF NOT EXISTS accepted (name TEXT)")
            connection.execute("CREATE TABLE IF NOT EXISTS late (body TEXT, at INTEGER)")
            return [row[0] for row in connection.execute(question, values)]

    def trade(self, low: float, high: float, volume: float = 1e6) -> None:
        """A minute in which the market traded between these prices."""
        start = self.now - self.now % 60 + 60
        self.now = start + 60
        self._arrive()
        held = self.held()
        course = MarketCourse(
            ETH, 60, (Candle(start, low, high, low, high, volume, volume / 2),), (), 0.0
        )
        self.keep(settle_candles(replace(held, settled_at={**held.settled_at, ETH: start}), course))

    def _arrive(self) -> None:
        """What was held up on its way."""
        due = "FROM late WHERE at <= ?"
        for body in self._log(f"SELECT body {due}", self.now):
            self._take(json.loads(body))
        self._log(f"DELETE {due}", self.now)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.append(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                if await self._streaming(head, reader, writer):
                    break
                fields = dict(
                    line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line
                )
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                method, target = head.split(" ")[:2]
                answer = self._private(method, target, fields, body.decode())
                if answer is SILENT:
                    break
                writer.write(self._answer(target) if answer is None else self._written(answer))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def _written(self, answer: Refusal) -> bytes:
        head = [f"HTTP/1.1 {answer.status} Said", f"content-length: {len(answer.content)}"]
        head += [*answer.headers, "content-type: application/json", "", ""]
        return "\r\n".join(head).encode() + answer.content

    def _private(
        self, method: str, target: str, fields: dict[str, str], body: str
    ) -> Refusal | None:
        """None for what everybody may ask."""
        parts = urlsplit(target)
        if "x-mbx-apikey" not in fields:
            return None
        self.asked.append(f"{method} {parts.path}")
        if parts.path.endswith("/listenKey"):
            self.listen_keys += method == "POST"
            fault = self.faults.get(parts.path)
            return fault or _json({"listenKey": f"listen-{self.listen_keys}"})
        signed = body or parts.query
        text, _, signature = signed.rpartition("&signature=")
        good = hmac.new(KEYS.secret.encode(), text.encode(), hashlib.sha256).hexdigest()
        if fields["x-mbx-apikey"] != KEYS.key or signature != good:
            return error(400, -1022, "Signature for this request is not valid.")
        asked = {name: values[0] for name, values in parse_qs(text).items()}
        away = abs(int(asked["timestamp"]) / 1000 - self.now)
        if self.skew_seconds and away > self.skew_seconds:
            return error(400, -1021, "Timestamp for this request is outside of the recvWindow.")
        fault = self.faults.get(parts.path)
        if fault is not None:
            return fault
        self._arrive()
        page = (method, parts.path.rsplit("/", 1)[-1])
        return self._page(page, asked)

    def _page(self, page: tuple[str, str], asked: dict[str, str]) -> Refusal:
        match page:
            case ("POST", "order" | "algoOrder"):
                return self._place(asked)
            case ("GET", "order" | "algoOrder" as kind):
                found = self._found(asked)
                return _MISSING if found is None else _json(_entry(found, kind))
            case ("DELETE", "order" | "algoOrder" as kind):
                found = self._found(asked)
                # What was triggered is an order of the book, and waits no more.
                gone = found is None or not found.is_open or (kind == "algoOrder" and found.filled)
                if found is None or gone:
                    return error(400, -2011, "Unknown order sent.")
                self.keep(
                    cancel_order(self.held(), found.order.client_id, self.now, "by its owner")
                )
                ended = {"status": "CANCELED", "algoStatus": "CANCELED"}
                return _json({**_entry(found, kind), **ended})
            case ("GET", "account"):
                return _json({"totalMarginBalance": f"{self.held().cash:.8f}"})
            case ("GET", "positionRisk"):
                rows = [
                    {
                        "symbol": one.symbol,
                        "positionAmt": f"{one.quantity:.3f}",
                        "entryPrice": f"{one.entry:.8f}",
                        "liquidationPrice": self.liquidation,
                    }
                    for one in self.held().positions.values()
                ]
                return _json(rows)
            case ("GET", "openOrders" | "openAlgoOrders" as name):
                plain = name == "openOrders"
                return _json(
                    [
                        _entry(one)
                        for one in self.held().open_orders()
                        if plain is (one.order.type not in _KINDS.values())
                    ]
                )
            case ("GET", "userTrades"):
                done = [one for one in self.held().orders.values() if one.filled]
                number = int(asked["orderId"])
                return _json(
                    [
                        {
                            "commission": f"{one.fees / self.fee_coin_mark:.8f}",
                            "commissionAsset": self.fee_coin,
                        }
                        for one in done
                        if _number(one.order.client_id) == number
                    ]
                )
            case ("GET", "income"):
                since, most = int(asked["startTime"]), int(asked["limit"])
                rows = [
                    {"income": "-0.5", "asset": "USDT", "time": str(time), "tranId": str(number)}
                    for number, time in enumerate(self.paid_fees)
                    if time >= since and asked["incomeType"] == "COMMISSION"
                ]
                return _json(rows[:most])
            case ("GET", "dual"):
                return _json({"dualSidePosition": self.hedge_mode})
            case ("GET", "multiAssetsMargin"):
                return _json({"multiAssetsMargin": self.multi_assets})
            case ("GET", "symbolConfig"):
                config = {"symbol": asked["symbol"], "marginType": "CROSSED", "leverage": 20}
                return _json([{**config, "isAutoAddMargin": False, "maxNotionalValue": "1000000"}])
            case ("GET", "apiRestrictions"):
                return _json({"enableFutures": True, "enableWithdrawals": self.may_withdraw})
        return Refusal(404)

    def _place(self, asked: dict[str, str]) -> Refusal:
        name = asked.get("newClientOrderId") or asked["clientAlgoId"]
        self.taken.append(name)
        fault, after = self.placing.pop(0) if self.placing else (None, True)
        if fault is LATE:
            self._log("INSERT INTO late VALUES (?, ?)", json.dumps(asked), self.now + _LATE_SECONDS)
            return SILENT
        if fault is not None and not after:
            return fault
        answer = self._take(asked)
        return fault or answer

    def _take(self, asked: dict[str, str]) -> Refusal:
        name = asked.get("newClientOrderId") or asked["clientAlgoId"]
        if self.hedge_mode:
            return error(400, -4061, "Order's position side does not match user's setting.")
        # As on Binance: a name is free again once its order has ended.
        if any(one.order.client_id == name for one in self.held().open_orders()):
            return error(400, -4116, "ClientOrderId is duplicated.")
        order = _order(name, asked)
        if self.refuses.get(order.type, 0) > 0:
            self.refuses[order.type] -= 1
            return error(400, -2021, "Order would immediately trigger.")
        account = place_order(self.held(), order, self._moment(asked["symbol"]))
        done = account.orders[name]
        if done.state is OrderState.REFUSED:
            if "margin" in done.reason:
                return error(400, -2019, "Margin is insufficient.")
            return error(400, -4164, "Order's notional must be no smaller than 20.")
        self.keep(account)
        self._log("INSERT INTO accepted VALUES (?)", name)
        return _json(_entry(done))

    def _moment(self, symbol: str) -> MarketMoment:
        page = self.pages.answer(f"/fapi/v1/depth?symbol={symbol}&limit=20", self.now)
        assert page is not None
        told = json.loads(page.content)
        sides = [
            tuple(BookLevel(float(price), float(coins)) for price, coins in told[side])
            for side in ("bids", "asks")
        ]
        if self.depth is not None:
            sides = [(BookLevel(side[0].price, self.depth),) for side in sides]
        return MarketMoment(
            OrderBook(float(self.now), *sides),
            ContractRules(symbol, 0.01, 0.001, 20.0),
            float(self.now),
        )

    def _found(self, asked: dict[str, str]) -> OrderProgress | None:
        orders = self.held().orders
        name = asked.get("origClientOrderId") or asked.get("clientAlgoId")
        if name is not None:
            return orders.get(name)
        number = int(asked["orderId"])
        return next((one for key, one in orders.items() if _number(key) == number), None)


_MISSING = error(400, -2013, "Order does not exist.")


def _json(content: Any) -> Refusal:
    return Refusal(200, json.dumps(content).encode())


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:5], "big")


def _order(name: str, asked: dict[str, str]) -> VenueOrder:
    kind = _KINDS.get(asked["type"])
    if kind is None:
        kind = OrderType.LIMIT_TAKER if asked["timeInForce"] == "IOC" else OrderType.MAKER
    price = asked.get("price") or asked.get("triggerPrice")
    return VenueOrder(
        client_id=name,
        symbol=asked["symbol"],
        side=OrderSide(asked["side"].lower()),
        type=kind,
        quantity=float(asked["quantity"]),
        price=None if kind is OrderType.MARKET else float(price or 0),
        reduce_only=asked.get("reduceOnly") in ("true", "True"),
    )


def _entry(one: OrderProgress, kind: str = "algoOrder") -> dict[str, Any]:
    order, status = one.order, _STATUS[one.state]
    if one.is_open and one.filled:
        status = "PARTIALLY_FILLED"
    shared = {
        "symbol": order.symbol,
        "side": order.side.value.upper(),
        "price": f"{order.price or 0:.2f}",
        "reduceOnly": order.reduce_only,
        "updateTime": int(one.changed_at * 1000),
    }
    if kind == "algoOrder" and order.type in (OrderType.STOP, OrderType.TAKE_PROFIT):
        triggered = {"NEW": "NEW", "PARTIALLY_FILLED": "TRIGGERED", "FILLED": "FINISHED"}
        return {
            **shared,
            "algoId": _number(order.client_id),
            "clientAlgoId": order.client_id,
            "algoStatus": triggered.get(status, status),
            "orderType": "STOP_MARKET" if order.type is OrderType.STOP else "TAKE_PROFIT",
            "quantity": f"{order.quantity:.3f}",
            "triggerPrice": f"{order.price or 0:.2f}",
            "actualOrderId": str(_number(order.client_id)) if one.filled else "",
            "createTime": int(one.placed_at * 1000),
        }
    return {
        **shared,
        "orderId": _number(order.client_id),
        "clientOrderId": order.client_id,
        "status": status,
        "type": "MARKET" if order.type is OrderType.MARKET else "LIMIT",
        "origQty": f"{order.quantity:.3f}",
        "executedQty": f"{one.filled:.3f}",
        "avgPrice": f"{one.average or 0:.8f}",
        "time": int(one.placed_at * 1000),
    }
