"""Venues of every kind, each in a folder of its own."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.trade.observe.observer import MarketObserver
from agents.trade.terms import SectionName, SectionStatus
from chain.exchange.orders import venues
from chain.exchange.orders.engine import send_orders, tend_orders
from chain.exchange.orders.journal import AlreadySentError, JournalState, TradeJournal
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType, VenueOrder
from chain.exchange.orders.venues import venue_entries
from chain.exchange.orders.venues.paper.venue import PaperAccount, cancel_order, place_order
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from chain.exchange.public.market import VenueReading
from chain.prices.market_http import RESTING
from tests.agents.trade.cases import question
from tests.chain.exchange.markets import ETH, START, account, moment, order, unsettled
from tests.chain.exchange.plain_venue import PlainVenue
from tests.fakes.exchange import ExchangeDouble, Refusal
from zuno_tui.cli import main
from zuno_tui.present.exit_codes import DONE

PLAN = "plan_0123456789abcdef"
ORDERS = [
    order(OrderSide.BUY, OrderType.MARKET, 1.0, name="entry"),
    order(OrderSide.SELL, OrderType.STOP, 1.0, 2950.0, name="stop", reduce_only=True),
]


class Killed(BaseException):
    """The process is gone at this moment."""


class MortalVenue(PlainVenue):
    """A paper account that lasts while whoever talks to it may be killed at any step."""

    def __init__(self) -> None:
        self.held: PaperAccount = account()
        self.steps_left: int | None = None

    def _step(self) -> None:
        if self.steps_left is not None:
            if self.steps_left == 0:
                raise Killed
            self.steps_left -= 1

    async def now(self) -> float:
        self._step()
        return float(START)

    def paper(self) -> PaperAccount:
        return self.held

    async def submit(self, order: VenueOrder) -> OrderProgress:
        self._step()
        self.held = place_order(self.held, order, moment())
        self._step()
        return self.held.orders[order.client_id]

    async def find(self, order: VenueOrder) -> OrderProgress | None:
        return self.held.orders.get(order.client_id)

    async def cancel(self, order: VenueOrder) -> OrderProgress | None:
        self._step()
        self.held = cancel_order(self.held, order.client_id, float(START), "by its owner")
        self._step()
        return self.held.orders.get(order.client_id)


@pytest.mark.parametrize("steps", range(9))
async def test_killed_at_any_step_an_order_is_there_once_or_known_to_be_missing(
    tmp_path: Path, steps: int
) -> None:
    venue = MortalVenue()
    venue.steps_left = steps
    with TradeJournal.open(tmp_path / "trades.db") as journal, pytest.raises(Killed):
        await send_orders(journal, venue, PLAN, ORDERS)
    venue.steps_left = None

    with TradeJournal.open(tmp_path / "trades.db") as journal:
        await tend_orders(journal, venue)
        entries = journal.entries(PLAN)
        assert not unsettled(journal)
        for entry in entries:
            there = entry.order.client_id in venue.held.orders
            assert (entry.state is JournalState.ACKNOWLEDGED) is there
        begun = bool(entries)
        assert journal.has_begun(PLAN) is begun
        if begun:
            with pytest.raises(AlreadySentError):
                await send_orders(journal, venue, PLAN, ORDERS)
    assert set(venue.held.orders) <= {"entry", "stop"}
    opened = venue.held.position(ETH).quantity > 0
    assert opened is ("stop" in venue.held.orders), "what is opened has its stop"


async def test_an_undisturbed_plan_is_sent_whole_and_never_again(tmp_path: Path) -> None:
    venue = MortalVenue()
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        sent = await send_orders(journal, venue, PLAN, ORDERS)
        states = [entry.state for entry in journal.entries()]

        assert [one.state for one in sent] == [OrderState.FILLED, OrderState.OPEN]
        assert states == [JournalState.ACKNOWLEDGED] * 2
        with pytest.raises(AlreadySentError):
            await send_orders(journal, venue, PLAN, ORDERS)


ROOT = Path(__file__).parents[3]
DRAFT = """
from chain.exchange.orders.venue import Venue, VenueEntry, VenueOpening
from chain.exchange.orders.venues.paper import ABILITIES


def _open(opening: VenueOpening) -> Venue:
    from chain.exchange.orders.venues.paper.venue import PaperTerms, PaperVenue

    return PaperVenue(opening.paper, opening.market, PaperTerms())


ENTRIES = (
    VenueEntry(name="draft", title="Draft", what="nowhere yet", abilities=ABILITIES, open=_open),
)
"""


@pytest.fixture
def draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "venues" / "draft"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(DRAFT, "utf-8")
    monkeypatch.setattr(venues, "__path__", [*venues.__path__, str(folder.parent)])
    venue_entries.cache_clear()
    yield
    venue_entries.cache_clear()


@pytest.mark.usefixtures("draft")
def test_a_venue_is_there_once_its_folder_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    settings = home / "settings.toml"
    settings.write_text('[trade]\nvenue = "draft"\n', "utf-8")
    settings.chmod(0o600)

    assert main(["--home", str(home), "venue"]) == DONE
    assert "Orders go to draft: nowhere yet." in capsys.readouterr().out


def test_without_its_folder_it_is_not_there() -> None:
    assert "draft" not in venue_entries()
    assert {"paper", "live", "demo", "upbit", "hyperliquid"} <= set(venue_entries())


def test_nothing_else_compares_with_a_venue_s_name() -> None:
    names = "|".join(name for name in venue_entries() if name != "paper")
    compared = re.compile(rf"""(==|!=|\bis\b|\bin\b|case|startswith\() *\(?f?["']({names})["':]""")
    places = [ROOT / "agents/trade", ROOT / "zuno_tui/features/trade", ROOT / "chain/exchange"]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for place in places
        for path in place.rglob("*.py")
        if "venues" not in path.parts
        for line in path.read_text("utf-8").splitlines()
        if compared.search(line)
    ]
    assert found == []


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
            assert name not in {one.venue.lower() for one in found.readings}, wrong
            assert (len(found.readings), len(found.failures)) == (2, 1), wrong
            assert len(found.failures[0]) < 220
        double.faults = PAGES | {BYBIT: Refusal(503)}
        observer = MarketObserver(market, elsewhere=venues, sample_seconds=0)
        seen = await observer.look(question())
        await venues.close()
        hasty = OtherVenues(url, patience=0.0)
        late = await hasty.read("ETH")
        await hasty.close()

    assert (late.readings, len(late.failures)) == ((), 3)
    assert whole.failures == ()
    bybit_told, okx_told, upbit_told = whole.readings
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
