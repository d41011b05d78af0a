"""OKX's public list of liquidations: the one venue that tells them after the fact."""

from typing import NamedTuple

from chain.exchange.public.market import MarketSource
from chain.prices.market_http import MarketError

SOURCE = "OKX"
BASE_URL = "https://www.okx.com"
_HOUR = 3600
_PAGE = 100
_MOST_PAGES = 5


class LiquidatedHour(NamedTuple):
    """What was forced out of the market within an hour, in dollars."""

    long_usd: float
    short_usd: float
    whole: bool
    """False where there were more than could be read: a lower bound."""


class _Liquidation(NamedTuple):
    time: float
    long: bool
    dollars: float


class OkxPublic(MarketSource):
    name = SOURCE
    url = BASE_URL

    async def liquidations(self, coin: str, now: float) -> LiquidatedHour:
        """Of the coin's perpetual contract in dollars, within the hour before now."""
        coins = await self._contract_coins(coin, now)
        since = now - _HOUR
        found: list[_Liquidation] = []
        before: float | None = None
        for _ in range(_MOST_PAGES):
            page = await self._page(coin, coins, before, now)
            found += page
            oldest = min((liquidation.time for liquidation in page), default=since)
            if len(page) < _PAGE or oldest <= since:
                return _within(found, since, now, whole=True)
            if before is not None and oldest >= before:
                raise self._read.wrong("order of liquidations")
            before = oldest
        return _within(found, since, now, whole=False)

    async def _contract_coins(self, coin: str, now: float) -> float:
        """How many coins one contract stands for."""
        rows = await self._rows(
            "/api/v5/public/instruments",
            {"instType": "SWAP", "instId": f"{coin}-USDT-SWAP"},
            "contract",
            now,
        )
        if not rows:
            raise MarketError(f"{SOURCE} trades no {coin}-USDT-SWAP")
        contract = self._read.mapping(rows[0], "contract")
        if contract.get("ctValCcy") != coin:
            raise self._read.wrong("contract")
        return self._read.positive(contract.get("ctVal"), "contract")

    async def _page(
        self, coin: str, coins: float, before: float | None, now: float
    ) -> list[_Liquidation]:
        cursor = {} if before is None else {"after": str(int(before * 1000))}
        rows = await self._rows(
            "/api/v5/public/liquidation-orders",
            {
                "instType": "SWAP",
                "instFamily": f"{coin}-USDT",
                "state": "filled",
                "limit": str(_PAGE),
                **cursor,
            },
            "liquidations",
            now,
        )
        return [
            self._liquidation(detail, coins)
            for row in rows
            for detail in self._read.rows(
                self._read.mapping(row, "liquidations").get("details"), "liquidations"
            )
        ]

    def _liquidation(self, detail: object, coins: float) -> _Liquidation:
        entry = self._read.mapping(detail, "liquidation")
        side = entry.get("posSide")
        if side not in ("long", "short"):
            # In net mode whoever was long is sold out.
            side = {"sell": "long", "buy": "short"}.get(str(entry.get("side")))
        if side is None:
            raise self._read.wrong("liquidation")
        time = self._read.positive(entry.get("ts"), "liquidation's time") / 1000
        price = self._read.positive(entry.get("bkPx"), "liquidation")
        size = self._read.amount(entry.get("sz"), "liquidation")
        return _Liquidation(time, side == "long", size * coins * price)

    async def _rows(
        self, path: str, parameters: dict[str, str], what: str, now: float
    ) -> list[object]:
        answer = self._read.mapping(await self._http.get(path, parameters, now=now), what)
        if answer.get("code") != "0":
            raise MarketError(f"{SOURCE} refuses to tell its {what}")
        return self._read.rows(answer.get("data"), what)


def _within(found: list[_Liquidation], since: float, now: float, *, whole: bool) -> LiquidatedHour:
    inside = [liquidation for liquidation in found if since < liquidation.time <= now]
    return LiquidatedHour(
        sum(liquidation.dollars for liquidation in inside if liquidation.long),
        sum(liquidation.dollars for liquidation in inside if not liquidation.long),
        whole,
    )
