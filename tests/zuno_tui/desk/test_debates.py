"""Debates at the desk: heard as they run, ended when asked, replayed from their record."""

import json
import re
import threading
from pathlib import Path

from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from tests.agents.lp.honest_model import honest
from tests.fakes.model_endpoint import fails, model_endpoint, says
from tests.fakes.model_servers import hosted
from tests.fakes.model_servers.shapes import THINKING
from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import opening, sitting
from zuno_tui.desk.events import (
    DebateChanged,
    PlanChanged,
    PositionsChanged,
    ProseHeard,
    RecordsReady,
    Said,
    ThinkingHeard,
    TurnEnded,
)
from zuno_tui.intents.intents import (
    Cancel,
    CreatePosition,
    ExplainPlan,
    Recommend,
    Replay,
    Show,
    ShowPlan,
)


async def test_a_debate_can_be_ended_while_it_runs(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    answers = threading.Event()
    answers.set()

    def answer(_: Call) -> Answer | None:
        answers.wait()
        return None

    with Proxy(devnet.url, answer) as proxy:
        async with sitting(opening(tmp_path, proxy.url)) as desk:
            await desk.until(PositionsChanged, lambda told: bool(told.view.rows))
            await desk.desk.idle()
            answers.clear()
            await desk.ask(Recommend(token_id))
            await desk.until(DebateChanged)
            await desk.ask(Recommend(token_id))
            twice = desk.heard_last(Said)
            await desk.ask(Cancel("debate"))
            ended = await desk.until(DebateChanged, lambda told: told.view.ended is not None)
            # Not before: it ended while the chain still owed its answers.
            answers.set()

    assert "still running" in twice.words
    assert ended.view.ended == "It was ended before there was a plan."
    assert not desk.all_heard(PlanChanged)


async def test_a_models_words_are_heard_before_its_turn_ends(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    async with model_endpoint(says(honest, size=12, pause=0.02)) as endpoint:
        model = {"OPENAI_API_KEY": "sk-canary", "OPENAI_BASE_URL": endpoint.url}
        async with sitting(opening(tmp_path, devnet.url, model=model)) as desk:
            await desk.ask(Recommend(token_id))
            ended = await desk.until(DebateChanged, lambda told: told.view.ended is not None)

    pieces = desk.all_heard(ProseHeard)
    assert pieces
    assert all("[" not in piece.text for piece in pieces)
    said = " ".join(turn.text for turn in ended.view.turns)
    assert pieces[0].text.strip() in said
    assert any(turn.sourced for turn in ended.view.turns)
    assert "sk-canary" not in str(desk.heard)


async def test_that_a_model_thinks_is_heard_and_what_it_thinks_is_not(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["below its range"])
    async with model_endpoint(hosted.deepseek) as endpoint:
        model = {"OPENAI_API_KEY": "sk-canary", "OPENAI_BASE_URL": endpoint.url}
        async with sitting(opening(tmp_path, devnet.url, model=model)) as desk:
            await desk.ask(Recommend(token_id))
            await desk.until(PlanChanged)

    assert {told.role for told in desk.all_heard(ThinkingHeard)} >= {"scout", "strategist"}
    assert THINKING[:20] not in str(desk.heard)


async def test_without_the_model_the_rules_speak_and_it_is_said(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    async with model_endpoint(fails(503)) as endpoint:
        model = {"OPENAI_API_KEY": "sk-canary", "OPENAI_BASE_URL": endpoint.url}
        async with sitting(opening(tmp_path, devnet.url, model=model)) as desk:
            await desk.ask(Recommend(token_id))
            plan = await desk.until(PlanChanged)

    assert plan.view is not None
    assert any("The rules speak instead." in said.words for said in desk.all_heard(Said))


async def test_a_record_is_listed_and_heard_again(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(Recommend(token_id))
        await desk.desk.idle()
        first = desk.heard_last(DebateChanged).view
        await desk.ask(Show("records"))
        rows = (await desk.until(RecordsReady)).rows
        turns = len(desk.all_heard(TurnEnded))
        await desk.ask(Replay(rows[0].request_id))
        await desk.desk.idle()
        again = desk.heard_last(DebateChanged).view

    assert [(row.request_id, row.subject) for row in rows] == [
        (first.request_id, f"position #{token_id}")
    ]
    assert again.turns == first.turns
    assert "matches its record" in (again.ended or "")
    assert len(desk.all_heard(TurnEnded)) == turns


async def test_a_plan_tells_its_records_hash_and_whether_it_was_edited(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = v4_position(node("zuno_status")["positions"]["healthy"])
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(Recommend(token_id))
        await desk.desk.idle()
        (kept,) = (tmp_path / "plans").iterdir()
        document = json.loads(kept.read_text())
        await desk.ask(ExplainPlan())
        why = desk.heard_last(DebateChanged).view
        since = len(desk.heard)
        await desk.ask(ShowPlan())
        unedited = [event for event in desk.heard[since:] if isinstance(event, Said)]
        kept.write_text(json.dumps({**document, "block": document["block"] + 1}))
        await desk.ask(ShowPlan())
        edited = desk.heard_last(Said)

    assert document["recordHash"] in (why.ended or "")
    # Its outcome is what is advised, and no hash.
    assert re.match(r"why: (Keep|Close|Widen|Tighten|Shift) #\d+", why.subject)
    assert (why.ended or "").startswith(why.subject.removeprefix("why: "))
    assert why.from_start
    assert [event for event in unedited if event.tone == "bad"] == []
    assert edited.tone == "bad"
    assert document["planId"] in edited.words


async def test_a_new_position_is_argued_about_in_prices(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    async with sitting(opening(tmp_path, devnet.url)) as desk:
        await desk.ask(CreatePosition("1 WETH/USDC 0.05%", "conservative"))
        told = await desk.until(PlanChanged)

    assert told.view is not None
    assert told.view.ref is None
    move = told.view.options[1]
    assert float(move.low.replace(",", "")) < float(move.high.replace(",", ""))
