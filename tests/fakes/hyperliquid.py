"""Hyperliquid on loopback: questions and signed actions in its shapes, with its refusals.

Prices move when a test says so. A stop that came with its entry is no order before that is filled;
what has lost its position stays where nobody cancels it.
"""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from eth_account import Account
from eth_account.messages import encode_typed_data

from chain.exchange.orders.ccxt_client import open_client
from tests.fakes.exchange import ExchangeDouble, Refusal
from tests.fakes.exchange_account import SILENT

MASTER = "0x" + "a1" * 20
SUB = "0x" + "b2" * 20
AGENT_KEY = "0x" + "01" * 32
AGENT = str(Account.from_key(AGENT_KEY).address).lower()
_TYPES = {
    "Agent": [{"name": "source", "type": "string"}, {"name": "connectionId", "type": "bytes32"}],
}
_DOMAIN = {
    "name": "Exchange",
    "version": "1",
    "chainId": 1337,
    "verifyingContract": "0x" + "00" * 20,
}
_NO_AGENT = "User or API Wallet {} does not exist."
_NEVER = "Order was never placed, already canceled, or filled."


def signer_of(request: dict[str, Any]) -> str:
    """Whoever signed this action, by an encoding that is not the client's."""
    client = open_client("hyperliquid")
    vault = request.get("vaultAddress")
    vault = None if vault is None else vault.removeprefix("0x")
    digest = client.action_hash(
        request["action"], vault, request["nonce"], request.get("expiresAfter")
    )
    message = {"source": "a", "connectionId": digest}
    told = request["signature"]
    signable = encode_typed_data(_DOMAIN, _TYPES, message)
    signature = (told["v"], int(told["r"], 16), int(told["s"], 16))
    return str(Account.recover_message(signable, vrs=signature)).lower()


