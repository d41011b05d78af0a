"""recommend, create, plan, explain and replay, run as processes against the embedded chain."""

import stat
from pathlib import Path
from typing import Any

import pytest

from agents.numbers.rules import CheckedAssumption
from chain.devnet.launch import DevnetReady
from tests.agents.conftest import positions_by_state
from tests.zuno_tui.conftest import CommandLine, Spoken
from zuno_tui.present.words import screen_words

PLAN_FIELDS = {
    *(
        "planId",
        "requestId",
        "recordHash",
        "kind",
        "position",
        "profile",
        "regime",
        "decidedBy",
        "rounds",
    ),
    *("verdict", "assumptions", "recommended", "candidates", "hold", "exit", "rejected"),
    *("transcript", "claims", "budget", "sources", "recordHash"),
}
CANDIDATE_FIELDS = {
    *("kind", "tickLower", "tickUpper", "amount0", "amount1", "liquidity", "prepAction"),
    *("bufferHours", "survival", "feeYield24h", "lvr24h", "costUsd", "breakEvenHours", "judgment"),
}
KINDS = {"hold", "exit", "tighten", "widen", "shift", "create"}
NO_MODEL = {"OPENAI_API_KEY": "", "ZUNO_MAX_DEBATE_ROUNDS": "2"}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """One home for all, so that what was argued once can be shown, explained and replayed."""
    return CommandLine(tmp_path_factory.mktemp("desk") / "home")


@pytest.fixture(scope="module")
def flags(devnet: DevnetReady) -> tuple[str, ...]:
    return ("--network", "devnet", "--rpc", devnet.url)


@pytest.fixture(scope="module")
def recommended(desk: CommandLine, flags: tuple[str, ...], devnet: DevnetReady) -> Spoken:
    """A position left behind, argued about in two rounds, as data."""
    token_id = str(positions_by_state(devnet.url)["above its range"])
    return desk("recommend", token_id, "--json", "--profile", "conservative", *flags, **NO_MODEL)


@pytest.fixture(scope="module")
def plan(recommended: Spoken) -> dict[str, Any]:
    assert recommended.code == 0, recommended.words
    found: dict[str, Any] = recommended.data
    return found


def test_a_plan_has_every_field(plan: dict[str, Any], devnet: DevnetReady) -> None:
    assert plan.keys() >= PLAN_FIELDS
    assert plan["kind"] == "rebalance"
    assert plan["position"] == str(positions_by_state(devnet.url)["above its range"])
    assert plan["profile"] == "conservative"
    assert plan["rounds"] in (1, 2)
    assert plan["decidedBy"] in ("critic", "arbiter")
    assert plan["verdict"] in ("approve", "approve_with_caution", "reject")
    assert len(plan["assumptions"]) == len(CheckedAssumption)
    assert {one["survives"] for one in plan["assumptions"]} <= {True, False, None}
    assert plan["claims"] == {"cited": 0, "struck": 0}
    assert plan["budget"] is None
    assert all(isinstance(said, str) and said for said in plan["sources"].values())


def test_what_is_to_be_kept_is_not_sold_and_the_plan_says_why(
    desk: CommandLine, flags: tuple[str, ...], devnet: DevnetReady
) -> None:
    token_id = str(positions_by_state(devnet.url)["below its range"])
    asked = ("recommend", token_id, "--keep", "eth", "--until", "March", "--deterministic", *flags)
    told = desk(*asked, "--stream")
    found = desk(*asked, "--json").data
    goals = [
        finding["words"]
        for move in found["candidates"]
        for finding in move["judgment"]["findings"]
        if finding["rule"] == "goal"
    ]

    assert told.code == 0, told.words
    assert "Your goal is to have eth by March" in told.words
    assert goals
    assert all("of the token you want to keep" in words for words in goals)
    assert found["recommended"]["prepAction"] is None
    wrong = desk("recommend", token_id, "--keep", "DAI", *flags)
    assert (wrong.code, "Keep one of them" in wrong.words) == (2, True)


def test_a_candidate_has_every_field(plan: dict[str, Any]) -> None:
    assert 2 <= len(plan["candidates"]) <= 5
    for one in (*plan["candidates"], plan["hold"], plan["exit"], plan["recommended"]):
        assert one.keys() >= CANDIDATE_FIELDS
        assert one["kind"] in KINDS
        # Money and liquidity pass 2^53, so they are written as text.
        assert all(one[name].isdigit() for name in ("amount0", "amount1", "liquidity"))
    for move in plan["candidates"]:
        assert move["bufferHours"].keys() == {"1", "2", "3"}
        assert move["survival"].keys() == {"24h", "7d"}
        assert move["judgment"]["verdict"] in ("accept", "revise", "veto")
        assert move["judgment"]["reason"]
        rules = {finding["rule"] for finding in move["judgment"]["findings"]}
        assert rules == {"enters", "gas-yield"} or rules >= {
            *("price-inside", "buffer-floor", "gas-yield", "break-even")
        }
        swap = move["prepAction"]
        assert swap is None or (swap["kind"] == "swap" and swap["costUsd"] > 0)
    assert (plan["hold"]["kind"], plan["exit"]["kind"]) == ("hold", "exit")
    assert plan["recommended"] in (*plan["candidates"], plan["hold"], plan["exit"])


