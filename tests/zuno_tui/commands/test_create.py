"""Positions opened through the gate: from a create plan to the chain and back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chain.contracts.networks import NATIVE
from chain.devnet.launch import DevnetReady
from tests.samples import some_of
from tests.zuno_tui.gate.desk import REFUSED, Desk
from tests.zuno_tui.gate.taken_back import applied, desk_at

PROMISED_PER_CENT = 96


@pytest.fixture
def desk(devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    with desk_at(devnet, tmp_path, capsys) as desk:
        yield desk


def _planned(desk: Desk, phrase: str) -> dict[str, Any]:
    spoken = desk.here("create", phrase, "--json", "--deterministic")
    assert spoken.code == 0, spoken.words
    plan: dict[str, Any] = spoken.data
    return plan


@pytest.mark.parametrize(
    ("phrase", "steps"),
    some_of(
        [
            ("0.5 WETH and 1500 USDC, 0.05%", ["create"]),
            ("0.5 ETH and 1500 USDC, 0.3%", ["create"]),
            ("1500 USDC with ETH, 0.3%", ["enter"]),
            ("20 ETH with USDC, 0.05%", ["wrap", "enter"]),
        ],
        2,
        seed=44,
    ),
)
def test_a_plan_opens_the_position_it_shows(desk: Desk, phrase: str, steps: list[str]) -> None:
    plan = _planned(desk, phrase)
    move = plan["candidates"][0]
    approval = desk.approved("approve", plan["planId"], "--candidate", "0")
    before = desk.positions()

    result = applied(desk, approval)

    moving = [one["step"] for one in approval["transactions"] if "llow" not in one["step"]]
    assert moving == steps
    after = desk.positions()
    new = after[result["newTokenId"]]
    assert after.keys() - before.keys() == {result["newTokenId"]}
    assert new["poolId"] == move["poolId"]
    assert (new["tickLower"], new["tickUpper"]) == (move["tickLower"], move["tickUpper"])
    bounds = approval["bounds"][-1]
    assert new["liquidity"] == bounds["liquidity"]
    assert int(new["liquidity"]) * 100 >= int(move["liquidity"]) * PROMISED_PER_CENT
    for place in (0, 1):
        assert int(new[f"amount{place}"]) <= int(bounds["taken"][f"amount{place}"])
    _nothing_unpromised_is_allowed(approval, result)


def _nothing_unpromised_is_allowed(approval: dict[str, Any], result: dict[str, Any]) -> None:
    promised = {(one["token"], one["spender"]): one for one in approval["grants"]}
    through = [one for one in result["allowances"] if one["throughPermit2"]]
    for one in through:
        grant = promised[one["token"], one["spender"]]
        assert int(one["amount"]) < int(grant["amount"])
        assert one["expiration"] == grant["expiration"]
    assert not [one for one in through if "enter" in result["transactions"][-1]["step"]]


def test_a_plan_that_opens_is_refused_where_it_must_be(desk: Desk) -> None:
    plan = _planned(desk, "0.5 WETH and 1500 USDC, 0.05%")
    approval = desk.approved("approve", plan["planId"], "--candidate", "0")
    confirmed = (plan["planId"], "--confirm", approval["hash"])
    nonce = desk.nonce()

    unchosen = desk.here("approve", plan["planId"])
    leaving = desk.here("approve", plan["planId"], "--candidate", "exit")
    beyond = _planned(desk, "400 WETH and 1200000 USDC, 0.05%")
    short = desk.here("approve", beyond["planId"], "--candidate", "0")
    stranger = ("--address", "0x" + "11" * 20)
    foreign = desk.here("approve", plan["planId"], "--candidate", "0", *stranger)
    snapshot = desk.ask("evm_snapshot")
    desk.raise_price(plan["candidates"][0]["poolId"], bips=51)
    dearer = desk.refused(*confirmed)
    desk.ask("evm_revert", snapshot)
    desk.ask("zuno_step", 600)
    expired = desk.refused(*confirmed)

    assert plan["recommended"]["kind"] == "hold"
    refusals = {
        "nothing to sign": unchosen,
        "nothing to close": leaving,
        "The wallet holds": short,
        "was made for": foreign,
        "pool price": dearer,
        "it lasts ten minutes": expired,
    }
    for words, spoken in refusals.items():
        assert spoken.code == REFUSED
        assert words in spoken.words
    assert desk.nonce() == nonce


def test_the_coin_is_wrapped_only_where_it_is_missing(desk: Desk) -> None:
    held = desk.held(desk.devnet.wallet, "0x06a9f3b1464497d25e7059051084041ef2343ce5")
    plan = _planned(desk, "20 WETH and 60000 USDC, 0.05%")

    approval = desk.approved("simulate", plan["planId"], "--candidate", "0")
    told = desk.approved("diff", plan["planId"], "--candidate", "0")

    assert told["position"] is None
    assert told["old"]["amount0"] == str(20 * 10**18)
    wrap = next(one for one in approval["transactions"] if one["step"] == "wrap")
    taken = int(approval["bounds"][-1]["taken"]["amount0"])
    assert int(wrap["value"]) == taken - held
    assert int(approval["quoted"][NATIVE]) == -int(wrap["value"])
