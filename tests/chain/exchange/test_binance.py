"""Binance's shapes over real HTTP, right and wrong."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from chain.exchange.orders.order import OrderSide, OrderState, OrderType
from chain.exchange.orders.venues.paper.venue import PaperTerms, PaperVenue
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from chain.exchange.public.book import imbalance, slippage_bips, spread_bips
from chain.exchange.public.market import closed_candles, contract_symbol, cumulative_delta
from chain.prices.market_http import MarketError
from tests import node_rpc
from tests.chain.exchange.markets import ETH, book, order
from tests.fakes.exchange import OPENS, ExchangeDouble, Refusal


async def test_everything_public_is_read_and_agrees_with_itself() -> None:
    double = ExchangeDouble()
    async with double.running() as url, BinancePublic(ExchangeAddress(url)) as market:
        now = await market.time()
        hours = await market.candles(ETH, "1h", count=24)
        minutes = await market.candles(ETH, "1m", count=60, since=hours[-2].time)
        depth = await market.book(ETH, levels=100)
        funding = await market.funding(ETH)
        interest = await market.open_interest(ETH, hours=3)
        payments = await market.payments(ETH, since=OPENS)
        rules = await market.rules(ETH)

    assert now == double.now
    assert len(hours) == 24
    assert hours[-2].open == minutes[0].open
    assert hours[-2].close == pytest.approx(minutes[-1].close)
    assert hours[-2].high == max(candle.high for candle in minutes)
    assert hours[-2].volume == pytest.approx(sum(candle.volume for candle in minutes))
    assert hours[-2].delta == pytest.approx(cumulative_delta(minutes)[-1], abs=0.1)
    assert depth.bids[0].price < funding.mark < depth.asks[0].price
    assert len(depth.bids) == len(depth.asks) == 100
    assert [point.time % 3600 for point in interest] == [0, 0, 0]
    assert len(payments) == 21
    assert rules.least_notional == 20
    assert closed_candles(hours, 3600, now) == hours[:-1]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/fapi/v1/klines", [[1, "1", "2", "3"]]),
        ("/fapi/v1/klines", [[1000, "1", "2", "3", "1", "5", 2, "1", 1, "1", "1", "0"]]),
        ("/fapi/v1/klines", [[1000, "1", "2", "NaN", "1", "5", 2, "1", 1, "1", "1", "0"]]),
        ("/fapi/v1/depth", {"T": 1, "bids": [["2", "1"]], "asks": [["1", "1"]]}),
        ("/fapi/v1/depth", {"T": 1, "bids": [["-2", "1"]], "asks": [["1", "1"]]}),
        ("/fapi/v1/premiumIndex", {"markPrice": "0", "indexPrice": "1"}),
        ("/fapi/v1/time", []),
    ],
)
async def test_what_no_honest_venue_says_is_refused(path: str, content: object) -> None:
    double = ExchangeDouble(faults={path: Refusal(200, json.dumps(content).encode())})
    async with double.running() as url, BinancePublic(ExchangeAddress(url)) as market:
        questions: dict[str, Callable[[], Awaitable[object]]] = {
            "/fapi/v1/klines": lambda: market.candles(ETH, "1h", count=5),
            "/fapi/v1/depth": lambda: market.book(ETH),
            "/fapi/v1/premiumIndex": lambda: market.funding(ETH),
            "/fapi/v1/time": market.time,
        }
        with pytest.raises(MarketError):
            await questions[path]()


@pytest.mark.parametrize("status", [418, 429, 451, 503])
async def test_a_venue_that_refuses_is_said_to(status: int) -> None:
    double = ExchangeDouble(faults={"/fapi/v1/depth": Refusal(status)})
    async with double.running() as url, BinancePublic(ExchangeAddress(url)) as market:
        with pytest.raises(MarketError):
            await market.book(ETH)


async def test_an_unknown_contract_is_no_contract() -> None:
    async with ExchangeDouble().running() as url, BinancePublic(ExchangeAddress(url)) as market:
        with pytest.raises(MarketError):
            await market.rules("DOGEUSDT")
        with pytest.raises(MarketError):
            await market.book("DOGEUSDT")


def test_a_book_without_depth_has_no_slippage() -> None:
    thin = book(bids=[(2999.0, 3.0)], asks=[(3001.0, 1.0)])

    assert slippage_bips(thin, buy=True, dollars=100_000) is None
    assert slippage_bips(thin, buy=True, dollars=3_000) == pytest.approx(1 / 3000 * 10_000)
    assert imbalance(thin, 20) == 0.5
    assert spread_bips(thin) == pytest.approx(2 / 3000 * 10_000)
    assert imbalance(book(bids=[], asks=[]), 20) is None


@pytest.mark.parametrize(("coin", "symbol"), [("eth", "ETHUSDT"), ("BTCUSDT", "BTCUSDT")])
def test_coins_become_contracts(coin: str, symbol: str) -> None:
    assert contract_symbol(coin) == symbol


@pytest.mark.parametrize("coin", ["", "E", "../x", "ETH USD"])
def test_what_names_no_coin_is_refused(coin: str) -> None:
    with pytest.raises(ValueError, match="symbol"):
        contract_symbol(coin)


async def test_the_paper_venue_fills_on_the_market_it_reads_and_remembers(tmp_path: Path) -> None:
    path = tmp_path / "paper.db"
    double = ExchangeDouble()
    async with double.running() as url, BinancePublic(ExchangeAddress(url)) as market:
        venue = PaperVenue(path, market, PaperTerms())
        bought = await venue.submit(order(OrderSide.BUY, OrderType.MARKET, 0.5))
        again = await venue.submit(order(OrderSide.BUY, OrderType.MARKET, 0.5))
        await venue.close()
        double.now += 9 * 3600
        venue = PaperVenue(path, market, PaperTerms())
        later = await venue.account()
        mark = (await market.funding(ETH)).mark
        await venue.close()

    assert bought == again
    assert bought.state is OrderState.FILLED
    assert bought.average is not None
    assert later.positions[0].quantity == 0.5
    assert later.funding != 0
    assert later.fees is not None
    expected = 10_000 - later.fees + later.funding + 0.5 * (mark - bought.average)
    assert later.equity == pytest.approx(expected)


async def test_the_embedded_chain_is_an_exchange_too(devnet: DevnetReady) -> None:
    async with BinancePublic(ExchangeAddress(devnet.control)) as market:
        now = await market.time()
        funding = await market.funding(ETH)
        candles = await market.candles(ETH, "1m", count=2)

    assert funding.time == now == node_rpc.ask(devnet.url, "zuno_status")["time"]
    assert candles[-1].close == pytest.approx(funding.mark, abs=0.01)