def test_whatever_was_not_chosen_is_there_with_its_reason(plan: dict[str, Any]) -> None:
    rounds = {rejected["round"] for rejected in plan["rejected"]}
    assert rounds == set(range(1, plan["rounds"] + 1))
    assert all(rejected["why"] for rejected in plan["rejected"])
    assert plan["choice"]["reasons"]
    assert plan["rulesAlone"] == plan["choice"], "nobody but the rules argued"


def test_data_goes_to_stdout_and_nothing_else_is_said(recommended: Spoken) -> None:
    assert recommended.words == ""
    assert recommended.out.isascii()


def test_plan_shows_what_was_kept(
    desk: CommandLine, flags: tuple[str, ...], plan: dict[str, Any]
) -> None:
    assert desk("plan", plan["planId"], "--json", *flags).data == plan
    page = desk("plan", plan["planId"], *flags)
    assert page.code == 0
    assert page.out.startswith(plan["planId"])
    assert page.out.splitlines()[1].split()[:2] in (
        ["Keep", f"#{plan['position']}"],
        ["Leave", f"#{plan['position']}"],
        ["Close", f"#{plan['position']}"],
        *([verb, f"#{plan['position']}"] for verb in ("Widen", "Tighten", "Shift")),
    )
    for word in ("KEEP", "CLOSE", "lasts at 3σ", "stays 24 h", "earned back", "judged"):
        assert word in page.out


def test_the_latest_plan_is_shown_when_none_is_named(
    desk: CommandLine, flags: tuple[str, ...], plan: dict[str, Any], devnet: DevnetReady
) -> None:
    healthy = str(positions_by_state(devnet.url)["healthy"])
    streamed = desk("recommend", healthy, "--stream", "--deterministic", *flags, **NO_MODEL)
    assert streamed.code == 0
    speakers = [line.split(" ")[0] for line in streamed.words.splitlines() if "▸" in line]
    assert set(speakers) >= {"scout", "strategist", "critic"}
    assert speakers[0] == "scout"
    latest = desk("plan", "--json", *flags).data
    assert latest["position"] == healthy
    assert latest["planId"] != plan["planId"]
    assert streamed.out.startswith(latest["planId"])
    # What was streamed is the transcript, in its order.
    assert len(latest["transcript"]) == len(speakers)


def test_explain_tells_the_whole_debate(
    desk: CommandLine, flags: tuple[str, ...], plan: dict[str, Any]
) -> None:
    page = desk("explain", plan["planId"], *flags)
    assert page.code == 0
    turns = [line for line in page.out.splitlines() if "▸" in line]
    assert len(turns) == len(plan["transcript"])
    unwrapped = " ".join(page.out.split())
    assert all(screen_words(reason) in unwrapped for reason in plan["choice"]["reasons"])
    assert "HOLD" not in page.out
    assert all(source in unwrapped for source in plan["sources"])
    data = desk("explain", plan["planId"], "--json", *flags).data
    assert data["transcript"] == plan["transcript"]
    assert data["planId"] == plan["planId"]
    roles = {turn["role"] for turn in data["transcript"]}
    assert roles >= {"scout", "strategist", "critic"}


def test_a_replay_matches_with_no_chain_and_no_model(
    desk: CommandLine, plan: dict[str, Any]
) -> None:
    by_id = desk("replay", plan["requestId"], "--json", "--rpc", "http://127.0.0.1:1")
    assert by_id.code == 0, by_id.words
    told = by_id.data
    versions = told.pop("runBy")
    assert told == {
        "requestId": plan["requestId"],
        "verdict": "matches",
        "matches": True,
        "recordHash": plan["recordHash"],
        "planHash": plan["recordHash"],
        "writtenBy": versions,
        "lines": _record(desk, plan).read_bytes().count(b"\n"),
        "complete": True,
        "planId": plan["planId"],
        "firstDifference": None,
    }
    by_path = desk("replay", str(_record(desk, plan)))
    assert by_path.code == 0
    assert f"The replay matches its record, all {told['lines']} lines" in by_path.words
    assert by_path.out.count("▸") == len(plan["transcript"])


