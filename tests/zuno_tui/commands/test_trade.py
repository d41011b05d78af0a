"""The trade desk from the command line: argued, approved and applied on the embedded chain."""

import asyncio
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
from chain.devnet.defaults import control_url
from chain.devnet.launch import DevnetReady
from chain.exchange.orders.journal import JournalState, TradeJournal
from chain.exchange.orders.order import OrderProgress, OrderSide, OrderState, OrderType
from chain.exchange.orders.venues.paper.venue import PaperTerms, PaperVenue
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from chain.protocols.reference import v4_position
from tests import node_rpc
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
from zuno_tui.features.trade.intents import Trade, read_subject
from zuno_tui.features.trade.settings import TradeTable
from zuno_tui.features.trade.trade import status
from zuno_tui.features.trade.trading import open_trading
from zuno_tui.features.trade.unhedging import plan_unhedge
from zuno_tui.features.trade.venue import EMBEDDED
from zuno_tui.features.trade.watched_hedges import HomeHedges, key_news
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK, REFUSED, USAGE
from zuno_tui.settings import Settings


class Desk:
    """Runs commands in one home on one chain."""

    def __init__(
        self, devnet: DevnetReady, home: Path, captured: pytest.CaptureFixture[str]
    ) -> None:
        self._flags = ["--network", "devnet", "--rpc", devnet.url, "--home", str(home), "--json"]
        self._captured = captured
        self.url = devnet.url
        self.home = home
        home.mkdir(mode=0o700)
        settings = home / "settings.toml"
        settings.write_text("[trade]\nhedge_seconds = 1\n", "utf-8")
        settings.chmod(0o600)

    def run(self, *words: str) -> tuple[int, dict[str, Any]]:
        code = main([*words, *self._flags])
        printed = self._captured.readouterr().out
        return code, json.loads(printed) if printed else {}

    def poll(self) -> None:
        assert main(["monitor", "--once", *self._flags]) == DONE
        self._captured.readouterr()


