"""A venue's stream of orders on loopback, through ccxt: it causes looks, and nothing else."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.monitor.heartbeat import Note
from chain.base.home import Home, locked_if_free
from chain.exchange.orders.ccxt_client import order_bell
from chain.exchange.orders.engine import send_orders, tend_orders
from chain.exchange.orders.journal import TradeJournal
from chain.exchange.orders.order import OrderSide, OrderType
from chain.exchange.orders.venue import Venue
from tests.chain.exchange import test_binance_venue, test_hyperliquid_venue, test_upbit_venue
from tests.chain.exchange.markets import ETH, order
from tests.fakes.exchange import ExchangeDouble, Refusal
from tests.fakes.exchange_account import KEYS, AccountDouble
from tests.fakes.hyperliquid import MASTER, HyperliquidDouble
from tests.fakes.upbit import UpbitDouble
from tests.virtual_time import pass_time
from zuno_tui.app.session import SettingsSource
from zuno_tui.features.trade import watched_hedges
from zuno_tui.settings import Flags

pytest.importorskip("aiodns", reason="the extra trade is not installed")

KEY = "/fapi/v1/listenKey"
REST = order(OrderSide.BUY, OrderType.MAKER, 1.0, 2_500.0, name="entry", expires=900)
STOP = order(OrderSide.SELL, OrderType.STOP, 1.0, 2_000.0, name="stop", reduce_only=True)


def told(name: str = "entry", status: str = "FILLED", **changed: object) -> str:
    """As Binance tells of an order."""
    of_order: dict[str, object] = {"s": ETH, "c": name, "S": "BUY", "o": "LIMIT", "f": "GTX"}
    of_order |= {
        "q": "1.000",
        "p": "2500",
        "ap": "2500",
        "sp": "0",
        "x": "TRADE",
        "X": status,
        "i": 8886774,
    }
    of_order |= {"l": "1", "z": "1", "L": "2500", "N": "USDT", "n": "0.5", "T": 1, "t": 9}
    of_order |= {"m": True, "R": False, "ot": "LIMIT", "ps": "BOTH", "rp": "0", **changed}
    return json.dumps({"e": "ORDER_TRADE_UPDATE", "E": 1, "T": 1, "o": of_order})


HYPERLIQUID = json.dumps(
    {
        "channel": "orderUpdates",
        "data": [
            {
                "order": {
                    "coin": "ETH",
                    "side": "B",
                    "limitPx": "2900.0",
                    "sz": "0.0",
                    "oid": 7456484275,
                    "timestamp": 1710163596492,
                    "origSz": "0.5",
                },
                "status": "filled",
                "statusTimestamp": 1710163596492,
            }
        ],
    }
)
UPBIT = json.dumps(
    {
        "type": "myOrder",
        "code": "KRW-ETH",
        "uuid": "ac2dc2a3-fce9-40a2-a4f6-5987c25c438f",
        "ask_bid": "BID",
        "order_type": "limit",
        "state": "trade",
        "price": 4_500_000,
        "volume": 0.5,
        "remaining_volume": 0,
        "executed_volume": 0.5,
        "timestamp": 1710751597500,
    }
)


class Clock:
    """In place of sleeping: what was slept is written down, and passes at once."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not reached():
            await pass_time(0.01)


async def heard(rung: asyncio.Event) -> None:
    async with asyncio.timeout(60):
        await rung.wait()
    rung.clear()


def double_at(folder: Path) -> AccountDouble:
    return AccountDouble(path=folder / "venue.db")


@asynccontextmanager
async def resting(
    folder: Path, name: str = "demo:loopback"
) -> AsyncIterator[tuple[AccountDouble, Venue, TradeJournal]]:
    """An entry rests, and whoever sent it was killed before it was filled."""
    double, plan_id = double_at(folder), "plan_1"

    async def killed(_: float) -> None:
        raise KeyboardInterrupt

    with TradeJournal.open(folder / "trades.db") as journal:
        async with test_binance_venue.opened(double) as venue:
            venue.name = name
            with pytest.raises(KeyboardInterrupt):
                await send_orders(journal, venue, plan_id, [REST, STOP], sleep=killed)
            yield double, venue, journal


async def test_what_a_venue_tells_of_a_fill_brings_its_stop_at_once(tmp_path: Path) -> None:
    async with resting(tmp_path) as (double, venue, journal), order_bell(venue) as rung:
        await double.listened()
        assert not rung.is_set()
        assert double.accepted() == ["entry"]
        double.trade(2_400.0, 2_450.0)
        double.tell(told())
        await heard(rung)
        await tend_orders(journal, venue, sleep=double.pass_time)

    assert double.accepted() == ["entry", "stop"]
    assert double.streams == ["/private/ws?listenKey=listen-1"]


