"""Where orders go: paper unless it is set otherwise, and never an account without its keys."""

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backends import fail
from msgspec.structs import replace

from chain.base.home import Home
from chain.contracts.networks import network_named
from chain.exchange.orders.journal import JournalState, TradeJournal
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType
from chain.protocols.reference import v4_position
from tests.chain.exchange.markets import order
from tests.chain.exchange.test_hedge import start
from tests.chain.wallet.test_keyring_store import Kept, install
from tests.fakes.exchange import ExchangeDouble
from tests.fakes.hyperliquid import AGENT, AGENT_KEY, MASTER, HyperliquidDouble
from tests.fakes.upbit import KEYS, UpbitDouble
from tests.printed import printed
from tests.typed_secrets import types
from zuno_tui.app.session import Session
from zuno_tui.cli import main
from zuno_tui.features.trade.hedge_alerts import AttachedHedges
from zuno_tui.features.trade.settings import TradeTable
from zuno_tui.features.trade.trade import status
from zuno_tui.features.trade.trading import open_trading
from zuno_tui.features.trade.unhedging import plan_unhedge
from zuno_tui.features.trade.watched_hedges import HomeHedges, key_news
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK, REFUSED, USAGE
from zuno_tui.settings import Settings

SECRET = "s3cr3t-0f-the-account"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    """A keyring in memory."""
    backend = Kept()
    install(monkeypatch, backend)
    return backend