@pytest.fixture
def desk(devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(devnet, tmp_path / "home", capsys)


def _position(desk: Desk, state: str) -> str:
    return str(node_rpc.ask(desk.url, "zuno_status")["positions"][state])


def test_a_hedge_is_argued_approved_applied_once_and_replays(desk: Desk) -> None:
    token_id = _position(desk, "healthy")
    code, plan = desk.run("hedge", token_id)

    assert code == DONE
    assert plan["flow"] == "trade"
    assert plan["hedge"]["position"]["tokenId"] == token_id
    assert plan["decision"] == "SHORT"
    assert plan["hedge"]["ratio"] == 1.0
    assert plan["hedge"]["outlook"]["adjustedUsd"] < plan["hedge"]["outlook"]["onceUsd"]
    code, approved = desk.run("approve")
    assert code == DONE
    assert approved["planId"] == plan["planId"]

    assert desk.run("apply", "--confirm", "0" * 64)[0] == REFUSED
    code, applied = desk.run("apply", plan["planId"], "--confirm", approved["hash"])
    assert code == DONE
    sent_ids = [order["order"]["clientId"] for order in applied["orders"]]
    assert sent_ids == approved["orders"][: len(sent_ids)]
    short = sum(order["filled"] for order in applied["orders"])
    assert short == pytest.approx(plan["quantity"])
    again, _ = desk.run("apply", plan["planId"], "--confirm", approved["hash"])
    assert again == REFUSED
    report = desk.home / "reports" / f"{plan['planId']}.json"
    assert len(json.loads(report.read_text("utf-8"))["sent"]) == len(sent_ids)

    code, status = desk.run("trade", "status")
    assert code == DONE
    assert status["openOrders"] == []
    assert status["positions"][0]["quantity"] == pytest.approx(-short)
    code, replayed = desk.run("replay", plan["requestId"])
    assert (code, replayed["matches"]) == (DONE, True)

    code, half = desk.run("unhedge", token_id, "50")
    assert (code, half["decision"]) == (DONE, "CANCEL_AND_CLOSE")
    assert half["quantity"] == pytest.approx(short / 2, abs=0.001)
    code, all_of_it = desk.run("unhedge", "all")
    assert all_of_it["quantity"] == pytest.approx(short)
    _, approved = desk.run("approve", all_of_it["planId"])
    code, closed = desk.run("apply", all_of_it["planId"], "--confirm", approved["hash"])
    assert (code, closed["orders"][0]["state"]) == (DONE, "filled")
    assert desk.run("trade", "status")[1]["positions"] == []
    assert desk.run("unhedge", token_id)[0] == REFUSED


def test_a_trade_is_argued_and_told_again(desk: Desk) -> None:
    code, plan = desk.run("trade", "ETH", "--mode", "position")

    assert code == DONE
    assert (plan["symbol"], plan["mode"]) == ("ETHUSDT", "position")
    assert len(plan["sections"]) == 12
    for words in (("plan",), ("trade", "report")):
        assert desk.run(*words)[1]["planId"] == plan["planId"]
    why = desk.run("trade", "why")[1]
    assert why["decision"] == plan["decision"]
    assert why["holdDuration"]
    assert why["evRationale"]
    assert why["keyFactors"]
    lit = [one for one in plan["sections"] if one["status"] == "ok"]
    simulated = [one for one in lit if one["source"] == "simulated by the demo"]
    assert len(lit) >= 9
    assert len(simulated) == 4
    assert all(one["text"].startswith("Simulated: ") for one in simulated)
    if plan["decision"] == "HOLD":
        assert desk.run("approve", plan["planId"])[0] == REFUSED


def test_an_unknown_coin_is_a_hold_by_failure(desk: Desk) -> None:
    code, plan = desk.run("trade", "DOGE")

    assert code == FAILED
    assert (plan["decision"], plan["byFailure"]) == ("HOLD", True)


@pytest.mark.parametrize("state", ["stable"])
def test_what_has_no_coin_against_a_dollar_is_not_hedged(desk: Desk, state: str) -> None:
    assert desk.run("hedge", _position(desk, state))[0] == REFUSED


def test_a_venue_that_cannot_be_reached_is_the_network_s_fault(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('[trade]\nurl = "http://127.0.0.1:9"\n', "utf-8")

    assert main(["trade", "ETH", "--home", str(tmp_path)]) == NETWORK


def test_subjects_are_coins_or_questions() -> None:
    assert read_subject("eth") == "ETH"
    assert read_subject("Status") == "status"
    assert Trade("ETH", "position").twin == "zuno trade ETH --mode position"
    with pytest.raises(ValueError, match="coin"):
        read_subject("../etc")


def test_what_the_desk_remembers_is_empty_before_a_trade_has_ended(desk: Desk) -> None:
    code, remembered = desk.run("trade", "memory")

    assert (code, remembered) == (DONE, {"trades": [], "setups": []})


def test_a_poll_of_the_monitor_sends_the_stop_that_a_crash_left_out(desk: Desk) -> None:
    buy = order(OrderSide.BUY, OrderType.MARKET, 0.1, name="entry")
    stop = order(OrderSide.SELL, OrderType.STOP, 0.1, 100.0, name="stop", reduce_only=True)
    home = Home(desk.home, desk.home / "cache")
    home.prepare()

    async def left_between() -> None:
        address = ExchangeAddress(control_url(desk.url), EMBEDDED)
        async with BinancePublic(address) as market:
            venue = PaperVenue(home.paper, market, PaperTerms())
            plan_id = "plan_1"
            with TradeJournal.open(home.trades) as journal:
                journal.begin(plan_id, venue.name, [buy, stop], await venue.now())
                journal.mark("entry", JournalState.SENDING, await venue.now())
                await venue.submit(buy)
            await venue.close()

    asyncio.run(left_between())
    desk.poll()
    with TradeJournal.open(home.trades) as journal:
        assert {one.state for one in journal.entries()} == {JournalState.ACKNOWLEDGED}
    waiting = desk.run("trade", "status")[1]["openOrders"]

    assert [(one["order"]["clientId"], one["state"]) for one in waiting] == [("stop", "open")]


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
