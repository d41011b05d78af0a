"""An `eth_simulateV1` that is missing, crashes or is forbidden: plans end as they do with it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk

METHOD = "eth_simulateV1"


def _error(code: int, message: str) -> Answer:
    return {"error": {"code": code, "message": message}}


FAILURES: dict[str, Answer] = {
    "missing": _error(-32601, "the method eth_simulateV1 does not exist/is not available"),
    "crashes inside": _error(-32603, "method handler crashed"),
    "refused by the server": _error(-32000, "this request method is not supported"),
    "not supported": _error(-32004, "method not supported"),
    "forbidden": {"status": 403},
    "crash": {"status": 500},
}
OTHERS: dict[str, Answer] = {
    "not in this plan": _error(35, "method is not available on freetier, please upgrade"),
    "invalid request": _error(-32600, "unsupported method: eth_simulateV1 on ETH_MAINNET"),
    "hangs up": {"status": 0},
    "gibberish": {"result": "oops"},
}


@pytest.fixture(scope="module")
def honest(chain: DevnetReady, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is approved where the method works."""
    command = CommandLine(tmp_path_factory.mktemp("honest"))
    position = node_rpc.ask(chain.url, "zuno_status")["positions"]["transferred in"]
    spoken = command("collect", str(position), "--network", "devnet", "--rpc", chain.url, "--json")
    document: dict[str, Any] = spoken.data
    return document


def _simulating(answer: Answer) -> Callable[[Call], Answer | None]:
    return lambda call: answer if call["method"] == METHOD else None


@pytest.mark.parametrize("failure", FAILURES)
def test_approve_and_apply_end_the_same_way(
    desk: Desk, honest: dict[str, Any], failure: str
) -> None:
    with Proxy(desk.devnet.url, _simulating(FAILURES[failure])) as proxy:
        plain = replace(desk, rpc=proxy.url)
        approval = plain.approved("collect", str(desk.token_id("transferred in")))
        applied = plain.apply_here(approval["planId"], "--confirm", approval["hash"], "--json")

    assert (honest["simulation"]["method"], honest["simulation"]["reason"]) == (METHOD, None)
    assert approval["simulation"]["method"] == "eth_call"
    assert proxy.host in approval["simulation"]["reason"]
    assert (applied.code, applied.data["state"]) == (0, "included"), applied.words
    for token, amount in honest["quoted"].items():
        assert abs(int(applied.data["realised"][token]) - int(amount)) * 10_000 <= int(amount)


@pytest.mark.parametrize("failure", OTHERS)
def test_the_card_says_how_it_was_tried_and_why(desk: Desk, failure: str) -> None:
    with Proxy(desk.devnet.url, _simulating(OTHERS[failure])) as proxy:
        card = replace(desk, rpc=proxy.url).here("collect", str(desk.token_id("transferred in")))

    assert card.code == 0, card.words
    assert "eth_call" in card.out
    assert proxy.host in card.out


def test_what_it_says_of_the_transactions_is_no_failure_of_the_method(desk: Desk) -> None:
    funds = _error(-38014, "insufficient funds for gas * price + value")
    with Proxy(desk.devnet.url, _simulating(funds)) as proxy:
        refused = replace(desk, rpc=proxy.url).here("collect", str(desk.token_id("transferred in")))

    assert refused.code != 0
    assert "-38014" in refused.words
    assert proxy.asked["eth_sendRawTransaction"] == 0


def test_a_first_step_is_tried_by_the_other_method_before_it_is_refused(desk: Desk) -> None:
    position = str(desk.token_id("transferred in"))

    def fails_in_the_simulator(call: Call) -> Answer | None:
        if call["method"] != METHOD:
            return None
        told = desk.ask(METHOD, *call["params"])
        for one in told[0]["calls"]:
            if len(one["returnData"]) != 66:
                one.update(status="0x0", logs=[], error={"code": -32015, "message": "vm error"})
        return {"result": told}

    with Proxy(desk.devnet.url, fails_in_the_simulator) as proxy:
        approval = replace(desk, rpc=proxy.url).approved("collect", position)

    assert approval["simulation"]["method"] == "eth_call"
