"""Flows over the mesh: agents send to each other, and the record is one that replays."""

from pathlib import Path

import pytest

from agents.bus.envelope import CLI, FlowTerms
from agents.bus.worker import BusLimits
from tests.agents.bus.running import assert_replays, run_jury
from tests.fakes.jury import CLERK, EXPERTS, JUDGE, JURY, JuryServices, Parrot, Verdict
from tests.fakes.mesh_wire import Wire, mesh_of

ALL = (CLERK, *EXPERTS, JUDGE)


def looking(request_id: str, terms: FlowTerms) -> JuryServices:
    return JuryServices(Parrot(), lambda role: f"{role} may use {terms.tokens}")


async def test_agents_send_to_each_other_and_the_desk_has_it_on_record(tmp_path: Path) -> None:
    wire = Wire()
    async with mesh_of(JURY, *ALL, services=looking, wire=wire) as remote:
        ran = await run_jury(tmp_path / "record.jsonl", remote=remote)
    assert isinstance(ran.outcome.result, Verdict), ran.outcome.failure
    assert ran.outcome.result.heard == EXPERTS
    senders = {body["from"] for body in ran.record.messages()}
    assert senders == {CLI, *ALL}
    await assert_replays(ran)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.soak)])
async def test_a_way_that_loses_repeats_and_reorders_changes_nothing(
    tmp_path: Path, seed: int
) -> None:
    wire = Wire(seed, drop=0.3, duplicate=0.3, reorder=0.5)
    limits = BusLimits(quiet_seconds=30)
    async with mesh_of(JURY, *ALL, services=looking, wire=wire) as remote:
        ran = await run_jury(tmp_path / "record.jsonl", remote=remote, limits=limits)
    assert isinstance(ran.outcome.result, Verdict), ran.outcome.failure
    await assert_replays(ran)
