"""An account on the loopback exchange: signed requests in Binance's shapes, with ways to fail.

It lives in a file, so that it outlasts whoever sends to it; what is taken is matched as the paper
account matches it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from chain.base.sqlite import open_database, transaction
from chain.exchange.orders.ccxt_client import VenueKeys
from chain.exchange.orders.order import OrderSide, OrderState, OrderType, VenueOrder
from chain.exchange.orders.paper_venue import MarketMoment, PaperAccount, cancelled, placed
from chain.exchange.public.market import BookLevel, ContractRules, OrderBook
from tests.fakes.exchange import ExchangeDouble, Refusal

if TYPE_CHECKING:
    from pathlib import Path

    from chain.exchange.orders.order import OrderProgress

KEYS = VenueKeys("the-key", "the-secret")
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

    def held(self) -> PaperAccount:
        assert self.path is not None
        with closing(open_database(self.path)) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS held (body BLOB)")
            row = connection.execute("SELECT body FROM held").fetchone()
        if row is None:
            return PaperAccount(cash=10_000.0)
        return msgspec.json.decode(row[0], type=PaperAccount)

    def keep(self, account: PaperAccount) -> None:
        assert self.path is not None
        with closing(open_database(self.path)) as connection, transaction(connection):
            connection.execute("CREATE TABLE IF NOT EXISTS held (body BLOB)")
            connection.execute("DELETE FROM held")
            connection.execute("INSERT INTO held VALUES (?)", (msgspec.json.encode(account),))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.append(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
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
        page = (method, parts.path.rsplit("/", 1)[-1])
        return self._page(page, asked)

    def _page(self, page: tuple[str, str], asked: dict[str, str]) -> Refusal:
        match page:
            case ("POST", "order" | "algoOrder"):
                return self._place(asked)
            case ("GET", "order" | "algoOrder"):
                found = self._found(asked)
                return _MISSING if found is None else _json(_entry(found))
            case ("DELETE", "order" | "algoOrder"):
                found = self._found(asked)
                if found is None or not found.is_open:
                    return error(400, -2011, "Unknown order sent.")
                self.keep(cancelled(self.held(), found.order.client_id, self.now, "by its owner"))
                return _json({**_entry(found), "status": "CANCELED", "algoStatus": "CANCELED"})
            case ("GET", "account"):
                return _json({"totalMarginBalance": f"{self.held().cash:.8f}"})
            case ("GET", "positionRisk"):
                rows = [
                    {
                        "symbol": one.symbol,
                        "positionAmt": f"{one.quantity:.3f}",
                        "entryPrice": f"{one.entry:.8f}",
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
                        {"commission": f"{one.fees:.8f}", "commissionAsset": "USDT"}
                        for one in done
                        if _number(one.order.client_id) == number
                    ]
                )
            case ("GET", "income"):
                return _json([])
        return Refusal(404)

    def _place(self, asked: dict[str, str]) -> Refusal:
        name = asked.get("newClientOrderId") or asked["clientAlgoId"]
        self.taken.append(name)
        fault, after = self.placing.pop(0) if self.placing else (None, True)
        if fault is not None and not after:
            return fault
        if name in self.held().orders:
            return error(400, -4116, "ClientOrderId is duplicated.")
        order = _order(name, asked)
        account = placed(self.held(), order, self._moment(asked["symbol"]))
        done = account.orders[name]
        if done.state is OrderState.REFUSED:
            if "margin" in done.reason:
                return error(400, -2019, "Margin is insufficient.")
            return error(400, -4164, "Order's notional must be no smaller than 20.")
        self.keep(account)
        return fault or _json(_entry(done))

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


def _entry(one: OrderProgress) -> dict[str, Any]:
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
    if order.type in (OrderType.STOP, OrderType.TAKE_PROFIT):
        return {
            **shared,
            "algoId": _number(order.client_id),
            "clientAlgoId": order.client_id,
            "algoStatus": status,
            "orderType": "STOP_MARKET" if order.type is OrderType.STOP else "TAKE_PROFIT",
            "quantity": f"{order.quantity:.3f}",
            "triggerPrice": f"{order.price or 0:.2f}",
            "actualOrderId": "",
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
