"""A debate where no endpoint gives the pool's past: judged by its state, the rest unknown."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from chain.devnet.launch import DevnetReady
from tests.fakes.proxy import Answer, Call, Proxy
from tests.samples import some_of
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.taken_back import desk_at

Habit = Callable[[Call], Answer | None]


def _always(answer: Answer) -> Callable[[Desk], Habit]:
    return lambda _desk: lambda call: answer if call["method"] == "eth_getLogs" else None


def _error(code: int, message: str) -> Callable[[Desk], Habit]:
    return _always({"error": {"code": code, "message": message}})


def _capped(desk: Desk) -> Habit:
    """The first five of whatever is asked for."""

    def answer(call: Call) -> Answer | None:
        if call["method"] != "eth_getLogs":
            return None
        return {"result": desk.ask("eth_getLogs", *call["params"])[:5]}

    return answer


HABITS: dict[str, tuple[Callable[[Desk], Habit], str]] = {
    # bnb-chain/bsc docs-site#621: public endpoints of BNB Chain say so of any eth_getLogs.
    "none at all": (_error(-32005, "limit exceeded"), "does not give these logs"),
    # ethers-io/ethers.js#841, Cloudflare's gateway.
    "of 128 blocks": (
        _error(-32000, "Cloudflare logs are limited to blocks no older than 128 blocks"),
        "the endpoint ",
    ),
    "without the method": (
        _error(-32601, "the method eth_getLogs does not exist/is not available"),
        "does not give these logs",
    ),
    "left out": (_always({"result": []}), "leaves logs out"),
    "left out in part": (_capped, "leaves logs out"),
}


@pytest.mark.parametrize("habit", some_of(((each,) for each in HABITS), 2, seed=44))
def test_hold_and_exit_are_judged_by_state_and_the_rest_is_unknown(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str], habit: str
) -> None:
    answers, why = HABITS[habit]
    with desk_at(devnet, tmp_path, capsys) as desk:
        with Proxy(devnet.url, answers(desk)) as proxy:
            through = replace(desk, rpc=proxy.url)
            plan = through.recommended("near the edge")
            shown = through.here("plan", plan["planId"])
        afterwards = desk.recommended("near the edge")
        fresh = replace(desk, command=CommandLine(tmp_path / "fresh"))
        known = fresh.recommended("near the edge")

    [pool] = plan["pools"]
    assert pool["edge7d"] is None
    assert plan["choice"]["kind"] in ("hold", "exit")
    assert plan["hold"] is not None
    assert plan["exit"] is not None
    assert plan["sources"]["fee rate of 7 d"].startswith("unknown: the endpoint ")
    assert why in plan["sources"]["edge of 7 d"]
    assert why in " ".join(shown.out.split())
    # Nothing of it was kept: an honest endpoint is asked for all of it.
    assert afterwards["planId"] == known["planId"]
    assert afterwards["pools"][0]["edge7d"] is not None


@pytest.mark.parametrize("habit", ["left out", "left out in part"])
def test_what_one_endpoint_leaves_out_is_read_from_another(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str], habit: str
) -> None:
    answers, _ = HABITS[habit]
    with desk_at(devnet, tmp_path, capsys) as desk:
        with Proxy(devnet.url, answers(desk)) as liar, Proxy(devnet.url) as honest:
            plan = replace(desk, rpc=f"{liar.url},{honest.url}").recommended("near the edge")
        fresh = replace(desk, command=CommandLine(tmp_path / "fresh")).recommended("near the edge")

    assert honest.asked["eth_getLogs"] > 0
    assert plan["planId"] == fresh["planId"]


@pytest.mark.parametrize("habit", some_of(((habit,) for habit in HABITS), 1, seed=1))
def test_what_rests_on_logs_is_unknown_and_everything_else_is_shown(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str], habit: str
) -> None:
    answers, _ = HABITS[habit]
    with desk_at(devnet, tmp_path, capsys) as desk:
        token_id = str(desk.token_id("near the edge"))
        with Proxy(devnet.url, answers(desk)) as proxy:
            through = replace(desk, rpc=proxy.url)
            listed = through.here("positions", "--since-entry", "--json")
            inspected = through.here("inspect", token_id)
            earned = through.here("earned")
        honest = desk.here("inspect", token_id)

    assert listed.code == 0, listed.words
    assert listed.data["positions"]
    assert inspected.code == 0, inspected.words
    assert "less LVR unknown" in inspected.out
    assert "less LVR unknown" not in honest.out
    assert earned.code == 0, earned.words
    assert "net unknown" in earned.out
    assert f"#{token_id} (the endpoint " in earned.out


@pytest.mark.parametrize("habit", ["left out", "left out in part"])
def test_history_tells_no_result_where_logs_are_left_out(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str], habit: str
) -> None:
    answers, _ = HABITS[habit]
    with desk_at(devnet, tmp_path, capsys) as desk:
        with Proxy(devnet.url, answers(desk)) as liar, Proxy(devnet.url) as honest:
            alone = replace(desk, rpc=liar.url)
            told = alone.here("history", "--json")
            shown = alone.here("history")
            beside = replace(desk, command=CommandLine(tmp_path / "two"))
            both = replace(beside, rpc=f"{liar.url},{honest.url}").here("history", "--json")
        # The same home, and one that never heard the liar.
        afterwards = desk.here("history", "--json")
        fresh = replace(desk, command=CommandLine(tmp_path / "fresh")).here("history", "--json")

    true = {story["story"]: story["profit"] for story in fresh.data["stories"]}
    unlike = [
        story for story in told.data["stories"] if story["profit"] != true.get(story["story"])
    ]
    assert unlike
    for story in unlike:
        assert story["profit"] is None
        assert "leaves logs out" in story["unknown"]["profit"]
    assert not told.data["whole"]
    assert "The endpoint leaves logs out: the result of #" in " ".join(shown.out.split())
    assert both.data == afterwards.data == fresh.data
    assert fresh.data["whole"]


def _sometimes_none(logs: list[Any], chance: Random) -> list[Any]:
    return [] if chance.random() < 0.3 else logs


def _late(logs: list[Any], chance: Random) -> list[Any]:
    """The last blocks' are not there yet."""
    last = max((int(log["blockNumber"], 16) for log in logs), default=0)
    return [log for log in logs if int(log["blockNumber"], 16) < last - chance.randint(0, 8)]


