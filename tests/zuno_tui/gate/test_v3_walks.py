"""Plans for positions of Uniswap v3, from the command to what the chain holds afterwards."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from chain.contracts.networks import network_named
from tests import node_rpc
from tests.embedded_chain import embedded_chain
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chain.devnet.launch import DevnetReady

NETWORK = network_named("devnet")
WALKS: dict[str, tuple[str, ...]] = {
    "collect": ("collect", "3:4"),
    "collect as ETH": ("collect", "3:5", "--eth"),
    "decrease": ("decrease", "3:3", "40"),
    "increase": ("increase", "3:5", "500", "USDC"),
    "increase with ETH": ("increase", "3:5", "0.5", "ETH"),
    "close": ("close", "3:6"),
    "close as ETH": ("close", "3:5", "--eth"),
    "close both": ("close", "3:3", "27"),
    "collect all": ("collect", "all"),
    "move without a swap": ("move", "3:4", "--no-swap"),
    "migrate": ("migrate", "3:3"),
    "migrate out of range": ("migrate", "3:4", "to", "v4", "0.05%"),
    "migrate from v4": ("migrate", "27", "to", "v3"),
}


@pytest.fixture(scope="module")
def with_v3() -> Iterator[DevnetReady]:
    with embedded_chain(v3=True) as ready:
        yield ready


@pytest.fixture
def desk(
    with_v3: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Desk]:
    made = Desk(with_v3, CommandLine(tmp_path / "home"), capsys)
    made.command.home.mkdir(mode=0o700)
    snapshot = made.ask("evm_snapshot")
    yield made
    node_rpc.take_back(with_v3.url, snapshot)


def approved(desk: Desk, *words: str) -> dict[str, Any]:
    said = desk.here(*words, "--json")
    assert said.code == 0, said.words
    found: dict[str, Any] = json.loads(said.out)
    return found


def applied(desk: Desk, approval: dict[str, Any]) -> dict[str, Any]:
    said = desk.apply(approval["planId"], "--confirm", approval["hash"], "--anyway", "--json")
    assert said.code == 0, said.words
    found: dict[str, Any] = json.loads(said.out)
    return found


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("way", ["in steps", "as one"])
def test_what_is_shown_is_what_the_chain_did(desk: Desk, walk: str, way: str) -> None:
    if way == "as one":
        desk.delegate()
    approval = approved(desk, *WALKS[walk])
    result = applied(desk, approval)

    shown = {token: amount for token, amount in result["quoted"].items() if amount != "0"}
    realised = {token: amount for token, amount in result["realised"].items() if amount != "0"}
    assert realised == shown
    if way == "as one":
        assert len(approval["transactions"]) == 1
    left = desk.here("revoke", "--json")
    assert way == "in steps" or not json.loads(left.out)["allowances"]


def test_a_plan_of_v3_is_refused_where_the_price_has_moved(desk: Desk) -> None:
    approval = approved(desk, "close", "3:5")
    desk.ask("evm_mine")
    manager = NETWORK.v3.position_manager if NETWORK.v3 else ""
    code = desk.ask("eth_getCode", manager, "latest")
    desk.ask("anvil_setCode", manager, code + "00")
    said = desk.apply(approval["planId"], "--confirm", approval["hash"])
    assert said.code == 3
    assert "NonfungiblePositionManager" in said.words
    assert "Nothing was sent" in said.words or "Nothing was signed" in said.words
    desk.ask("anvil_setCode", manager, code)