@dataclass
class HyperliquidDouble(ExchangeDouble):
    mark: float = 3_000.0
    equity: float = 10_000.0
    agents: dict[str, int] = field(default_factory=dict)
    """By address, until when; one that is not there signs for nobody."""
    placing: list[tuple[Refusal | None, bool]] = field(default_factory=list)
    """Faults of actions; each says whether it was taken before."""
    sub_account: bool = False
    liquidation: str | None = None
    depth: float = 1e9
    held: float = 0.0
    entry: float = 0.0
    orders: dict[str, dict[str, Any]] = field(default_factory=dict)
    fills: list[dict[str, Any]] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.agents = self.agents or {AGENT: (self.now + 90 * 86_400) * 1000}

    def trade(self, price: float, coins: float = 1e9) -> None:
        """The market goes to this price; what waits there is filled or triggered, each so far."""
        self.mark = price
        for one in list(self.orders.values()):
            if one["status"] == "open" and not one["parent"] and self._is_reached(one):
                self._fill(one, price, coins)

    def _is_reached(self, one: dict[str, Any]) -> bool:
        buys, limit = one["side"] == "B", float(one["triggerPx"] or one["limitPx"])
        if not one["isTrigger"]:
            return self.mark < limit if buys else self.mark > limit
        return (self.mark >= limit) is (buys is (one["tpsl"] == "sl"))

    def _fill(self, one: dict[str, Any], price: float, most: float = 1e9) -> None:
        sign, left = 1 if one["side"] == "B" else -1, float(one["sz"])
        size = min(left, most)
        if one["reduceOnly"]:
            size = min(size, max(-self.held * sign, 0.0))
        if size <= 0:
            one["status"] = "reduceOnlyCanceled"
            return
        if self.held * sign >= 0:
            whole = abs(self.held) + size
            self.entry = (self.entry * abs(self.held) + price * size) / whole
        self.held = round(self.held + sign * size, 8)
        one["sz"] = str(round(left - size, 8))
        one["status"] = "filled" if left - size < 1e-9 else "open"
        one["statusTimestamp"] = self.now * 1000
        fee = f"{size * price * 0.00045:.6f}"
        fill = {"oid": one["oid"], "px": str(price), "sz": str(size), "fee": fee}
        self.fills.append({**fill, "coin": "ETH", "feeToken": "USDC", "time": self.now * 1000})
        if one["status"] == "filled":
            for child in self.orders.values():
                if child["parent"] == one["cloid"]:
                    child["parent"] = ""

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
                target = head.split(" ")[1]
                asked = json.loads(body)
                self.asked.append(target)
                answer = self.faults.get(target) or (
                    self._info(asked) if target == "/info" else self._exchange(asked)
                )
                if answer is SILENT:
                    break
                content = (
                    answer.content if isinstance(answer, Refusal) else json.dumps(answer).encode()
                )
                status = answer.status if isinstance(answer, Refusal) else 200
                told = [f"HTTP/1.1 {status} Said", f"content-length: {len(content)}"]
                told += answer.headers if isinstance(answer, Refusal) else ()
                writer.write(
                    "\r\n".join([*told, "content-type: application/json", "", ""]).encode()
                )
                writer.write(content)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def _info(self, asked: dict[str, Any]) -> Any:
        match asked["type"]:
            case "exchangeStatus":
                return {"specialStatuses": None, "time": self.now * 1000}
            case "metaAndAssetCtxs":
                universe = [
                    {"name": name, "szDecimals": 4, "maxLeverage": 25} for name in ("BTC", "ETH")
                ]
                state = {
                    "markPx": str(self.mark),
                    "oraclePx": str(self.mark),
                    "funding": "0.0000125",
                }
                return [{"universe": universe}, [{**state, "openInterest": "1"}] * 2]
            case "userRole":
                return self._role(asked["user"].lower())
            case "extraAgents":
                return [
                    {"name": "zuno", "address": address, "validUntil": until}
                    for address, until in self.agents.items()
                ]
            case "activeAssetData":
                return {
                    "user": asked["user"],
                    "coin": "ETH",
                    "leverage": {"type": "cross", "value": 20},
                }
            case "clearinghouseState":
                position = {
                    "coin": "ETH",
                    "szi": str(self.held),
                    "entryPx": str(self.entry),
                    "liquidationPx": self.liquidation,
                }
                rows = [{"type": "oneWay", "position": position}] if self.held else []
                return {
                    "assetPositions": rows,
                    "marginSummary": {"accountValue": str(self.equity)},
                    "time": self.now * 1000,
                }
            case "frontendOpenOrders":
                return [
                    one
                    for one in self.orders.values()
                    if one["status"] == "open" and not one["parent"]
                ]
            case "orderStatus":
                found = self.orders.get(asked["oid"])
                if found is None or found["parent"]:
                    return {"status": "unknownOid"}
                shown = {"order": found, "status": found["status"]}
                stamp = {"statusTimestamp": found["statusTimestamp"]}
                return {"status": "order", "order": {**shown, **stamp}}
            case "userFillsByTime":
                return self.fills
            case "userFunding":
                return []
            case "fundingHistory":
                hours = range(asked["startTime"] // 3_600_000 * 3600 + 3600, self.now, 3600)
                row = {"coin": asked["coin"], "fundingRate": "0.0000125", "premium": "0"}
                return [{**row, "time": hour * 1000} for hour in hours]
            case "candleSnapshot":
                start = asked["req"]["startTime"] // 3_600_000 * 3600
                hours = range(start, self.now, 3600)
                return [
                    {"t": hour * 1000, "o": str(self.mark), "c": str(self.mark)} for hour in hours
                ]
        return Refusal(422)

    def _role(self, user: str) -> dict[str, Any]:
        if user == SUB:
            return {"role": "subAccount", "data": {"master": MASTER}}
        if self.agents.get(user, 0) > self.now * 1000:
            return {"role": "agent", "data": {"user": MASTER}}
        return {"role": "user"} if user == MASTER else {"role": "missing"}

    def _exchange(self, request: dict[str, Any]) -> Any:
        fault, after = self.placing.pop(0) if self.placing else (None, True)
        if fault is not None and not after:
            return fault
        signer = signer_of(request)
        if self.agents.get(signer, 0) <= self.now * 1000 and signer != MASTER:
            return {"status": "err", "response": _NO_AGENT.format(signer)}
        if request.get("expiresAfter", 1 << 60) < self.now * 1000:
            return {"status": "err", "response": "expiresAfter is in the past"}
        if (request.get("vaultAddress") == SUB) is not self.sub_account:
            return {"status": "err", "response": "Vault not registered"}
        action = request["action"]
        assert "builder" not in action, "nobody else is paid"
        if action["type"] == "cancelByCloid":
            statuses = [self._cancel(one["cloid"]) for one in action["cancels"]]
        else:
            parent = action["orders"][0]["c"] if action["grouping"] == "normalTpsl" else ""
            statuses = [self._place(one, parent) for one in action["orders"]]
        response = {"type": action["type"], "data": {"statuses": statuses}}
        return fault or {"status": "ok", "response": response}

    def _cancel(self, name: str) -> Any:
        found = self.orders.get(name)
        if found is None or found["status"] != "open":
            return {"error": f"{_NEVER} asset=1"}
        found["status"], found["statusTimestamp"] = "canceled", self.now * 1000
        for child in self.orders.values():
            if child["parent"] == name:
                child["status"] = "siblingFilledCanceled"
                child["parent"] = ""
        return "success"

    def _place(self, wire: dict[str, Any], parent: str) -> Any:
        name, price, size = wire["c"], float(wire["p"]), float(wire["s"])
        self.taken.append(name)
        trigger = wire["t"].get("trigger")
        if not wire["r"] and price * size < 10:
            return {"error": "Order must have minimum value of $10. asset=1"}
        if not wire["r"] and (abs(self.held) + size) * self.mark > 20 * self.equity:
            return {"error": "Insufficient margin to place order. asset=1"}
        tif = None if trigger else wire["t"]["limit"]["tif"]
        crosses = price >= self.mark if wire["b"] else price <= self.mark
        if tif == "Alo" and crosses:
            return {"error": "Post only order would have immediately matched, bbo was 1@2. asset=1"}
        own = parent not in ("", name)
        waits = own and self.orders.get(parent, {}).get("status") != "filled"
        if own and parent not in self.orders:
            return {"error": "Parent order was not placed. asset=1"}
        one = {
            "coin": "ETH",
            "side": "B" if wire["b"] else "A",
            "limitPx": wire["p"],
            "sz": wire["s"],
            "origSz": wire["s"],
            "oid": 1_000 + len(self.orders),
            "cloid": name,
            "timestamp": self.now * 1000,
            "isTrigger": bool(trigger),
            "triggerPx": trigger["triggerPx"] if trigger else "",
            "tpsl": trigger["tpsl"] if trigger else "",
            "orderType": "Stop Market" if trigger else "Limit",
            "reduceOnly": wire["r"],
            "status": "open",
            "statusTimestamp": self.now * 1000,
            "parent": parent if waits else "",
        }
        self.orders[name] = one
        if trigger:
            return "waitingForFill" if waits else "waitingForTrigger"
        if tif == "Alo" or not crosses:
            if tif == "Ioc":
                del self.orders[name]
                return {"error": "Order could not immediately match against any resting orders."}
            return {"resting": {"oid": one["oid"], "cloid": name}}
        self._fill(one, self.mark, self.depth)
        if one["status"] == "open" and tif == "Ioc":
            one["status"] = "iocCanceled"
        filled = float(one["origSz"]) - float(one["sz"])
        told = {"totalSz": str(filled), "avgPx": str(self.mark), "oid": one["oid"]}
        return {"filled": {**told, "cloid": name}}
