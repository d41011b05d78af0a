"""The trade desk from the command line: argued, approved and applied on the embedded chain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agents.trade.data_set import DataSet, RunRow, SentRow
from tests import node_rpc
from zuno_tui.cli import main
from zuno_tui.features.trade.intents import Trade, read_subject
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK, REFUSED

if TYPE_CHECKING:
    from pathlib import Path

    from chain.devnet.launch import DevnetReady


class Desk:
    """Runs commands in one home on one chain."""

    def __init__(
        self, devnet: DevnetReady, home: Path, captured: pytest.CaptureFixture[str]
    ) -> None:
        self._flags = ["--network", "devnet", "--rpc", devnet.url, "--home", str(home), "--json"]
        self._captured = captured
        self.url = devnet.url
        self.home = home

    def run(self, *words: str) -> tuple[int, dict[str, Any]]:
        code = main([*words, *self._flags])
        printed = self._captured.readouterr().out
        return code, json.loads(printed) if printed else {}


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
    if plan["decision"] == "HOLD":
        pytest.skip("this world calls for no hedge now")
    code, approved = desk.run("approve")
    assert code == DONE
    assert approved["planId"] == plan["planId"]

    assert desk.run("apply", "--confirm", "0" * 64)[0] == REFUSED
    code, applied = desk.run("apply", plan["planId"], "--confirm", approved["hash"])
    assert code == DONE
    assert [order["clientId"] for order in applied["orders"]] == approved["orders"]
    again, _ = desk.run("apply", plan["planId"], "--confirm", approved["hash"])
    assert again == REFUSED
    report = desk.home / "reports" / f"{plan['planId']}.json"
    assert len(json.loads(report.read_text("utf-8"))["sent"]) == len(approved["orders"])
    argued, sent = DataSet(desk.home / "memory").rows()
    assert isinstance(argued, RunRow)
    assert isinstance(sent, SentRow)
    assert (argued.plan_id, argued.request_id) == (plan["planId"], plan["requestId"])
    assert [order.client_id for order in sent.orders] == approved["orders"]

    code, status = desk.run("trade", "status")
    assert code == DONE
    known = [order["clientId"] for order in status["openOrders"]]
    filled = [order for order in applied["orders"] if order["state"] == "filled"]
    assert known == approved["orders"] or (filled and status["positions"])
    code, replayed = desk.run("replay", plan["requestId"])
    assert (code, replayed["matches"]) == (DONE, True)


def test_a_trade_is_argued_and_told_again(desk: Desk) -> None:
    code, plan = desk.run("trade", "ETH", "--mode", "position")

    assert code == DONE
    assert (plan["symbol"], plan["mode"]) == ("ETHUSDT", "position")
    assert len(plan["sections"]) == 12
    for words in (("plan",), ("trade", "report")):
        assert desk.run(*words)[1]["planId"] == plan["planId"]
    assert desk.run("trade", "why")[1]["decision"] == plan["decision"]
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

    assert (code, list(remembered)) == (DONE, [])
