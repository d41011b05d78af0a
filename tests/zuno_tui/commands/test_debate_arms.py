"""`zuno debate-check --arms …` on the embedded chain: written down first, kept, gone on with."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.scorecard.arms import Arm, ArmAnswer, ChosenForm, TakenRange
from chain.base.strict_json import canonical, digest
from chain.base.units import DAY
from chain.devnet.launch import DevnetReady
from chain.devnet.world.pools import POOLS
from tests.agents.lp.honest_model import honest
from tests.agents.monitor.walked_market import WalkedPool
from tests.chain.moves import Moves
from tests.fakes.model_endpoint import ChatRequest, says
from tests.fakes.model_in_a_thread import model_in_a_thread
from zuno_tui.cli import main
from zuno_tui.features.lab.debate_arms import ArmsOptions, over_budget
from zuno_tui.present.exit_codes import DONE, FAILED, USAGE

Zuno = Callable[..., tuple[int, Any, str]]

ARMS = ("--arms", "rules,one,vote,self,debate,noise", "--days", "1", "--times", "1")


def deciding(request: ChatRequest) -> dict[str, object]:
    if request.reply_name != "AloneReply":
        return honest(request)
    words = "A little wider than the rules, for 99 h, is what I would do."
    return {"rationale": words, "choice": "move", "widthMultiplier": 1.2, "staysDay": 0.9}


@pytest.fixture
def zuno(
    devnet: DevnetReady,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Zuno:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(*arguments: str, **environment: str) -> Any:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        chain = ("--network", "devnet", "--rpc", devnet.url)
        code = main(["--home", str(tmp_path / "home"), *chain, *arguments, "--json"])
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out else None, said.err

    return run


def test_arms_are_written_down_judged_by_what_followed_and_gone_on_with(
    zuno: Zuno, moves: Moves, tmp_path: Path
) -> None:
    status = moves.rpc("zuno_status")["positions"]
    code, plan, words = zuno("recommend", str(status["below its range"]), "--deterministic")
    assert code == DONE, words
    pool = next(one for one in POOLS if one.key.pool_id == plan["pools"][0]["poolId"])
    walked = WalkedPool(moves, pool.key)
    for part in range(1, 5):
        moves.rpc("evm_setNextBlockTimestamp", plan["time"] + part * DAY // 3)
        walked.push(12 * part)
    with model_in_a_thread(says(deciding, size=200)) as environment:
        later = ("--days", "9")
        code, told, words = zuno("debate-check", *ARMS[:2], *later, **environment)
        assert (code, told["situations"]) == (FAILED, 0)
        assert "days are not over" in words
        code, few, words = zuno("debate-check", *ARMS, "--tokens", "1", **environment)
        assert code == FAILED
        assert "1 tokens are used" in words
        assert few["situations"] == 0
        code, told, words = zuno("debate-check", *ARMS, **environment)
        assert code == DONE, words
        assert told["protocol"] == few["protocol"]
        again = zuno("debate-check", *ARMS, "--tokens", "1", **environment)[1]
    assert again == told
    folder = tmp_path / "home" / "checks" / told["protocol"][:16]
    protocol = (folder / "protocol.json").read_bytes()
    assert digest(protocol) == told["protocol"]
    assert canonical(json.loads(protocol)) == protocol
    answers = [json.loads(line) for line in (folder / "answers.jsonl").read_bytes().splitlines()]
    assert {one["protocol"] for one in answers} == {told["protocol"]}
    assert [one["answer"]["arm"] for one in answers] == [
        "rules", "debate", "noise", "one", "vote", "self"
    ]  # fmt: skip
    arms = told["arms"]
    assert arms["rules"]["overRules"] == {"mean": 0.0, "low": None, "high": None}
    for name in ("one", "vote", "self"):
        assert arms[name]["asSaid"]["mean"] is not None
        assert arms[name]["falseNumbers"]["count"] == arms[name]["questions"]
    (folder / "protocol.json").write_bytes(protocol + b" ")
    code, _, words = zuno("debate-check", *ARMS, **environment)
    assert code == USAGE
    assert "was changed since its run began" in words


def test_arms_nobody_knows_are_refused(zuno: Zuno) -> None:
    for wrong in ("one,vote", "rules,two", ""):
        with pytest.raises(SystemExit) as ended:
            zuno("debate-check", "--arms", wrong)
        assert ended.value.code == USAGE


def answered_for(tokens: int, nano_usd: int | None) -> ArmAnswer:
    taken = TakenRange("hold", "0xpool", None, None, "0", 0.0)
    form = ChosenForm("hold")
    return ArmAnswer("req", Arm.ONE, 0, taken, taken, form, None, tokens=tokens, nano_usd=nano_usd)


@pytest.mark.parametrize(
    ("tokens", "nano_usd", "answers", "words"),
    [
        (1_000, None, [], ""),
        (1_000, None, [(300, 5), (400, 5)], "700 of 1,000 tokens are used"),
        (1_200, None, [(300, 5), (400, 5)], ""),
        (10**6, 14, [(300, 5), (400, 5)], "$0.0000 of $0.0000 are spent"),
        (10**6, 15, [(300, 5), (400, 5)], ""),
        (10**6, 15, [(300, None)], "price is unknown"),
    ],
)
def test_a_run_stops_before_the_next_answer_could_pass_its_budget(
    tokens: int, nano_usd: int | None, answers: list[tuple[int, int | None]], words: str
) -> None:
    options = ArmsOptions((Arm.RULES, Arm.ONE), 1, 7, tokens, nano_usd)
    stop = over_budget([answered_for(*one) for one in answers], options)
    assert bool(stop) is bool(words)
    assert words in stop