OMISSIONS: dict[str, Callable[[list[Any], Random], list[Any]]] = {
    "empty": lambda _logs, _chance: [],
    "capped": lambda logs, chance: logs[: chance.randint(1, 60)],
    "random": _sometimes_none,
    "late": _late,
}
STATES = ("near the edge", "underpaid", "transferred in", "dynamic fee", "above its range")
SLICES, SEEDS = 6, 60


def _advice(plan: dict[str, Any]) -> tuple[object, ...]:
    choice = plan["choice"]
    return choice["kind"], choice["index"], choice["codes"], plan["verdict"], plan["regime"]


@pytest.mark.soak
@pytest.mark.parametrize("part", range(SLICES))
@pytest.mark.parametrize("omission", OMISSIONS)
def test_after_logs_were_left_out_the_advice_is_a_fresh_homes(
    devnet: DevnetReady,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    omission: str,
    part: int,
) -> None:
    """Told once by an endpoint that leaves logs out, then by an honest one, on one home."""
    unknown = 0
    with desk_at(devnet, tmp_path, capsys) as desk:
        fresh = {
            state: replace(desk, command=CommandLine(tmp_path / state)).recommended(state)
            for state in STATES
        }
        for seed in range(part, SEEDS, SLICES):
            chance, state = Random(seed), STATES[seed % len(STATES)]

            def answer(call: Call, chance: Random = chance) -> Answer | None:
                if call["method"] != "eth_getLogs":
                    return None
                logs = desk.ask("eth_getLogs", *call["params"])
                return {"result": OMISSIONS[omission](logs, chance)}

            home = replace(desk, command=CommandLine(tmp_path / f"home-{seed}"))
            with Proxy(devnet.url, answer) as liar:
                poisoned = replace(home, rpc=liar.url).recommended(state)
            unknown += poisoned["pools"][0]["edge7d"] is None
            honest = home.recommended(state)
            assert _advice(honest) == _advice(fresh[state]), (seed, state)
            told, true = honest["pools"][0]["edge7d"], fresh[state]["pools"][0]["edge7d"]
            assert told == pytest.approx(true, rel=1e-2), (seed, state)
    assert omission not in ("empty", "capped") or unknown > 0
