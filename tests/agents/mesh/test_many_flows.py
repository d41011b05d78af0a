"""A bad way and agents that are killed and started anew: every flow ends, and none wrongly."""

import asyncio
import random
import sys
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agents.bus.envelope import FailureCause, Role
from agents.bus.worker import BusLimits
from tests.agents.bus.running import run_jury
from tests.agents.mesh.test_mesh_flows import ALL, looking
from tests.fakes.jury import EXPERTS, JURY, Verdict
from tests.fakes.mesh_wire import Wire, agent_on, desk_on, new_members

LIMITS = BusLimits(quiet_seconds=5, deadline_seconds=40)
NAMED = {
    *(FailureCause.LOST, FailureCause.CRASHED),
    *(FailureCause.DEADLINE, FailureCause.REFUSED),
}
RIGHT = Verdict(total=sum(map(len, EXPERTS)), heard=EXPERTS)
AT_ONCE = 10


async def one_flow(path: Path, number: int) -> str:
    """One request over a way that loses a third, in which one agent is killed at some moment."""
    chance = random.Random(number)
    wire = Wire(number, drop=0.3, duplicate=0.2, reorder=0.4, queue=100)
    members = new_members(ALL)
    killed = chance.choice(ALL)
    async with AsyncExitStack() as stack, AsyncExitStack() as mortal:
        for role in ALL:
            place = mortal if role == killed else stack
            await place.enter_async_context(agent_on(wire, members, JURY, role, looking))
        remote = await stack.enter_async_context(desk_on(wire, members, JURY, *ALL))
        running = asyncio.create_task(run_jury(path, remote=remote, limits=LIMITS))
        # From before the start was heard to after the end.
        await asyncio.sleep(chance.uniform(0, 2.5))
        await mortal.aclose()
        await stack.enter_async_context(agent_on(wire, members, JURY, killed, looking))
        ran = await asyncio.wait_for(running, 90)
    return judged(ran.outcome.result, ran.outcome.failure, killed)


def judged(result: object, failure: object, killed: Role) -> str:
    if result is not None:
        assert result == RIGHT
        return "a verdict"
    cause = getattr(failure, "cause", None)
    assert cause in NAMED, failure
    return f"{cause}"


@pytest.mark.parametrize(
    "count", [4, pytest.param(200, marks=pytest.mark.soak)], ids=["some", "many"]
)
async def test_every_flow_ends_in_the_right_verdict_or_a_named_failure(
    tmp_path: Path, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    ended: Counter[str] = Counter()
    for first in range(0, count, AT_ONCE):
        numbers = range(first, min(count, first + AT_ONCE))
        flows = (one_flow(tmp_path / f"{number}.jsonl", number) for number in numbers)
        ended.update(await asyncio.gather(*flows))
    assert ended.total() == count
    if count > AT_ONCE:
        with capsys.disabled():
            sys.stdout.write(f"\n{count} flows: {dict(ended)}\n")
