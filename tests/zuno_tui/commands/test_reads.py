"""The reading commands, run as processes against the embedded chain."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from chain.devnet.launch import DevnetReady
    from tests.zuno_tui.conftest import CommandLine

WALLET_FIELDS = {"network", "chainId", "block", "owner", "found", "balanceOf", "positions"}
POSITION_FIELDS = {
    "tokenId",
    "poolId",
    "currency0",
    "currency1",
    "symbol0",
    "symbol1",
    "fee",
    "lpFee",
    "tickSpacing",
    "hooks",
    "tickLower",
    "tickUpper",
    "tick",
    "sqrtPriceX96",
    "liquidity",
    "amount0",
    "amount1",
    "fees0",
    "fees1",
    "inRange",
    "valueUsd",
    "sources",
}
UNSAFE_AS_NUMBERS = ("tokenId", "sqrtPriceX96", "liquidity", "amount0", "amount1", "fees0", "fees1")


def test_positions_are_data_on_stdout_and_words_on_stderr(
    zuno: CommandLine, on_devnet: tuple[str, ...], devnet: DevnetReady
) -> None:
    spoken = zuno("positions", *on_devnet, "--json")

    assert spoken.code == 0, spoken.words
    wallet = spoken.data
    assert wallet.keys() >= WALLET_FIELDS
    assert wallet["owner"] == devnet.wallet
    assert wallet["found"] == wallet["balanceOf"] == len(wallet["positions"]) >= 7
    for position in wallet["positions"]:
        assert position.keys() >= POSITION_FIELDS
        assert all(isinstance(position[field], str) for field in UNSAFE_AS_NUMBERS)
        assert position["valueUsd"] is not None


def test_every_state_a_position_can_be_in_is_in_the_demo(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    positions = zuno("positions", *on_devnet, "--json").data["positions"]

    assert {position["status"] for position in positions} == {"below", "in range", "above"}
    assert any(position["liquidity"] == "0" for position in positions)
    assert any(position["hook"]["danger"] == "dangerous" for position in positions)
    assert any(position["fee"] == 0x800000 and position["lpFee"] > 0 for position in positions)
    assert any(position["currency0"] == "0x" + "00" * 20 for position in positions)
    assert any(position["subscriber"] for position in positions)


def test_people_get_a_table_that_says_how_many_were_found(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    spoken = zuno("positions", *on_devnet, "--since-entry")

    assert spoken.code == 0, spoken.words
    assert "11 of 11 found" in spoken.words
    assert "VS HOLDING" in spoken.out
    assert spoken.out.count("out of range") >= 2


def test_inspect_tells_everything_of_one_position(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    token_id = zuno("positions", *on_devnet, "--json").data["positions"][0]["tokenId"]

    page = zuno("inspect", f"#{token_id}", *on_devnet)
    document = zuno("inspect", token_id, *on_devnet, "--json").data

    assert "impermanent loss" in page.out
    assert "a day" in page.out
    assert document["tokenId"] == token_id
    assert document["sinceEntry"]["unknown"] == []
    assert document["daily"]["unknown"] == []


def test_a_position_that_is_not_there_is_said_so(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    spoken = zuno("inspect", "99999", *on_devnet)

    assert spoken.code == 1
    assert "no position #99999" in spoken.words


def test_pools_show_hooked_and_dynamic_ones_by_worth(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    pools = zuno("pools", *on_devnet, "--json").data["pools"]

    worths = [pool["depthUsd"] for pool in pools]
    assert worths == sorted(worths, reverse=True)
    assert any(pool["hookDanger"] == "dangerous" for pool in pools)
    assert any(pool["fee"] == 0x800000 for pool in pools)
    only = zuno("pools", *on_devnet, "--json", "--token", "wbtc").data["pools"]
    assert {pool["symbol0"] for pool in only} | {pool["symbol1"] for pool in only} >= {"WBTC"}
    assert 0 < len(only) < len(pools)


def test_balances_are_priced_in_dollars_or_in_ether(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    in_dollars = zuno("balances", *on_devnet, "--json").data["balances"]
    in_ether = zuno("balances", *on_devnet, "--json", "--unit", "eth").data["balances"]

    ether = next(entry for entry in in_ether if entry["symbol"] == "ETH")
    assert ether["price"] == 1.0
    for dollars, coins in zip(in_dollars, in_ether, strict=True):
        assert dollars["amount"] == coins["amount"]
        assert dollars["value"] == pytest.approx(coins["value"] * in_dollars[0]["price"])


def test_a_flag_may_stand_before_the_command(zuno: CommandLine, devnet: DevnetReady) -> None:
    spoken = zuno("--network", "devnet", "--rpc", devnet.url, "balances", "--json")

    assert spoken.code == 0, spoken.words


def test_doctor_finds_the_devnet_well_and_names_what_is_missing(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    spoken = zuno("doctor", *on_devnet, "--json", OPENAI_API_KEY="")

    states = {check["name"]: check["state"] for check in spoken.data["checks"]}
    assert spoken.code == 0
    for well in ("RPC", "chain id", "head", "contracts", "sends", "home", "outbox", "model"):
        assert states[well] == "ok"
    assert "all 7 have code, 4 as shipped with zuno" in spoken.out


def test_doctor_takes_the_model_from_the_settings_as_a_debate_does(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    zuno.home.mkdir(mode=0o700)
    asked = ("doctor", *on_devnet, "--json")

    (zuno.home / "settings.toml").write_text("[debate]\ndeterministic = true\n")
    rules = zuno(*asked, OPENAI_API_KEY="sk-CANARY", OPENAI_BASE_URL="http://127.0.0.1:9")
    (zuno.home / "settings.toml").write_text('[model]\nnmae = "x"\n')
    mistaken = zuno(*asked, OPENAI_API_KEY="sk-CANARY")

    model = next(check for check in rules.data["checks"] if check["name"] == "model")
    assert model["state"] == "ok"
    assert "deterministic is chosen" in model["finding"]
    assert mistaken.code == 2
    assert "'nmae'" in mistaken.words
    assert "CANARY" not in rules.out + mistaken.out + mistaken.words


def test_doctor_names_a_private_endpoint_that_is_down_and_a_damaged_journal(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    zuno.home.mkdir(mode=0o700)
    (zuno.home / "outbox.db").write_bytes(b"not a database" * 100)

    spoken = zuno("doctor", *on_devnet, "--json", ZUNO_SEND_RPC="http://127.0.0.1:9/CANARY")

    found = {check["name"]: check for check in spoken.data["checks"]}
    assert spoken.code == 4
    assert (found["sends"]["state"], found["outbox"]["state"]) == ("broken", "broken")
    assert "127.0.0.1:9" in found["sends"]["finding"]
    assert "is damaged" in found["outbox"]["finding"]
    assert "CANARY" not in spoken.out + spoken.words


def test_doctor_tries_who_announces_blocks(zuno: CommandLine, devnet: DevnetReady) -> None:
    socket = devnet.url.replace("http", "ws")
    urls = f"{devnet.url},{socket},ws://127.0.0.1:9/CANARY"

    spoken = zuno("doctor", "--network", "devnet", "--rpc", urls, "--json")

    found = [check for check in spoken.data["checks"] if check["name"] == "new blocks"]
    assert spoken.code == 0
    assert [check["state"] for check in found] == ["ok", "caution"]
    assert "CANARY" not in spoken.out + spoken.words


def test_another_chain_is_refused_with_what_to_do(zuno: CommandLine, devnet: DevnetReady) -> None:
    spoken = zuno("positions", "--network", "base", "--rpc", devnet.url, "--address", devnet.wallet)

    assert spoken.code == 4
    assert spoken.out == ""
    assert "answered for chain 31337, but this desk is set to Base (8453)" in spoken.words
    assert "zuno --network base --rpc URL" in spoken.words


def test_an_endpoint_that_is_not_there_is_a_network_failure_without_its_url(
    zuno: CommandLine,
) -> None:
    spoken = zuno("positions", "--network", "devnet", "--rpc", "http://127.0.0.1:1/v2/CANARY")

    assert spoken.code == 4
    assert "CANARY" not in spoken.words
    assert "Traceback" not in spoken.words


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("inspect", "seven"), "not a position's number"),
        (("positions", "--address", "0x12"), "40 hexadecimal digits"),
        (("positions", "--network", "nowhere"), "no network called 'nowhere'"),
        (("positions", "--network", "base"), "No"),
        (("positionz",), "invalid choice"),
    ],
)
def test_wrong_usage_ends_with_two_and_a_sentence(
    zuno: CommandLine, arguments: tuple[str, ...], said: str
) -> None:
    spoken = zuno(*arguments)

    assert spoken.code == 2
    assert said in spoken.words
    assert "Traceback" not in spoken.words


def test_the_home_is_private(zuno: CommandLine, on_devnet: tuple[str, ...]) -> None:
    zuno("positions", *on_devnet)

    assert stat.S_IMODE(zuno.home.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in zuno.home.iterdir())
