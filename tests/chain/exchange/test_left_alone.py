"""A venue that wants to be left alone is: no request before its time is over, and one sentence."""

from pathlib import Path
from typing import Any

import pytest

from chain.base.home import Home
from chain.contracts.networks import network_named
from chain.exchange.orders import ccxt_client
from chain.exchange.orders.order import OrderSide, OrderState, OrderType
from chain.prices import market_http
from chain.prices.market_http import MarketError
from tests.chain.exchange import test_binance_venue, test_hyperliquid_venue, test_upbit_venue
from tests.chain.exchange.markets import order
from tests.fakes.exchange import ExchangeDouble, Refusal
from tests.fakes.exchange_account import KEYS, AccountDouble
from tests.fakes.hyperliquid import HyperliquidDouble
from tests.fakes.upbit import UpbitDouble
from zuno_tui.app.session import Session
from zuno_tui.features.trade.settings import TradeTable
from zuno_tui.features.trade.venue import VenueUnreadError, open_venue
from zuno_tui.settings import Settings

pytest.importorskip("aiodns", reason="the extra trade is not installed")

BUY = order(OrderSide.BUY, OrderType.MARKET, 0.5, name="entry")
ACCOUNT = "/fapi/v3/account"


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(market_http, "RESTING", {})
    monkeypatch.setattr(ccxt_client, "time", clock)
    return clock


def _answer(status: int, header: str) -> Refusal:
    content = b'{"code": -1003, "msg": "Way too many requests."}'
    return Refusal(status, content, (header,) if header else ())


@pytest.mark.parametrize(
    ("status", "header", "seconds"),
    [
        (429, "Retry-After: 7", 7),
        (429, "Retry-After: 900", 900),
        (429, "", 60),
        (418, "retry-after: 130", 130),
        (418, "", 120),
        (418, "Retry-After: 99999999", 3 * 86_400),
    ],
)
@pytest.mark.parametrize(
    ("make", "opened", "path"),
    [
        (AccountDouble, test_binance_venue.opened, ACCOUNT),
        (HyperliquidDouble, test_hyperliquid_venue.opened, "/info"),
        (UpbitDouble, test_upbit_venue.opened, "/v1/accounts"),
    ],
    ids=["binance", "hyperliquid", "upbit"],
)
async def test_nothing_is_asked_before_its_time_is_over(
    clock: Clock,
    tmp_path: Path,
    make: Any,
    opened: Any,
    path: str,
    status: int,
    header: str,
    seconds: int,
) -> None:
    double: ExchangeDouble = make()
    if isinstance(double, AccountDouble):
        double.path = tmp_path / "venue.db"
    async with opened(double) as venue:
        if hasattr(venue, "_market"):
            venue._market._clock = clock.time
        double.faults[path] = _answer(status, header)
        with pytest.raises(MarketError):
            await venue.account()
        del double.faults[path]
        asked = len(double.asked)
        clock.now += seconds - 1
        for ask, given in ((venue.account, ()), (venue.find, (BUY,)), (venue.submit, (BUY,))):
            with pytest.raises(MarketError, match="asked for a pause of 1 s more"):
                await ask(*given)
        assert len(double.asked) == asked
        clock.now += 2
        assert (await venue.account()).equity > 0


async def test_an_order_that_is_turned_away_is_refused_and_nothing_more_is_asked(
    clock: Clock, tmp_path: Path
) -> None:
    double = AccountDouble(path=tmp_path / "venue.db")
    double.placing = [(_answer(418, "retry-after: 130"), False)]
    async with test_binance_venue.opened(double) as venue:
        done = await venue.submit(BUY)
        asked = len(double.asked)
        with pytest.raises(MarketError, match="a pause of 130 s more"):
            await venue.find(BUY)

    assert (done.state, done.changed_at) == (OrderState.REFUSED, clock.now)
    assert "asked too often" in done.reason
    assert len(double.asked) == asked


async def test_another_process_leaves_it_alone_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zuno_tui.features.trade.venue.venue_keys", lambda _: KEYS)
    double = AccountDouble(path=tmp_path / "venue.db")
    double.faults[ACCOUNT] = _answer(418, "retry-after: 130")
    home = Home(tmp_path, tmp_path / "cache")
    async with double.running() as url:
        settings = Settings(of_features={"trade": TradeTable(venue="live", url=url)})
        session = Session(home, settings, network_named("ethereum"), as_json=True)
        for _ in range(3):
            with pytest.raises(VenueUnreadError, match=r"too many|a pause of \d+ s more"):
                async with open_venue(session) as opened:
                    await opened.venue.account()
            market_http.RESTING.clear()  # as in a process that has asked nothing yet

    assert double.asked.count(f"GET {ACCOUNT}") == 1
