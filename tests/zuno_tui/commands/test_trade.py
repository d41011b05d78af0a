"""The trade desk from the command line: argued, approved and applied on the embedded chain."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from chain.base.home import Home
from chain.devnet.defaults import control_url
from chain.devnet.launch import DevnetReady
from chain.exchange.orders.journal import JournalState, TradeJournal
from chain.exchange.orders.order import OrderSide, OrderType
from chain.exchange.orders.venues.paper.venue import PaperTerms, PaperVenue
from chain.exchange.public.binance import BinancePublic, ExchangeAddress
from tests import node_rpc
from tests.chain.exchange.markets import order
from zuno_tui.cli import main
from zuno_tui.features.trade.intents import Trade, read_subject
from zuno_tui.features.trade.venue import EMBEDDED
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK, REFUSED


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
