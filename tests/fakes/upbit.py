"""Upbit on loopback: tickers, balances and spot orders in its shapes, with ways to fail."""

import asyncio
import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from chain.exchange.orders.venue import VenueKeys
from tests.fakes.exchange import ExchangeDouble, Refusal

KEYS = VenueKeys("the-key", "the-secret")
SILENT = Refusal(0)
"""Nothing is answered, and the connection is closed."""
WON = 1_500.0
ETH_WON = 4_500_000.0
_FEE = 0.0005
_TIME = "2026-01-12T10:30:00+09:00"


def error(status: int, name: str) -> Refusal:
    return page({"error": {"name": name, "message": f"{name} was said"}}, status)


def page(content: object, status: int = 200) -> Refusal:
    return Refusal(status, json.dumps(content).encode())


@dataclass
class UpbitDouble(ExchangeDouble):
    held: dict[str, float] = field(default_factory=lambda: {"KRW": 15_000_000.0, "ETH": 0.0})
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)
    placing: list[tuple[Refusal, bool]] = field(default_factory=list)
    """Faults of orders; each says whether the order was taken before."""
    taken: list[str] = field(default_factory=list)
    may_withdraw: bool = False
    depth: float = 1e9
    """Coins that rest on the best price."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.append(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                if await self._streaming(head, reader, writer):
                    break
                lines = [line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line]
                fields = {name.lower(): value for name, value in lines}
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                method, target = head.split(" ")[:2]
                answer = self._spot(method, target, fields.get("authorization"), body.decode())
                if answer is SILENT:
                    break
                writer.write(self._answer(target) if answer is None else _written(answer))
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def _spot(self, method: str, target: str, token: str | None, body: str) -> Refusal | None:
        """None for pages that are Binance's."""
        parts = urlsplit(target)
        if not parts.path.startswith("/v1/"):
            return None
        self.asked.append(parts.path)
        if parts.path in self.faults:
            return self.faults[parts.path]
        asked = json.loads(body) if body else dict(parse_qsl(unquote(parts.query)))
        if token is not None and not _is_signed(token.removeprefix("Bearer "), asked):
            return error(401, "jwt_verification")
        match method, parts.path.removeprefix("/v1/"):
            case "GET", "market/all":
                return page([{"market": one} for one in ("KRW-ETH", "KRW-BTC", "KRW-USDT")])
            case "GET", "ticker":
                prices = {"KRW-ETH": ETH_WON, "KRW-USDT": WON}
                wanted = asked["markets"].split(",")
                return page([{"market": one, "trade_price": prices[one]} for one in wanted])
            case "GET", "orderbook/instruments":
                return page([{"market": asked["markets"], "tick_size": "1000"}])
            case "GET", "orderbook":
                unit = {"ask_price": ETH_WON, "bid_price": ETH_WON - 1_000, "ask_size": 1.0}
                return page([{"market": asked["markets"], "orderbook_units": [unit]}])
            case "GET", "accounts":
                return page([_balance(coin, amount) for coin, amount in self.held.items()])
            case "GET", "withdraws/chance":
                return page({"currency": {}}) if self.may_withdraw else error(403, "out_of_scope")
            case "GET", "orders/open":
                return page([one for one in self.orders.values() if one["state"] == "wait"])
            case "POST", "orders":
                return self._place(asked)
            case "GET", "order":
                return page(found) if (found := self.orders.get(asked["identifier"])) else _MISSING
            case "DELETE", "order":
                found = self.orders.get(asked["identifier"])
                if found is None or found["state"] != "wait":
                    return _MISSING
                found["state"] = "cancel"
                return page(found)
        return Refusal(404)

    def _place(self, asked: dict[str, str]) -> Refusal:
        name = asked["identifier"]
        self.taken.append(name)
        fault, after = self.placing.pop(0) if self.placing else (None, True)
        if fault is not None and not after:
            return fault
        if name in self.orders:
            return error(400, "validation_error")
        coin, buys = asked["market"].removeprefix("KRW-"), asked["side"] == "bid"
        volume, limit = float(asked["volume"]), float(asked.get("price", "0"))
        best = ETH_WON if buys else ETH_WON - 1_000
        crosses = not limit or (limit >= best if buys else limit <= best)
        filled = min(volume, self.depth) if crosses else 0.0
        if buys and volume * (limit or best) > self.held["KRW"]:
            return error(400, "insufficient_funds_bid")
        if not buys and volume > self.held[coin]:
            return error(400, "insufficient_funds_ask")
        if limit % 1_000 or volume * best < 5_000:
            return error(400, "under_min_total_bid")
        sign = 1 if buys else -1
        self.held[coin] += sign * filled
        self.held["KRW"] -= sign * filled * best + filled * best * _FEE
        done = volume - filled < 1e-12
        ends = "done" if done else "cancel" if asked.get("time_in_force") == "ioc" else "wait"
        trade = {"price": str(best), "volume": str(filled), "funds": str(filled * best)}
        self.orders[name] = {
            **{key: asked[key] for key in ("market", "side", "volume", "ord_type")},
            "uuid": f"uuid-{name}",
            "identifier": name,
            "price": asked.get("price"),
            "state": ends,
            "created_at": _TIME,
            "executed_volume": str(filled),
            "remaining_volume": str(volume - filled),
            "paid_fee": str(filled * best * _FEE),
            "trades": [{**trade, "created_at": _TIME}] if filled else [],
        }
        return fault or page(self.orders[name], 201)


_MISSING = error(404, "order_not_found")


def _balance(coin: str, amount: float) -> dict[str, object]:
    return {
        "currency": coin,
        "balance": str(amount),
        "locked": "0.0",
        "avg_buy_price": "0" if coin == "KRW" else str(ETH_WON),
        "avg_buy_price_modified": False,
        "unit_currency": "KRW",
    }


def _is_signed(token: str, asked: dict[str, str]) -> bool:
    text, _, signature = token.rpartition(".")
    good = hmac.new(KEYS.secret.encode(), text.encode(), hashlib.sha256).digest()
    told = json.loads(_bytes(text.split(".")[1]))
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    hashed = hashlib.sha512(query.encode()).hexdigest() if asked else None
    return (
        hmac.compare_digest(_bytes(signature), good)
        and told["access_key"] == KEYS.key
        and told.get("query_hash") == hashed
    )


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _written(answer: Refusal) -> bytes:
    head = [f"HTTP/1.1 {answer.status} Said", f"content-length: {len(answer.content)}"]
    head += [*answer.headers, "content-type: application/json", "", ""]
    return "\r\n".join(head).encode() + answer.content