def test_create_argues_about_a_new_position(desk: CommandLine, flags: tuple[str, ...]) -> None:
    spoken = desk(
        "create", "0.5 WETH with USDC, conservative, stay long", "--json", *flags, **NO_MODEL
    )
    assert spoken.code == 0, spoken.words
    assert spoken.words.startswith("Understood: 0.5 WETH with USDC")
    plan = spoken.data
    assert plan.keys() >= PLAN_FIELDS
    assert (plan["kind"], plan["position"], plan["exit"]) == ("create", None, None)
    assert plan["profile"] == "conservative"
    assert plan["hold"]["amount0"] == str(5 * 10**17)
    assert {move["kind"] for move in plan["candidates"]} == {"create"}
    for move in plan["candidates"]:
        assert move.keys() >= CANDIDATE_FIELDS
    replayed = desk("replay", plan["requestId"], "--json")
    assert replayed.data["matches"] is True
    page = desk("plan", *flags)
    assert "a new position" in page.out
    assert "EXIT" not in page.out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("recommend", "999999"), 1, "There is no position 999999"),
        (("recommend", "seven"), 2, "not a position's number"),
        (("recommend", "27", "--profile", "yolo"), 2, "invalid choice: 'yolo'"),
        (("create", "0.5 FOO with USDC"), 2, "'FOO'"),
        (("create", "0.5 WETH with USDC, 0.01%"), 1, "No pool found on Embedded chain"),
        (
            ("create", "0.5 WETH with USDC, conservative", "--profile", "aggressive"),
            2,
            "The phrase says conservative, the flag says aggressive",
        ),
        (("plan", "plan_0000000000000000"), 1, "There is no plan 'plan_0000000000000000'"),
        (("plan", "../zuno.db"), 1, "There is no plan"),
        (("explain", "plan_0000000000000000"), 1, "There is no plan"),
        (("replay", "req_0000"), 2, "There is no record 'req_0000'"),
    ],
)
def test_what_cannot_be_done_ends_with_its_code_and_a_sentence(
    desk: CommandLine, flags: tuple[str, ...], arguments: tuple[str, ...], code: int, said: str
) -> None:
    spoken = desk(*arguments, *flags, **NO_MODEL)
    assert spoken.code == code, spoken.words
    assert said in spoken.words
    assert spoken.out == ""
    assert "Traceback" not in spoken.words


def test_an_endpoint_that_is_not_there_is_a_network_failure(desk: CommandLine) -> None:
    spoken = desk("recommend", "27", "--network", "devnet", "--rpc", "http://127.0.0.1:1/v2/CANARY")
    assert spoken.code == 4
    assert "The debate ended at scout" in spoken.words
    assert "CANARY" not in spoken.words
    written = b"".join(path.read_bytes() for path in (desk.home / "records").iterdir())
    assert b"CANARY" not in written


@pytest.mark.parametrize("rounds", ["0", "7"])
def test_rounds_out_of_bounds_are_wrong_usage(
    desk: CommandLine, flags: tuple[str, ...], rounds: str
) -> None:
    spoken = desk("recommend", "27", *flags, ZUNO_MAX_DEBATE_ROUNDS=rounds)
    assert spoken.code == 2
    assert "ZUNO_MAX_DEBATE_ROUNDS" in spoken.words


def test_one_round_is_enough_when_one_is_asked_for(
    desk: CommandLine, flags: tuple[str, ...], plan: dict[str, Any]
) -> None:
    environment = {**NO_MODEL, "ZUNO_MAX_DEBATE_ROUNDS": "1"}
    spoken = desk("recommend", plan["position"], "--json", *flags, **environment)
    assert spoken.data["rounds"] == 1
    assert {rejected["round"] for rejected in spoken.data["rejected"]} == {1}


def test_plans_and_records_are_private(desk: CommandLine, plan: dict[str, Any]) -> None:
    for folder in ("plans", "records"):
        assert stat.S_IMODE((desk.home / folder).stat().st_mode) == 0o700
        for path in (desk.home / folder).iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def _record(desk: CommandLine, plan: dict[str, Any]) -> Path:
    return desk.home / "records" / f"{plan['requestId']}.jsonl"


def test_a_range_of_ones_own_is_judged_beside_hold_and_exit(
    desk: CommandLine, flags: tuple[str, ...], devnet: DevnetReady
) -> None:
    token_id = str(positions_by_state(devnet.url)["above its range"])
    row = next(
        one
        for one in desk("positions", "--json", *flags).data["positions"]
        if str(one["tokenId"]) == token_id
    )
    now = row["price"]

    told = desk("move", token_id, f"{now * 0.8:.4f}", f"{now * 1.25:.4f}", "--json", *flags)

    assert told.code == 0, told.words
    assert len(told.data["candidates"]) == 1
    assert told.data["rounds"] == 1
    assert told.data["hold"] is not None
    assert told.data["exit"] is not None


def test_what_is_no_range_is_refused_before_anything_is_read(
    desk: CommandLine, flags: tuple[str, ...]
) -> None:
    assert desk("move", "7", "cheap", "3300", *flags).code == 2
