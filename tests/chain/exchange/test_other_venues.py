"""Bybit, OKX and Upbit through ccxt: their real shapes on loopback, each down or lying alone."""

from __future__ import annotations

import json

import pytest

from agents.trade.observe.observer import MarketObserver
from agents.trade.terms import SectionName, SectionStatus
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from chain.exchange.public.market import VenueReading
from chain.prices.market_http import RESTING
from tests.agents.trade.cases import question
from tests.fakes.exchange import ExchangeDouble, Refusal

pytest.importorskip("aiodns", reason="the extra trade is not installed")

BYBIT = "/v5/market/tickers"
OKX = "/api/v5/public/"
UPBIT = "/v1/ticker"
_SWAP = {"instId": "ETH-USDT-SWAP", "instType": "SWAP", "ts": "1768181400000"}


def page(content: object, status: int = 200) -> Refusal:
    return Refusal(status, json.dumps(content).encode())


def okx(**row: str) -> Refusal:
    return page({"code": "0", "msg": "", "data": [{**_SWAP, **row}]})


def bybit(**changed: str) -> Refusal:
    row = {
        "symbol": "ETHUSDT",
        "lastPrice": "3001.00",
        "indexPrice": "3000.50",
        "markPrice": "3000.00",
        "openInterest": "500000.00",
        "openInterestValue": "1500000000.00",
        "turnover24h": "6000000000.00",
        "volume24h": "2000000.00",
        "fundingRate": "0.0001",
        "nextFundingTime": "1768204800000",
        "fundingIntervalHour": "8",
        **changed,
    }
    result = {"category": "linear", "list": [row]}
    return page({"retCode": 0, "retMsg": "OK", "result": result, "retExtInfo": {}, "time": 1})


PAGES = {
    BYBIT: bybit(),
    f"{OKX}open-interest": okx(oi="4000000", oiCcy="400000", oiUsd="1200000000"),
    f"{OKX}mark-price": okx(markPx="3003.0"),
    f"{OKX}funding-rate": okx(
        fundingRate="0.00005", fundingTime="1768190400000", nextFundingTime="1768204800000"
    ),
    UPBIT: page(
        [
            {"market": "KRW-ETH", "trade_price": 4_530_000.0, "timestamp": 1768181400000},
            {"market": "KRW-USDT", "trade_price": 1_500.0, "timestamp": 1768181400000},
        ]
    ),
}


PLACES = {"bybit": BYBIT, "okx": f"{OKX}open-interest", "upbit": UPBIT}
WRONG = [
    ("bybit", Refusal(503)),
    ("bybit", page({"retCode": 10006, "retMsg": "Too many visits!", "result": {}})),
    ("bybit", bybit(markPrice="")),
    ("bybit", bybit(symbol="BTCUSDT")),
    ("okx", page({"code": "50011", "msg": "Too Many Requests", "data": []}, 429)),
    ("okx", page({"code": "0", "msg": "", "data": []})),
    ("okx", Refusal(200, b"<html>")),
    ("upbit", page({"error": {"name": 404, "message": "Code not found"}}, 404)),
    ("upbit", page([{"market": "KRW-ETH", "trade_price": -1}])),
]


async def test_venues_tell_price_funding_and_interest_and_each_may_be_missing_alone() -> None:
    from chain.exchange.orders.ccxt_client import OtherVenues

    double = ExchangeDouble(faults=dict(PAGES))
    async with double.running() as url, BinancePublic(ExchangeAddress(url, "loopback")) as market:
        venues = OtherVenues(url, patience=60.0)
        whole = await venues.read("ETH")
        for name, wrong in WRONG:
            double.faults = PAGES | {PLACES[name]: wrong}
            found = await venues.read("ETH")
            RESTING.clear()  # all three are one host here
            assert name not in {one.venue.lower() for one in found.found}, wrong
            assert (len(found.found), len(found.failed)) == (2, 1), wrong
            assert len(found.failed[0]) < 220
        double.faults = PAGES | {BYBIT: Refusal(503)}
        observer = MarketObserver(market, elsewhere=venues, sample_seconds=0)
        seen = await observer.look(question())
        await venues.close()
        hasty = OtherVenues(url, patience=0.0)
        late = await hasty.read("ETH")
        await hasty.close()

    assert (late.found, len(late.failed)) == ((), 3)
    assert whole.failed == ()
    bybit_told, okx_told, upbit_told = whole.found
    assert bybit_told == VenueReading("Bybit", 3000.0, 0.0001, 1_500_000_000.0)
    assert (okx_told.venue, okx_told.price) == ("OKX", 3003.0)
    assert okx_told.funding_rate == pytest.approx(0.0001)
    assert okx_told.interest_usd == pytest.approx(1_201_200_000.0)
    assert upbit_told == VenueReading("Upbit", 3020.0, None, None)
    told = next(one for one in seen.sections if one.name is SectionName.FUNDING)
    assert told.status is SectionStatus.OK
    assert told.source == "loopback, OKX, Upbit"
    assert told.numbers["okx_interest_usd"] == pytest.approx(1_201_200_000.0)
    assert told.numbers["upbit_premium"] == pytest.approx(3020.0 / told.numbers["mark"] - 1, 1e-3)
    assert "bybit_rate" not in told.numbers
    assert "Bybit" in told.text