def test_an_account_needs_its_keys_and_the_setting(
    kept: Kept,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home = ["--home", str(tmp_path), "--json"]
    assert main(["venue", *home]) == DONE
    shown = json.loads(capsys.readouterr().out)
    assert shown["venue"] == "paper"
    assert set(shown["keys"]) >= {"demo", "live", "upbit", "hyperliquid"}
    assert not any(shown["keys"].values())

    for mode in ("upbit", "demo"):
        settings = f'[trade]\nvenue = "{mode}"\nurl = "http://127.0.0.1:9"\n'
        (tmp_path / "settings.toml").write_text(settings, "utf-8")
        assert main(["trade", "status", *home]) == REFUSED
        assert f"zuno venue {mode}" in capsys.readouterr().err

    types(monkeypatch, *[SECRET] * 9)
    assert main(["venue", "demo", *home]) == DONE
    assert SECRET in str(kept.entries)
    assert main(["trade", "status", *home]) == NETWORK
    told = capsys.readouterr()
    assert SECRET not in told.out + told.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    printed(f"G15: {len(files)} files of the home and all that was said hold no key")
    assert files
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


def test_an_agent_that_was_given_up_is_never_taken_again(
    kept: Kept,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its venue may forget what it signed, and take that once more."""
    pytest.importorskip("aiodns", reason="the extra trade is not installed")
    account, first, second = "0x" + "a1" * 20, "0x" + "01" * 32, "0x" + "02" * 32
    types(monkeypatch, *[account, first] * 3, account, second)
    keep = ["venue", "hyperliquid", "--home", str(tmp_path)]

    assert main(keep) == DONE
    assert main(keep) == DONE, "the same key once more is no other agent"
    assert main([*keep, "--remove"]) == DONE
    assert main(keep) == USAGE
    assert "used here before" in capsys.readouterr().err
    assert main(keep) == DONE


def test_keys_that_are_none_are_not_kept(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    types(monkeypatch, *["two words"] * 9)
    assert main(["venue", "live", "--home", str(tmp_path)]) == USAGE
    assert not kept.entries


def test_without_a_keyring_an_account_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "get_keyring", fail.Keyring)
    (tmp_path / "settings.toml").write_text('[trade]\nvenue = "live"\n', "utf-8")
    assert main(["trade", "status", "--home", str(tmp_path)]) == FAILED
    assert main(["venue", "--home", str(tmp_path)]) == DONE


async def test_whoever_only_looks_goes_on_without_keys(kept: Kept, tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path / "cache")
    home.prepare()
    settings = Settings(of_features={"trade": TradeTable(venue="demo")})
    hedges = HomeHedges(home, settings, network_named("ethereum"))
    assert await hedges.look() == AttachedHedges({})
    plan_id = "plan_1"
    with TradeJournal.open(home.trades) as journal:
        assert not journal.has_hedges()
        journal.begin(plan_id, "demo:Binance", [], 0.0, start(7))

    assert await hedges.look() is None
    assert kept.entries == {}


def test_keys_are_removed_and_not_while_something_is_held(
    kept: Kept, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ["--home", str(tmp_path)]
    kept.entries["zuno", "venue:binance:live"] = "{}"
    sold = order(OrderSide.SELL, OrderType.MARKET, 0.5)
    with TradeJournal.open(tmp_path / "trades.db") as journal:
        plan_id = "plan_1"
        journal.begin(plan_id, "live:Binance", [sold], 0.0)
        answer = OrderProgress(
            order=sold, state=OrderState.FILLED, placed_at=0.0, filled=0.5, average=3_000.0
        )
        journal.mark(sold.client_id, JournalState.ACKNOWLEDGED, 0.0, answer)

    assert main(["venue", "--remove", *home]) == USAGE
    assert main(["venue", "live", "--remove", *home]) == REFUSED
    assert "still holds -0.5 ETHUSDT" in capsys.readouterr().err
    assert kept.entries
    assert main(["venue", "live", "--remove", "--anyway", *home]) == DONE
    assert not kept.entries
    assert main(["venue", "upbit", "--remove", *home]) == DONE


@pytest.mark.parametrize("set_by_now", ["live", "paper"])
async def test_a_monitor_that_has_no_keys_tells_of_a_trade_without_a_stop(
    kept: Kept, tmp_path: Path, set_by_now: str
) -> None:
    assert not kept.entries
    home = Home(tmp_path, tmp_path / "cache")
    bought = order(OrderSide.BUY, OrderType.MARKET, 0.5, name="entry")
    stop = order(OrderSide.SELL, OrderType.STOP, 0.5, 10.0, name="stop", reduce_only=True)
    with TradeJournal.open(home.trades) as journal:
        plan_id = "plan_1"
        journal.begin(plan_id, "live:Binance", [bought, stop], 0.0)
        answer = OrderProgress(
            order=bought, state=OrderState.FILLED, placed_at=0.0, filled=0.5, average=10.0
        )
        journal.mark("entry", JournalState.ACKNOWLEDGED, 0.0, answer)
        settings = Settings(of_features={"trade": TradeTable(venue=set_by_now)})
        watch = HomeHedges(home, settings, network_named("ethereum"))
        told = await watch.tend()
        journal.mark(
            "stop",
            JournalState.ACKNOWLEDGED,
            0.0,
            replace(answer, order=stop, filled=0.0, average=None, state=OrderState.OPEN),
        )
        rests = await watch.tend()

    assert told is not None
    assert "NO STOP" in told["plan_1"].message
    assert rests is None, "nobody can tell, and nothing is known to be wrong"


async def test_coins_on_the_spot_venue_stand_in_the_status(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not kept.entries
    pytest.importorskip("aiodns", reason="the extra trade is not installed")
    from chain.exchange.orders.venues.upbit import venue as upbit

    double = UpbitDouble(held={"KRW": 1_500_000.0, "ETH": 0.5})
    home = Home(tmp_path, tmp_path / "cache")
    home.prepare()
    table = TradeTable(venue="paper", spot_venue="upbit")
    async with double.running() as url:
        settings = Settings(of_features={"trade": replace(table, url=url)})
        session = Session(home, settings, network_named("ethereum"), as_json=True)
        unread = await status(session)
        monkeypatch.setattr("zuno_tui.features.trade.venue.venue_keys", lambda _: KEYS)
        monkeypatch.setattr(upbit, "UpbitVenue", partial(upbit.UpbitVenue, base_url=url))
        seen = await status(session)

        bought = order(OrderSide.BUY, OrderType.MARKET, 0.5)
        plan_id = "plan_1"
        with TradeJournal.open(home.trades) as journal:
            journal.begin(plan_id, "upbit:the exchange that is set", [bought], 0.0)
            done = OrderProgress(
                order=bought, state=OrderState.FILLED, placed_at=0.0, filled=0.5, average=10.0
            )
            journal.mark(bought.client_id, JournalState.ACKNOWLEDGED, 0.0, done)
        venues = []
        for coins in (0.5, 0.0):
            double.held["ETH"] = coins
            for coin in ("ETH", "BTC", ""):
                async with open_trading(session, coin=coin) as trading:
                    venues.append(trading.venue.abilities.spot)

    assert venues == [True, False, False, False, False, False], "sold where it was bought"
    assert any("upbit cannot be read. No keys are kept" in line for line in unread.lines)
    assert any(line.startswith("  0.5 ETH") for line in seen.lines)
    assert isinstance(seen.document, dict)
    spot: Any = seen.document["spot"]
    [held] = spot["positions"]
    assert (held["symbol"], held["quantity"], held["mark"]) == ("ETHUSDT", 0.5, 3_000.0)


async def test_a_key_that_ends_is_an_alert_with_its_command(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("aiodns", reason="the extra trade is not installed")
    from chain.exchange.orders.venues.hyperliquid import venue as hyperliquid

    home, network = Home(tmp_path, tmp_path / "cache"), network_named("ethereum")
    entry = "venue:hyperliquid:live"
    kept.entries["zuno", entry] = json.dumps({"key": MASTER, "secret": AGENT_KEY})
    plan_id = "plan_1"
    with TradeJournal.open(home.trades) as journal:
        journal.begin(plan_id, "hyperliquid", [], 0.0, start(7))
    settings = Settings(of_features={"trade": TradeTable(venue="hyperliquid")})
    double = HyperliquidDouble()
    ends = time.time() + 30 * 86_400
    double.agents = {AGENT: int(ends * 1000)}
    told = {}
    async with double.running() as url:
        monkeypatch.setattr(
            hyperliquid, "HyperliquidVenue", partial(hyperliquid.HyperliquidVenue, base_url=url)
        )
        for _ in range(3):
            assert await HomeHedges(home, settings, network).look() is not None
        for days in (20, 9, 0, -1):
            told[days] = [
                (one.finding.severity.value, one.finding.next_command)
                for one in key_news(home, network, ends - days * 86_400)
            ]
        elsewhere = key_news(home, network_named("base"), ends)
        asked = len(double.asked)
        double.agents = {AGENT: 1}
        with TradeJournal.open(home.trades) as journal:
            journal.forget_key_ends()
        await HomeHedges(home, settings, network).look()
        [revoked] = key_news(home, network, time.time())

    command = "zuno venue hyperliquid"
    assert told == {
        20: [],
        9: [("warning", command)],
        0: [("critical", command)],
        -1: [("critical", command)],
    }
    assert elsewhere == ()
    assert len(double.asked) > asked
    assert revoked.finding.severity.value == "critical"


async def test_a_hedge_on_a_venue_that_is_set_no_more_is_named_with_the_way_to_close_it(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path, tmp_path / "cache")
    sold = order(OrderSide.SELL, OrderType.MARKET, 0.5)
    plan_id = "plan_1"
    with TradeJournal.open(home.trades) as journal:
        journal.begin(plan_id, "live:Binance", [sold], 0.0, start(7))
        done = OrderProgress(
            order=sold, state=OrderState.FILLED, placed_at=0.0, filled=0.5, average=3_000.0
        )
        journal.mark(sold.client_id, JournalState.ACKNOWLEDGED, 0.0, done)
    async with ExchangeDouble().running() as url:
        settings = Settings(of_features={"trade": TradeTable(venue="paper", url=url)})
        session = Session(home, settings, network_named("ethereum"), as_json=True)
        words = r'#7 is not hedged on paper.*0\.5 ETH is short for #7 on live:Binance.*"live"'
        with pytest.raises(GateRefusedError, match=words):
            await plan_unhedge(session, v4_position(7), None)
        seen = await status(session)

    assert seen.lines[-1].startswith("live, not set any more, still holds ETHUSDT -0.5")
    assert isinstance(seen.document, dict)
    left = {"venue": "live", "symbol": "ETHUSDT", "quantity": -0.5}
    assert seen.document["elsewhere"] == [left]
