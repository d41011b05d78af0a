"""Hyperliquid through ccxt: orders with names of their own, stop and profit in one group.

ccxt packs and signs; what is signed is put together here, because ccxt's own way would first
approve a fee for its builder.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from math import floor, log10
from typing import Any

from msgspec.structs import replace

from chain.exchange.orders.ccxt_client import (
    BETWEEN_LOOKS,
    RECEIVE_MILLISECONDS,
    CcxtAsking,
    CcxtOrderStream,
    NotThereError,
    address_of,
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
    unfit,
)
from chain.exchange.orders.venue import (
    KEY_WARNED_DAYS,
    AccountCheck,
    VenueAccount,
    VenueKeys,
    sized_parts,
)
from chain.exchange.orders.venues.hyperliquid import ABILITIES
from chain.exchange.public.market import (
    ContractRules,
    FundingPayment,
    FundingState,
    NoContractError,
    VenueAnswer,
)

SOURCE = "Hyperliquid"
_HOUR = 3600
_DAY = 86_400
_FUNDING_DAYS = 7
_LEAST_NOTIONAL = 10.0
_DECIMALS = 6
_DIGITS = 5
"""Prices have five significant digits, and with those of the size at most six decimals."""
_SLIPPAGE = 0.05
"""How far an order at any price goes, as the venue's own page does."""
_STATES = {
    "open": OrderState.OPEN,
    "triggered": OrderState.OPEN,
    "filled": OrderState.FILLED,
    "canceled": OrderState.CANCELLED,
    "rejected": OrderState.REFUSED,
}
_SENTENCES = {
    "User or API Wallet": "this agent is not approved for the account, or has expired; make a new "
    "one, never with an old agent's address",
    "Order must have minimum value": "it is worth less than the venue takes: $10",
    "Post only order would have": "it would have taken at once, and should rest",
    "Invalid TP/SL price": "its price is reached already",
    "Reduce only order would increase": "nothing is left to reduce",
    "Insufficient margin": "margin is insufficient",
    "Too many cumulative requests": "the venue was asked too often for what was traded there",
    "expiresAfter": "it was too long on its way, or a clock is off",
}


def cloid(order: VenueOrder) -> str:
    """The order's name, as the venue takes names."""
    return f"0x{hashlib.sha256(order.client_id.encode()).hexdigest()[:32]}"


def coin_of(symbol: str) -> str:
    return symbol.removesuffix("USDT")