@pytest.mark.parametrize(
    "message",
    [
        told(z="5", l="5"),
        told(name="somebody-else"),
        told(s="NOSUCH", i="[]"),
        told(X="GONE", q="-1", ap="much"),
        json.dumps({"e": "ORDER_TRADE_UPDATE", "o": {}}),
        json.dumps({"e": "ORDER_TRADE_UPDATE", "o": None}),
        json.dumps({"e": "ALGO_UPDATE", "o": {"caid": "stop", "X": "CANCELED", "s": ETH}}),
    ],
    ids=str.__len__,
)
async def test_what_is_forged_changes_nothing(tmp_path: Path, message: str) -> None:
    clock = Clock()
    async with resting(tmp_path) as (double, venue, journal):
        before = journal.entries()
        async with order_bell(venue, clock.sleep) as rung:
            await double.listened()
            double.tell(message, told(name="another"))
            await heard(rung)
            assert await tend_orders(journal, venue, sleep=double.pass_time) == ()
        after = journal.entries()

    assert double.accepted() == ["entry"]
    assert [(one.state, one.answer) for one in after] == [(x.state, x.answer) for x in before]


async def test_a_flood_causes_one_look_at_once_and_one_after(tmp_path: Path) -> None:
    double = double_at(tmp_path)
    async with test_binance_venue.opened(double) as venue, order_bell(venue) as rung:
        await double.listened()
        double.tell(*(told(name=f"order-{number}", i=number) for number in range(500)))
        await heard(rung)
        # While somebody looks, all the others arrive.
        await until(lambda: len(venue.order_stream._client.orders) == 500)
        await pass_time(0.05)
        rung.clear()  # one more look, whether it is set by then or not
        await pass_time(0.1)
        assert not rung.is_set()


async def test_a_stream_that_breaks_is_opened_again_later_and_later(tmp_path: Path) -> None:
    clock, double = Clock(), double_at(tmp_path)
    async with test_binance_venue.opened(double) as venue, order_bell(venue, clock.sleep) as rung:
        await double.listened()
        double.break_streams()
        await heard(rung)  # what it did not tell meanwhile nobody knows
        await double.listened(2)
        double.faults[KEY] = Refusal(503)
        double.break_streams()
        while len(clock.slept) < 9:
            await heard(rung)
        del double.faults[KEY]
        await double.listened(3)
        double.tell(told())
        await heard(rung)
        slept = list(clock.slept)
        double.break_streams()
        await heard(rung)

    assert slept[:9] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    assert clock.slept[len(slept)] == 1.0, "it had told something"
    assert len(set(double.streams)) == len(double.streams), "a key that broke is not used again"


Opened = Callable[[Any], AbstractAsyncContextManager[Any]]


@pytest.mark.parametrize(
    ("make", "opened", "message", "asked"),
    [
        (HyperliquidDouble, test_hyperliquid_venue.opened, HYPERLIQUID, f'"user":"{MASTER}"'),
        (UpbitDouble, test_upbit_venue.opened, UPBIT, '"type":"myOrder"'),
    ],
    ids=["hyperliquid", "upbit"],
)
async def test_other_venues_tell_of_orders_too(
    make: type[ExchangeDouble], opened: Opened, message: str, asked: str
) -> None:
    double = make()
    async with opened(double) as venue, order_bell(venue) as rung:
        await double.listened()
        double.tell(message)
        await heard(rung)
        double.tell(message)
        await heard(rung)
    assert len(double.streams) == 1
    assert any(asked in words for words in double.said)


async def test_a_monitor_acts_on_what_it_is_told_and_leaves_alone_whoever_sends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path, tmp_path / "cache")
    told_of: list[Note] = []
    monkeypatch.setattr("zuno_tui.features.trade.venue.venue_keys", lambda _: KEYS)
    monkeypatch.setattr(watched_hedges, "_BETWEEN_LOOKS", 0.01)
    async with resting(tmp_path, "live:the exchange that is set") as (double, _, _):
        home.settings.write_text(f'[trade]\nvenue = "paper"\nurl = "{double.url}"\n', "utf-8")
        home.settings.chmod(0o600)
        chosen = SettingsSource(home, Flags(), {})
        tending = asyncio.create_task(watched_hedges.tend_when_told(chosen, told_of.append))
        await double.listened()
        double.trade(2_400.0, 2_450.0)
        with locked_if_free(home.trades_lock) as ours:
            assert ours
            double.tell(told())
            await pass_time(0.1)
            assert double.accepted() == ["entry"]
        await until(lambda: double.accepted() == ["entry", "stop"])
        double.trade(1_900.0, 1_950.0)
        double.tell(told("stop"))
        async with asyncio.timeout(60):
            await tending  # nothing is left that could change

    assert told_of == [], "nothing of it was urgent"
