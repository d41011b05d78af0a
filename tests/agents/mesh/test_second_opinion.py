"""Two Critics of different owners: both are heard, and the stricter counts."""

import time
from pathlib import Path

import pytest

from agents.bus.record import MemorySink, RecordWriter
from agents.bus.replay import read_record
from agents.bus.run import Listener
from agents.bus.worker import Ambient, BusLimits
from agents.lp.payloads import CRITIC, Proposal
from agents.lp.plan import Plan
from agents.lp.rebuild import (
    SECOND_OPINION,
    CriticJudged,
    ask_second_critic,
    last_proposal,
    stricter_plan,
)
from agents.lp.services import DebateServices
from agents.numbers.rules import JudgmentVerdict
from chain.base.clean_text import Redactor
from tests.agents.lp.debating import Seen, argue_over
from tests.agents.lp.made_up import Market
from tests.fakes.mesh_wire import mesh_of

OUTSIDE = Market(0.03, 2.0, half_width=0.05, off_centre=2.5).position()


async def argued(folder: Path) -> tuple[Plan, Proposal]:
    done = await argue_over(OUTSIDE)
    path = folder / "record.jsonl"
    path.write_bytes(done.record)
    proposal = last_proposal(read_record(path))
    assert proposal is not None
    return done.plan, proposal


def verdicts(plan: Plan) -> tuple[JudgmentVerdict, ...]:
    return tuple(one.judgment.verdict for one in plan.candidates if one.judgment is not None)


async def test_a_stricter_second_critic_counts_and_is_named(tmp_path: Path) -> None:
    plan, proposal = await argued(tmp_path)
    assert plan.choice.kind == "move"
    count = len(plan.candidates)
    vetoes = CriticJudged(
        verdicts=(JudgmentVerdict.VETO,) * count, reasons=("too thin a pool",) * count
    )
    stricter = stricter_plan(proposal, plan, vetoes, "critic-2 0a1b2c3d")
    assert stricter is not None
    # The rules' plan stays: who would not make it is heard, and asks for caution.
    assert (stricter.choice.kind, stricter.verdict) == ("move", "approve_with_caution")
    assert "too thin a pool" in stricter.choice.reasons[-1]
    assert stricter.plan_id != plan.plan_id
    assert set(verdicts(stricter)) == {JudgmentVerdict.VETO}
    hardened = [one is not JudgmentVerdict.VETO for one in verdicts(plan)]
    said = [one.judgment.reason for one in stricter.candidates if one.judgment is not None]
    assert any(hardened)
    assert ["critic-2" in words for words in said] == hardened


@pytest.mark.parametrize("laxer", [True, False], ids=["laxer", "alike"])
async def test_a_second_critic_who_is_nowhere_stricter_changes_nothing(
    tmp_path: Path, laxer: bool
) -> None:
    plan, proposal = await argued(tmp_path)
    first = verdicts(plan)
    said = tuple(JudgmentVerdict.ACCEPT if laxer else one for one in first)
    second = CriticJudged(verdicts=said, reasons=("fine",) * len(first))
    assert stricter_plan(proposal, plan, second, "critic-2") is None


@pytest.mark.parametrize("spoken", [0, 1])
async def test_a_second_critic_who_says_too_little_loosens_nothing(
    tmp_path: Path, spoken: int
) -> None:
    plan, proposal = await argued(tmp_path)
    short = CriticJudged(verdicts=(JudgmentVerdict.VETO,) * spoken, reasons=())
    stricter = stricter_plan(proposal, plan, short, "critic-2")
    if not spoken:
        assert stricter is None
        return
    assert stricter is not None
    assert verdicts(stricter) == (JudgmentVerdict.VETO, *verdicts(plan)[1:])


async def test_a_second_critic_is_asked_over_the_mesh(tmp_path: Path) -> None:
    plan, proposal = await argued(tmp_path)
    eyes = Seen(OUTSIDE)
    async with mesh_of(
        SECOND_OPINION, CRITIC, services=lambda _request, _terms: DebateServices(eyes, None)
    ) as remote:
        heard = await ask_second_critic(
            proposal,
            eyes,
            RecordWriter(MemorySink(), "req_2", {}, Redactor(), flow="lp"),
            remote,
            ambient=Ambient(time.time, lambda: "req_2"),
            request_id="req_2",
            limits=BusLimits(),
            tokens=None,
            listener=Listener(),
        )
    assert heard is not None
    assert heard.verdicts == verdicts(plan)
