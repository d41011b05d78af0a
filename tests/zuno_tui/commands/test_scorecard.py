"""`zuno scorecard`, and the line it adds under a plan."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents.bus.plan_store import PlanStore
from agents.lp import FLOW
from agents.lp.plan import Plan, plan_identity
from agents.scorecard.score import AdviceKind, ScoreStore
from agents.scorecard.track_record import record_of
from chain.base.store import Store
from chain.devnet.launch import DevnetReady
from chain.execution.outbox.outbox import Outbox
from tests import node_rpc
from tests.agents.lp.made_up import Market
from tests.agents.lp.one_round import concluded, judged
from tests.agents.scorecard.test_summary import scored
from tests.zuno_tui.gate.test_results import include, sent
from zuno_tui.catalog.registry import command_named
from zuno_tui.cli import main
from zuno_tui.features.lab.commands.scorecard import ShowScorecard
from zuno_tui.present.exit_codes import DONE, NETWORK

NOBODY = ("--network", "devnet", "--rpc", "http://127.0.0.1:9")


def made(**changes: object) -> Plan:
    context = Market(sigma=0.03).position()
    plan = concluded(context, judged(context)).model_copy(update=changes)
    return plan.model_copy(update={"plan_id": plan_identity(plan)})


def keep(home: Path, plan: Plan) -> None:
    document = plan.model_dump(mode="json", by_alias=True)
    PlanStore(home / "plans").keep({**document, "flow": FLOW, "budget": None, "transcript": []})


def keep_scores(home: Path) -> None:
    home.mkdir(mode=0o700)
    store, _ = Store.open(home / "zuno.db", now=0.0)
    with store:
        parts = (0.02, -0.01, 0.03)
        scores = [
            scored(one, part, kind=kind, days=days)
            for kind in (AdviceKind.MOVE, AdviceKind.HOLD)
            for days in (1, 7)
            for one, part in enumerate(parts, start=10 * (kind is AdviceKind.HOLD))
        ]
        ScoreStore(store, 31337, lambda: 0.0).keep(scores)


def asked(capsys: pytest.CaptureFixture[str], *words: str, code: int = DONE) -> Any:
    assert main([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_an_empty_home_has_one_sentence_and_asks_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    assert main(["--home", str(home), *NOBODY, "scorecard"]) == DONE
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == 1
    assert "zuno recommend" in told.out
    assert not home.exists()
    document = asked(capsys, "--home", str(home), *NOBODY, "scorecard")
    assert (document["plans"], document["advice"], document["scores"]) == (0, [], [])


def test_plans_are_told_as_not_yet_elsewhere_or_damaged(
    tmp_path: Path, devnet: DevnetReady, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    head = node_rpc.ask(devnet.url, "eth_getBlockByNumber", "latest", False)
    time, block = int(head["timestamp"], 16), int(head["number"], 16)
    young = made(time=time, block=block, block_hash=head["hash"])
    strange = made(time=time - 40 * 86_400)
    elsewhere = made(chain_id=1)
    for plan in (young, strange, elsewhere):
        keep(home, plan)
    (home / "plans" / f"plan_{'c' * 16}.json").write_text("no plan", "utf-8")
    flags = ("--home", str(home), "--network", "devnet", "--rpc", devnet.url)
    document = asked(capsys, *flags, "scorecard")
    assert [(one["planId"], one["days"]) for one in document["notYet"]] == [
        (young.plan_id, days) for days in (1, 7, 30)
    ]
    assert {one["planId"]: one["code"] for one in document["skipped"]} == {
        strange.plan_id: "not_on_chain",
        elsewhere.plan_id: "other_network",
        f"plan_{'c' * 16}": "damaged",
    }
    assert document["scores"] == []
    assert main([*flags, "scorecard"]) == DONE
    assert young.plan_id in capsys.readouterr().out


def test_what_was_judged_is_told_even_where_nobody_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    keep_scores(home)
    document = asked(capsys, "--home", str(home), *NOBODY, "scorecard", code=NETWORK)
    advice = {(one["kind"], one["days"]): one for one in document["advice"]}
    assert advice["move", 7]["hold"]["beat"] == 2
    assert advice["move", 7]["hold"]["judged"] == 3
    assert advice["hold", 7]["exit"] == {
        "beat": 3,
        "judged": 3,
        "median": pytest.approx(0.005),
        "medianUsd": pytest.approx(10.0),
        "moreNeeded": 0,
    }
    assert main(["--home", str(home), *NOBODY, "scorecard"]) == NETWORK
    lines = capsys.readouterr().out.splitlines()
    assert any("2 of 3" in line and line.startswith("move") for line in lines)


def test_it_tells_which_were_applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of three moves one succeeded, one was signed only and one was left alone."""
    home = tmp_path / "home"
    keep_scores(home)
    applied, signed, alone = (f"plan_{number:016x}" for number in range(3))
    with Outbox.open(home / "outbox.db") as outbox:
        include(outbox, sent(outbox, applied, 0))
        sent(outbox, signed, 1)
    document = asked(capsys, "--home", str(home), *NOBODY, "scorecard", code=NETWORK)
    counted = {(one["kind"], one["days"]): one["applied"] for one in document["advice"]}
    assert (counted["move", 1], counted["move", 7]) == (1, 1)
    assert counted["hold", 7] is None, "there is nothing to apply"
    told = {one["planId"]: one["applied"] for one in document["scores"] if one["kind"] == "move"}
    assert told == {applied: True, signed: False, alone: False}
    assert {one["applied"] for one in document["scores"] if one["kind"] == "hold"} == {None}


def test_a_plan_says_how_those_like_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    keep_scores(home)
    plan = made()
    assert plan.choice.kind == "hold"
    keep(home, plan)
    flags = ("--home", str(home), "--network", "devnet")
    told = asked(capsys, *flags, "plan")
    assert told["trackRecord"] == {
        "kind": "hold",
        "days": 7,
        "beat": 3,
        "judged": 3,
        "against": "closing",
    }
    kept = json.loads((home / "plans" / f"{plan.plan_id}.json").read_bytes())
    assert "trackRecord" not in kept
    assert main([*flags, "plan"]) == DONE
    assert "3 of 3 such plans to keep it beat closing after 7 days." in capsys.readouterr().out


def test_a_kind_nobody_judged_has_no_record_and_a_week_is_preferred() -> None:
    scores = [scored(1, 0.1, days=1), scored(2, 0.1, days=1), scored(3, 0.1)]
    found = record_of(AdviceKind.MOVE, scores)
    assert found is not None
    assert (found.days, found.beaten.judged) == (7, 1)
    early = record_of(AdviceKind.MOVE, scores[:2])
    assert early is not None
    assert (early.days, early.beaten.judged) == (1, 2)
    assert record_of(AdviceKind.EXIT, scores) is None
    assert record_of(AdviceKind.MOVE, [scored(1, None)]) is None


def test_it_can_be_said_and_is_offered() -> None:
    command = command_named("scorecard")
    assert command is not None
    assert [verb.name for verb in command.verbs] == ["scorecard"]
    assert "track record" in command.verbs[0].spoken
    assert ShowScorecard().twin == "zuno scorecard"
