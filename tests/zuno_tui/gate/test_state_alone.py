"""What is signed rests on the state of one block: approving reads no history."""

from dataclasses import replace

import pytest

from tests.fakes.proxy import Proxy
from tests.zuno_tui.gate.desk import Desk


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
