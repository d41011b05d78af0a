"""Endpoints that lag by a block now and then, or take no block hashes: plans get through."""

import time
from dataclasses import replace
from random import Random

import pytest

from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.gate.desk import Desk

NO_BLOCK = {"error": {"code": -32000, "message": "header not found"}}
NO_HASHES = {"error": {"code": -32602, "message": "invalid argument: cannot unmarshal object"}}


def test_one_call_in_five_a_block_behind_stops_neither_approve_nor_apply(desk: Desk) -> None:
    random, lagged = Random(3), 0
    head, looked_at = {}, 0.0

    def behind(call: Call) -> Answer | None:
        """As a machine that lacks the newest block would answer a question that names it."""
        nonlocal lagged, head, looked_at
        if time.monotonic() - looked_at > 0.2:
            head = desk.ask("eth_getBlockByNumber", "latest", False)
            looked_at = time.monotonic()
        named = str(call["params"])
        if head["hash"] not in named and f"'{head['number']}'" not in named:
            return None
        if random.random() > 0.2:
            return None
        lagged += 1
        return {"result": None} if call["method"].startswith("eth_getBlockBy") else NO_BLOCK

    with Proxy(desk.devnet.url, behind) as proxy:
        late = replace(desk, rpc=proxy.url)
        approval = late.approved("collect", str(desk.token_id("transferred in")))
        applied = late.apply_here(approval["planId"], "--confirm", approval["hash"], "--json")

    assert applied.code == 0, applied.words
    assert lagged > 3
    assert applied.data["state"] == "included"


def test_without_block_hashes_plans_are_read_and_tried_by_number(desk: Desk) -> None:
    def takes_no_hashes(call: Call) -> Answer | None:
        by_hash = any(isinstance(one, dict) and "blockHash" in one for one in call["params"])
        return NO_HASHES if by_hash else None

    with Proxy(desk.devnet.url, takes_no_hashes) as proxy:
        plain = replace(desk, rpc=proxy.url)
        approval = plain.approved("close", str(desk.token_id("transferred in")))
        applied = plain.apply_here(approval["planId"], "--confirm", approval["hash"], "--json")

    assert approval["simulation"]["method"] == "eth_simulateV1"
    assert (applied.code, applied.data["state"]) == (0, "included"), applied.words


@pytest.mark.parametrize("choice", ["0", "exit"])
def test_approving_asks_for_no_logs(desk: Desk, choice: str) -> None:
    plan = desk.recommended("below its range")
    with Proxy(desk.devnet.url) as seen:
        watched = replace(desk, rpc=seen.url)
        approval = watched.here("approve", plan["planId"], "--candidate", choice, "--json")
        assert approval.code == 0, approval.words
        assert seen.asked["eth_getLogs"] == 0
        assert watched.here("positions", "--json", "--since-entry").code == 0
        assert seen.asked["eth_getLogs"], "what reads history is counted"