class HyperliquidContracts:
    """What it tells everybody, without a key."""

    def __init__(self, client: Any, ask: CcxtAsking) -> None:  # noqa: ANN401 - no types in ccxt
        self._client = client
        self._ask = ask
        self._read = VenueAnswer(SOURCE)

    async def info(self, kind: str, **asked: object) -> Any:  # noqa: ANN401 - checked by readers
        return await self._ask.read(self._client.publicPostInfo, {"type": kind, **asked})

    async def time(self) -> float:
        answer = self._read.mapping(await self.info("exchangeStatus"), "time")
        return self._read.positive(answer.get("time"), "time") / 1000

    async def rules(self, symbol: str) -> ContractRules:
        row, state = await self._contract(symbol)
        decimals = int(self._read.amount(row.get("szDecimals"), "contract"))
        mark = self._read.positive(state.get("markPx"), "mark")
        digits = max(floor(log10(mark)) + 1 - _DIGITS, decimals - _DECIMALS)
        price_step = 10.0 ** min(digits, 0)
        return ContractRules(symbol, price_step, 10.0**-decimals, _LEAST_NOTIONAL)

    async def funding(self, symbol: str) -> FundingState:
        _, state = await self._contract(symbol)
        now = await self.time()
        return FundingState(
            time=now,
            mark=self._read.positive(state.get("markPx"), "mark"),
            index=self._read.positive(state.get("oraclePx"), "index"),
            rate=self._read.number(state.get("funding"), "funding rate"),
            interval_hours=1.0,
        )

    async def payments(self, symbol: str, *, since: int) -> tuple[FundingPayment, ...]:
        """At the price at which each hour began: it tells the rates alone."""
        coin, start = coin_of(symbol), since * 1000
        told = await self.info("fundingHistory", coin=coin, startTime=start)
        rates = self._read.entries(told, "funding history")
        span = {"coin": coin, "interval": "1h", "startTime": start - _HOUR * 1000}
        span["endTime"] = int(await self.time() * 1000)
        opens = {}
        for candle in self._read.entries(await self.info("candleSnapshot", req=span), "candles"):
            hour = int(self._read.positive(candle.get("t"), "candle")) // 1000
            opens[hour] = self._read.positive(candle.get("o"), "candle")
        found = []
        for row in rates:
            time = int(self._read.positive(row.get("time"), "funding history")) // 1000
            rate = self._read.number(row.get("fundingRate"), "funding history")
            found.append(FundingPayment(time, rate, opens.get(time // _HOUR * _HOUR)))
        return tuple(sorted(found))

    async def _contract(self, symbol: str) -> tuple[dict[str, object], dict[str, object]]:
        answer = self._read.rows(await self.info("metaAndAssetCtxs"), "list of contracts")
        if len(answer) < 2:
            raise self._read.wrong("list of contracts")
        universe = self._read.mapping(answer[0], "list of contracts").get("universe")
        rows, states = self._read.rows(universe, "contracts"), self._read.rows(answer[1], "marks")
        for row, state in zip(rows, states, strict=False):
            entry = self._read.mapping(row, "contract")
            if entry.get("name") == coin_of(symbol) and not entry.get("isDelisted"):
                return entry, self._read.mapping(state, "contract")
        raise NoContractError(f"{SOURCE} trades no {coin_of(symbol)}")


class HyperliquidVenue:
    """One account or sub-account; a question raises `MarketError` where it is not understood."""

    abilities = ABILITIES
    late_seconds = 2 * RECEIVE_MILLISECONDS / 1000
    """What is signed says itself until when it may be taken."""

    def __init__(
        self,
        name: str,
        keys: VenueKeys,
        *,
        base_url: str | None = None,
        between_looks: float = BETWEEN_LOOKS,
    ) -> None:
        self.name = name
        self._account = keys.key.lower()
        self._agent = address_of(keys.secret)
        self._read = VenueAnswer(SOURCE)
        options = {"fetchMarkets": {"types": ["swap"]}}
        self._client = open_client("hyperliquid", base_url=base_url, options=options)
        # With a key ccxt would sign on its own: a fee for its builder, and who referred one.
        self._signer = open_client("hyperliquid")
        self._signer.privateKey = keys.secret
        self._ask = CcxtAsking(SOURCE, self._client, between_looks, sentences=_SENTENCES)
        self.contracts = HyperliquidContracts(self._client, self._ask)
        self._info = self.contracts.info
        self._master: str | None = None
        self._last_nonce = 0
        self.order_stream = CcxtOrderStream(
            "hyperliquid", base_url=base_url, options=options, asked={"user": self._account}
        )

    async def close(self) -> None:
        await self.order_stream.close()
        await self._client.close()
        await self._signer.close()

    async def now(self) -> float:
        return await self.contracts.time()

    async def check(self, symbol: str) -> AccountCheck:
        """The agent, whose account it is and until when; how the contract is levered."""
        faults, remarks = [], []
        master = await self._master_of()
        if self._agent in (self._account, master):
            return AccountCheck((), (), may_withdraw=True)
        owner = await self._owner_of_agent()
        if owner is None:
            faults.append(_SENTENCES["User or API Wallet"])
        elif owner != master:
            faults.append("this agent belongs to another account")
        else:
            remarks.append(await self._end_words())
        state = await self._info("activeAssetData", user=self._account, coin=coin_of(symbol))
        leverage = self._read.mapping(state, "leverage").get("leverage")
        if isinstance(leverage, dict):
            value = self._read.positive(leverage.get("value"), "leverage")
            cross = leverage.get("type") == "cross"
            answers = "the whole account answers for it" if cross else "isolated margin"
            remarks.append(f"{coin_of(symbol)} is set to {value:g}×: {answers}")
        if master == self._account:
            remarks.append("a sub-account of its own would keep this apart from other trades")
        return AccountCheck(tuple(faults), tuple(filter(None, remarks)))

    async def key_ends_at(self) -> float | None:
        """Until when the agent may sign."""
        master = await self._master_of()
        if self._agent in (self._account, master):
            return None
        if await self._owner_of_agent() is None:
            return 0.0
        agents = await self._info("extraAgents", user=master)
        for entry in self._read.entries(agents, "agents"):
            if str(entry.get("address")).lower() == self._agent:
                return self._read.positive(entry.get("validUntil"), "agent") / 1000
        return None

    async def _end_words(self) -> str:
        """Empty where the venue sets no end."""
        until = await self.key_ends_at()
        if until is None:
            return ""
        days = (until - await self.now()) / _DAY
        if days >= KEY_WARNED_DAYS:
            return f"the agent is good for {days:.0f} more days"
        ends = f"the agent ends in {max(days, 0):.0f} days"
        return f"{ends}: make a new one in time, never with an old agent's address"

    async def _owner_of_agent(self) -> str | None:
        """None where it signs for nobody: it was never approved, or has expired."""
        role = self._read.mapping(await self._info("userRole", user=self._agent), "role")
        owner = role.get("data")
        if role.get("role") != "agent":
            return None
        return str(owner.get("user")).lower() if isinstance(owner, dict) else ""

    async def _master_of(self) -> str:
        """Whose agents may sign: of a sub-account those of its owner."""
        if self._master is None:
            role = self._read.mapping(await self._info("userRole", user=self._account), "role")
            data = role.get("data")
            self._master = self._account
            if role.get("role") == "subAccount" and isinstance(data, dict):
                self._master = str(data.get("master")).lower()
        return self._master

    async def account(self) -> VenueAccount:
        user = self._account
        state = self._read.mapping(await self._info("clearinghouseState", user=user), "account")
        summary = self._read.mapping(state.get("marginSummary"), "account")
        rows = self._read.entries(state.get("assetPositions"), "positions")
        held = [self._read.mapping(row.get("position"), "position") for row in rows]
        waiting = await self._info("frontendOpenOrders", user=user)
        now = await self.now()
        since = int(now - _FUNDING_DAYS * _DAY) * 1000
        paid = await self._info("userFunding", user=user, startTime=since)
        deltas = [
            self._read.mapping(row.get("delta"), "funding")
            for row in self._read.entries(paid, "funding")
        ]
        return VenueAccount(
            self.name,
            now,
            self._read.number(summary.get("accountValue"), "account"),
            tuple(
                PerpetualPosition(
                    f"{entry.get('coin')}USDT",
                    self._read.number(entry.get("szi"), "position"),
                    self._read.amount(entry.get("entryPx") or "0", "position"),
                    self._read.amount(entry.get("liquidationPx") or "0", "position") or None,
                )
                for entry in held
            ),
            tuple(map(self._seen, self._read.entries(waiting, "open orders"))),
            None,
            sum(self._read.number(delta.get("usdc"), "funding") for delta in deltas),
            days=_FUNDING_DAYS,
        )

    async def parts(self, order: VenueOrder) -> tuple[VenueOrder, ...]:
        return await sized_parts(self.contracts, order)

    async def submit(self, order: VenueOrder) -> OrderProgress:
        """Sent once; the same name twice is one order. Raises where nobody can tell."""
        return (await self._submitted([order]))[0]

    async def submit_group(self, orders: Sequence[VenueOrder]) -> tuple[OrderProgress, ...]:
        return await self._submitted(orders)

    async def _submitted(self, orders: Sequence[VenueOrder]) -> tuple[OrderProgress, ...]:
        first = orders[0]
        mark = (await self.contracts.funding(first.symbol)).mark
        reason = unfit(first, await self.contracts.rules(first.symbol), mark)
        if reason:
            now = await self.now()
            return tuple(refused_order(order, reason, now) for order in orders)
        await self._ask.read(self._client.load_markets)
        action = {
            "type": "order",
            "orders": [self._wire(order, mark) for order in orders],
            "grouping": "normalTpsl" if len(orders) > 1 else "na",
        }
        statuses: list[object] = []

        async def place() -> None:
            answer = self._read.mapping(await self._posted(action), "order")
            told = self._read.mapping(answer.get("response"), "order").get("data")
            statuses.extend(self._read.rows(self._read.mapping(told, "order").get("statuses"), "o"))

        done = [await self._ask.send(first, place, self.find, self.now)]
        for place_of, order in enumerate(orders[1:], start=1):
            found = await self.find(order)
            waits = place_of < len(statuses) and "error" not in str(statuses[place_of])
            if found is None and waits and done[0].state is not OrderState.REFUSED:
                # It is part of what it protects until that is filled, and no order before.
                found = replace(done[0], order=order, state=OrderState.OPEN, filled=0.0, fees=0.0)
                found = replace(found, average=None)
            done.append(found or refused_order(order, "it is not there", done[0].changed_at))
        return tuple(done)

    def _wire(self, order: VenueOrder, mark: float) -> dict[str, Any]:
        """As ccxt writes it; at any price is a price far off, and the venue's best is taken."""
        named: dict[str, Any] = {"clientOrderId": cloid(order), "slippage": str(_SLIPPAGE)}
        named["reduceOnly"] = order.reduce_only
        kind, price = "limit", order.price or mark
        match order.type:
            case OrderType.MAKER:
                named["timeInForce"] = "alo"
            case OrderType.LIMIT_TAKER:
                named["timeInForce"] = "ioc"
            case OrderType.STOP:
                kind, named["stopLossPrice"] = "market", str(order.price)
            case OrderType.TAKE_PROFIT:
                named["takeProfitPrice"] = str(order.price)
            case _:
                kind = "market"
        symbol = f"{coin_of(order.symbol)}/USDC:USDC"
        wire: dict[str, Any] = self._client.create_order_request(
            symbol, kind, order.side.value, f"{order.quantity:.8f}", str(price), named
        )
        return wire

    async def _posted(self, action: dict[str, Any]) -> object:
        """Signed with an end: what comes later than that is not taken any more."""
        milliseconds = int(await self.now() * 1000)
        nonce = self._last_nonce = max(milliseconds, self._last_nonce + 1)
        until = milliseconds + RECEIVE_MILLISECONDS
        vault = None if await self._master_of() == self._account else self._account[2:]
        signature = self._signer.sign_l1_action(action, nonce, vault, until)
        request = {"action": action, "nonce": nonce, "signature": signature, "expiresAfter": until}
        if vault is not None:
            request["vaultAddress"] = f"0x{vault}"
        return await self._client.privatePostExchange(request)

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        try:
            seen = await self._info("orderStatus", user=self._account, oid=cloid(order))
        except NotThereError:
            return None
        told = self._read.mapping(self._read.mapping(seen, "order").get("order"), "order")
        entry = self._read.mapping(told.get("order"), "order")
        placed_at = self._read.positive(entry.get("timestamp"), "order's time") / 1000
        whole = self._read.positive(entry.get("origSz"), "order")
        filled = whole - self._read.amount(entry.get("sz"), "order")
        state = self._state(told.get("status"))
        if state is OrderState.FILLED:
            filled = whole
        if state is OrderState.CANCELLED and order.type is OrderType.MAKER and filled >= whole:
            state = OrderState.FILLED
        progress = OrderProgress(
            order=order,
            state=state,
            placed_at=placed_at,
            filled=round(filled, 10),
            changed_at=self._read.positive(told.get("statusTimestamp"), "order's time") / 1000,
            reason="" if state in (OrderState.OPEN, OrderState.FILLED) else f"the venue: {state}",
        )
        return await self._with_fills(progress, entry) if filled > 0 else progress

    async def _with_fills(self, progress: OrderProgress, entry: dict[str, object]) -> OrderProgress:
        """Price and fees are told with its trades alone."""
        start = int(progress.placed_at * 1000) - 1
        told = await self._info("userFillsByTime", user=self._account, startTime=start)
        trades = self._read.entries(told, "trades")
        own = [trade for trade in trades if str(trade.get("oid")) == str(entry.get("oid"))]
        size = sum(self._read.amount(trade.get("sz"), "trade") for trade in own)
        if not size:
            return progress
        worth = sum(
            self._read.amount(trade.get("sz"), "trade")
            * self._read.positive(trade.get("px"), "trade")
            for trade in own
        )
        fees = sum(self._read.number(trade.get("fee"), "trade") for trade in own)
        return replace(progress, average=worth / size, fees=fees)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        await self._ask.read(self._client.load_markets)
        market = self._client.market(f"{coin_of(order.symbol)}/USDC:USDC")
        cancels = [{"asset": int(market["baseId"]), "cloid": cloid(order)}]
        with suppress(NotThereError):
            await self._ask.read(self._posted, {"type": "cancelByCloid", "cancels": cancels})
        # It is cancelled now, or was filled or never there before: looking tells which.
        return await self.find(order)

    def _state(self, told: object) -> OrderState:
        for ending, state in _STATES.items():
            if str(told).lower().endswith(ending):
                return state
        raise self._read.wrong("order's state")

    def _seen(self, entry: dict[str, object]) -> OrderProgress:
        """An order that rests, whoever has sent it."""
        profit = "profit" in str(entry.get("orderType")).lower()
        waits = OrderType.TAKE_PROFIT if profit else OrderType.STOP
        kind = waits if entry.get("isTrigger") in (True, "true") else OrderType.MAKER
        price = entry.get("triggerPx") if kind is not OrderType.MAKER else entry.get("limitPx")
        placed_at = self._read.positive(entry.get("timestamp"), "order's time") / 1000
        quantity = self._read.positive(entry.get("origSz"), "order")
        order = VenueOrder(
            client_id=str(entry.get("cloid") or entry.get("oid")),
            symbol=f"{entry.get('coin')}USDT",
            side=OrderSide.SELL if entry.get("side") == "A" else OrderSide.BUY,
            type=kind,
            quantity=quantity,
            price=self._read.positive(price, "order"),
            reduce_only=entry.get("reduceOnly") in (True, "true"),
        )
        filled = quantity - self._read.amount(entry.get("sz"), "order")
        return OrderProgress(
            order=order,
            state=OrderState.OPEN,
            placed_at=placed_at,
            changed_at=placed_at,
            filled=round(filled, 10),
        )
