"""The desk with a mesh: where a debate runs and who speaks, and what happens when peers do not."""

import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agents.bus.bus import FlowSpec
from agents.bus.envelope import Envelope, Role
from agents.bus.replay import read_record
from agents.bus.worker import HandlerContext, Outgoing
from agents.lp.debate import LP_FLOW
from agents.lp.payloads import ARBITER, CRITIC, PlanReady
from agents.lp.plan import Plan, plan_identity
from agents.mesh.gathering import GATHER_SECONDS
from agents.numbers.rules import JudgmentVerdict
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from tests.agents.mesh.wired import WiredMesh
from tests.fakes.mesh_wire import Wire
from tests.zuno_tui.desk.conftest import Node
from tests.zuno_tui.desk.sitting import Sitting, opening, sitting
from zuno_tui.app import debate_setup as held
from zuno_tui.app.debate_setup import SECOND
from zuno_tui.desk.context import DeskOpening
from zuno_tui.desk.events import (
    DebateChanged,
    PageReady,
    PlanChanged,
    Said,
    StatusChanged,
    TurnEnded,
)
from zuno_tui.features.mesh.commands.mesh import ShowMesh
from zuno_tui.intents.intents import Recommend

ROLES = ("scout", "strategist", "critic", "arbiter")


@pytest.fixture
def token_id(node: Node) -> int:
    found: int = node("zuno_status")["positions"]["healthy"]
    return found


@pytest.fixture
def mesh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WiredMesh:
    made = WiredMesh(tmp_path / "home", Wire())
    made.carry(monkeypatch)
    return made


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person waits by these; a loaded machine may take longer to answer."""
    assert GATHER_SECONDS <= 5
    assert 2 * held._QUIET_ELSEWHERE <= 10
    monkeypatch.setattr("agents.mesh.gathering.GATHER_SECONDS", 40.0)
    monkeypatch.setattr("zuno_tui.features.mesh.mesh._SECONDS", 40.0)
    monkeypatch.setattr("zuno_tui.app.debate_setup._QUIET_ELSEWHERE", 30.0)


def at_desk(mesh: WiredMesh, devnet: DevnetReady, transport: str | None = None) -> DeskOpening:
    return replace(opening(mesh.folder("desk").parent, devnet.url), transport=transport)


def last_place(desk: Sitting) -> str:
    return desk.heard_last(DebateChanged).view.place


def mesh_words(desk: Sitting) -> list[str]:
    """What the status line said of the mesh, each once, in order."""
    return list(dict.fromkeys(event.view.mesh for event in desk.all_heard(StatusChanged)))


async def test_a_debate_over_the_mesh_says_who_speaks_from_where(
    mesh: WiredMesh, devnet: DevnetReady, token_id: int
) -> None:
    async with mesh.agents(devnet.url), sitting(at_desk(mesh, devnet)) as desk:
        await desk.ask(Recommend(v4_position(token_id)))
        await desk.until(PlanChanged, lambda told: told.view is not None)
        await desk.desk.idle()
        await desk.ask(ShowMesh())
        page = await desk.until(PageReady)
    place = last_place(desk)
    assert place.startswith("over axl: ")
    assert all(f"{role} " in place for role in ROLES)
    assert mesh_words(desk)[-2:] == [
        "axl mesh, not asked yet",
        "axl: scout, strategist, critic, arbiter",
    ]
    assert desk.heard_last(StatusChanged).view.mesh_at is not None
    debate = desk.heard_last(DebateChanged).view
    record = read_record(mesh.folder("desk").parent / "records" / f"{debate.request_id}.jsonl")
    peers = record.inputs()["agents"]
    assert isinstance(peers, dict)
    assert all(peer in place for peer in peers.values())
    assert "4 of 4 peers answer" in page.lines[0]


def retold(role: Role, retell: Callable[[Plan], Plan]) -> FlowSpec[Any]:
    """The agent of this role signs another plan than the debate came to."""
    honest = LP_FLOW.handlers[role]

    async def handler(
        envelope: Envelope, context: HandlerContext[Any]
    ) -> AsyncGenerator[Outgoing, None]:
        async for said in honest(envelope, context):
            if isinstance(said.payload, PlanReady):
                yield said._replace(payload=PlanReady(plan=retell(said.payload.plan)))
            else:
                yield said

    return replace(LP_FLOW, handlers={**LP_FLOW.handlers, role: handler})


def for_another(plan: Plan) -> Plan:
    lied = plan.model_copy(update={"owner": "0x" + "bb" * 20})
    return lied.model_copy(update={"plan_id": plan_identity(lied)})


def vetoing(plan: Plan) -> Plan:
    """By a Critic who likes nothing."""
    against = {"verdict": JudgmentVerdict.VETO, "reason": "too thin a pool"}
    moves = [
        one.model_copy(update={"judgment": one.judgment.model_copy(update=against)})
        for one in plan.candidates
        if one.judgment is not None
    ]
    return plan.model_copy(update={"candidates": tuple(moves)})


async def test_a_lie_that_a_pinned_peer_signed_never_reaches_the_card(
    mesh: WiredMesh, devnet: DevnetReady, token_id: int
) -> None:
    liar = {"critic": retold(CRITIC, for_another), "arbiter": retold(ARBITER, for_another)}
    async with mesh.agents(devnet.url, specs=liar), sitting(at_desk(mesh, devnet)) as desk:
        await desk.ask(Recommend(v4_position(token_id)))
        told = await desk.until(Said, lambda said: said.tone == "bad")
        await desk.desk.idle()
    assert "refused" in told.words
    assert not desk.all_heard(PlanChanged)
    assert not list((mesh.folder("desk").parent / "plans").glob("*.json"))


async def test_of_two_critics_both_are_heard_and_the_stricter_counts(
    tmp_path: Path, devnet: DevnetReady, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh = WiredMesh(tmp_path / "home", Wire(), critics=2)
    mesh.carry(monkeypatch)
    moving = v4_position(node("zuno_status")["positions"]["below its range"])
    async with (
        mesh.agents(devnet.url, specs={"critic-2": retold(CRITIC, vetoing)}),
        sitting(at_desk(mesh, devnet, "mesh")) as desk,
    ):
        await desk.ask(Recommend(moving))
        await desk.until(PlanChanged, lambda told: told.view is not None)
        await desk.desk.idle()
    [kept] = (mesh.folder("desk").parent / "plans").glob("plan_*.json")
    document = json.loads(kept.read_bytes())
    assert document["choice"]["kind"] == "move"
    assert document["verdict"] == "approve_with_caution"
    verdicts = {one["judgment"]["verdict"] for one in document["candidates"]}
    assert verdicts == {"veto"}
    reasons = [one["judgment"]["reason"] for one in document["candidates"]]
    assert any("critic-2" in reason and "too thin a pool" in reason for reason in reasons)
    spoken = [turn["text"] for turn in document["transcript"] if turn["role"] == "critic"]
    assert [text.startswith("critic-2 ") for text in spoken].count(True) >= 1
    assert not spoken[0].startswith("critic-2 ")
    assert document["transcript"][-1]["tag"] == SECOND
    assert any("critic-2" in heard.turn.text for heard in desk.all_heard(TurnEnded))
