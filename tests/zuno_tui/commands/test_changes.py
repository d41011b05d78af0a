"""The commands that open or change a position or the wallet, carried out on the real contracts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chain.contracts.networks import NATIVE
from chain.devnet.launch import DevnetReady
from tests.samples import some_of
from tests.zuno_tui.gate.desk import REFUSED, Desk, assert_nothing_left
from tests.zuno_tui.gate.taken_back import applied, desk_at

USAGE = 2
WETH = "0x06a9f3b1464497d25e7059051084041ef2343ce5"
ETHER = 10**18


@pytest.fixture
def desk(devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Desk]:
    with desk_at(devnet, tmp_path, capsys) as desk:
        yield desk


def test_fees_are_put_back_into_the_range(desk: Desk) -> None:
    token_id = str(desk.token_id("native"))
    before = desk.positions()[token_id]
    approval = desk.approved("compound", token_id)

    result = applied(desk, approval)

    now = desk.positions()[token_id]
    added = int(approval["bounds"][0]["liquidity"])
    assert int(now["liquidity"]) == int(before["liquidity"]) + added > int(before["liquidity"])
    assert (now["fees0"], now["fees1"]) == ("0", "0")
    # All of it comes from the fees: what the range does not take reaches the wallet.
    assert min(int(amount) for amount in result["realised"].values()) >= 0
    assert result["allowances"] == []


def test_a_position_grows_from_the_wallet_and_the_rest_of_the_leave_is_taken_back(
    desk: Desk,
) -> None:
    token_id = str(desk.token_id("healthy"))
    before = desk.positions()[token_id]
    approval = desk.approved("increase", token_id, "0.5 WETH")

    result = applied(desk, approval)

    now = desk.positions()[token_id]
    added = int(approval["bounds"][0]["liquidity"])
    assert int(now["liquidity"]) == int(before["liquidity"]) + added
    assert -ETHER // 2 <= int(result["realised"][WETH]) < -ETHER * 45 // 100
    left = result["allowances"]
    assert {one["throughPermit2"] for one in left} == {True, False}
    assert desk.here("revoke", "--json").data["allowances"] == left
    assert desk.here("revoke", "DAI", "Permit2").code == REFUSED
    one = desk.approved("revoke", "WETH", "PositionManager")
    assert [step["step"] for step in one["transactions"]] == ["revoke"]
    revoked = applied(desk, desk.approved("revoke", "--all"))
    assert len(revoked["transactions"]) == len(left)
    assert revoked["allowances"] == []
    assert desk.here("revoke", "--all").code == REFUSED
    nothing_left = desk.here("revoke").words
    assert "Nobody may move a token" in nothing_left
    # Whoever may move a position is no spender of tokens, and stands elsewhere.
    assert "tokens alone" in nothing_left


def test_a_part_is_taken_out(desk: Desk) -> None:
    token_id = str(desk.token_id("stable"))
    before = desk.positions()[token_id]
    approval = desk.approved("decrease", token_id, "25%")

    result = applied(desk, approval)

    # Its subscriber is dismissed first.
    assert [one["step"] for one in result["transactions"]] == ["unsubscribe", "decrease"]
    liquidity = int(before["liquidity"])
    assert int(desk.positions()[token_id]["liquidity"]) == liquidity - liquidity * 25 // 100
    for place, token in enumerate(approval["tokens"]):
        paid = int(approval["bounds"][0]["paid"][f"amount{place}"])
        assert int(result["realised"][token]) >= paid > 0


@pytest.mark.parametrize(("command", "sign"), [("wrap", 1), ("unwrap", -1)])
def test_ether_is_wrapped_and_unwrapped(desk: Desk, command: str, sign: int) -> None:
    before = desk.held(desk.devnet.wallet, WETH)

    result = applied(desk, desk.approved(command, "1.5"))

    change = sign * 3 * ETHER // 2
    assert desk.held(desk.devnet.wallet, WETH) == before + change
    assert result["realised"] == {NATIVE: str(-change), WETH: str(change)}


def test_what_cannot_be_done_is_refused_with_a_way_on(desk: Desk) -> None:
    healthy = str(desk.token_id("healthy"))
    above = str(desk.token_id("above its range"))
    nonce = desk.nonce()
    refusals: dict[tuple[str, ...], str] = {
        ("compound", str(desk.token_id("emptied"))): "zuno close",
        ("compound", str(desk.token_id("near the edge"))): "zuno collect",
        ("compound", "999999"): "zuno positions",
        ("increase", healthy, "500", "WETH"): "The wallet holds",
        ("increase", healthy, "1", "DAI"): "takes WETH and USDC",
        ("increase", healthy, "0", "WETH"): "cannot be added",
        ("increase", above, "1", "WETH"): "takes USDC alone",
        ("increase", "999999", "1", "WETH"): "zuno positions",
        ("decrease", healthy, "100"): f"zuno close {healthy}",
        ("decrease", healthy, "0"): "from 1 to 99",
        ("decrease", "999999", "50"): "zuno positions",
        ("wrap", "1,000"): "The wallet holds",
        ("unwrap", "1,000"): "The wallet holds",
        ("revoke", "WETH", "Permit2"): "zuno revoke",
        ("revoke", "WETH", "somebody"): "Permit2, PositionManager",
        ("export", "plan_0000000000000000"): "is not approved",
    }

    for arguments, words in refusals.items():
        spoken = desk.here(*arguments)
        assert (spoken.code, spoken.out) == (REFUSED, ""), (arguments, spoken)
        assert words in spoken.words, (arguments, spoken.words)
    assert desk.here("increase", healthy, "0.5").code == USAGE
    assert desk.nonce() == nonce


@pytest.mark.parametrize("arguments", [("decrease", "7", "half"), ("wrap", "1e3")])
def test_what_is_no_number_is_a_matter_of_usage(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    from zuno_tui.cli import main

    with pytest.raises(SystemExit, match=str(USAGE)):
        main(arguments)

    assert arguments[-1] in capsys.readouterr().err


def test_what_is_approved_can_be_signed_elsewhere_until_it_ends(desk: Desk) -> None:
    approval = desk.approved("increase", str(desk.token_id("healthy")), "0.5", "WETH")

    raw = desk.here("export", approval["planId"], "--format", "raw")
    safe = desk.here("export", approval["planId"])

    assert raw.code == safe.code == 0
    _same_transactions(approval, raw.data, safe.data)
    for one in raw.data:
        # Permissions end with their plan too, though their own bytes do not say so.
        assert one["deadline"] == raw.data[-1]["deadline"] == approval["expiresAt"] + 300
        assert (one["approval"], one["expiresAt"]) == (approval["hash"], approval["expiresAt"])
    for words in (approval["hash"], "The approval ends at", "The chain refuses it after"):
        assert words in safe.words
        assert words in safe.data["meta"]["description"]
    # An export uses nothing up.
    desk.ask("zuno_step", 600)
    assert "it lasts ten minutes" in desk.here("export", approval["planId"]).words


def _same_transactions(
    approval: dict[str, Any], raw: list[dict[str, Any]], safe: dict[str, Any]
) -> None:
    for shown, unsigned, batched in zip(
        approval["transactions"], raw, safe["transactions"], strict=True
    ):
        assert unsigned["to"].lower() == batched["to"].lower() == shown["to"]
        assert unsigned["data"] == batched["data"] == shown["data"]
        assert int(unsigned["value"], 16) == int(batched["value"]) == int(shown["value"])
        assert int(unsigned["nonce"], 16) == shown["nonce"]
        assert int(unsigned["gas"], 16) == shown["gas"]


def test_a_move_with_a_swap_goes_through_while_the_price_moves_as_far_as_it_says(
    desk: Desk,
) -> None:
    plan = desk.recommended("above its range")
    move = next(one for one in plan["candidates"] if one["prepAction"] is not None)
    approval = desk.approved("approve", plan["planId"], "--candidate", str(move["index"]))
    assert approval["driftBips"] > 10

    desk.raise_price(move["poolId"], bips=int(approval["driftBips"]) - 1)
    spoken = desk.apply(plan["planId"], "--confirm", approval["hash"], "--json")

    assert spoken.code == 0, spoken.words
    result = spoken.data
    new = desk.positions()[result["newTokenId"]]
    assert (new["tickLower"], new["tickUpper"]) == (move["tickLower"], move["tickUpper"])
    bounds = approval["bounds"][-1]
    for place, token in enumerate(approval["tokens"]):
        assert int(result["realised"][token]) >= -int(bounds["besides"][f"amount{place}"])
    assert_nothing_left(desk, approval["tokens"])


PROMISED_PER_CENT = 96


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
