"""Fifty debates at once on one bus, ten of whose handlers are killed in the middle."""

import asyncio
import gc
from collections.abc import AsyncGenerator
from itertools import cycle, islice

import pytest
from msgspec import structs

from agents.bus.bus import Bus, Flow
from agents.bus.envelope import Envelope, FailureCause, FlowFailed, Role
from agents.bus.worker import Ambient, Handler, HandlerContext, Outgoing, QueueTransport
from agents.lp.debate import HANDLERS, LP_FLOW
from agents.lp.payloads import CRITIC, DEBATE, SCOUT, STRATEGIST, FlowStart, PlanReady
from agents.lp.plan import Plan
from agents.lp.services import DebateServices
from agents.numbers.rules import RiskProfile
from chain.devnet.launch import DevnetReady
from chain.protocols.reference import v4_position
from tests.agents.conftest import positions_by_state
from tests.agents.lp.debating import NOW, argue, watching

STATES = ("near the edge", "above its range", "hooked", "transferred in")
MANY = 50
DOOMED = {
    f"req_{number}": role
    for number, role in zip(range(0, MANY, 5), cycle((SCOUT, STRATEGIST, CRITIC)), strict=False)
}
"""Which debates lose a handler, and whose."""


def killed(role: Role) -> Handler[DebateServices]:
    """The agent of this role, killed after its first words in every debate that is doomed."""
    honest = HANDLERS[role]

    async def handler(
        envelope: Envelope, context: HandlerContext[DebateServices]
    ) -> AsyncGenerator[Outgoing, None]:
        async for outgoing in honest(envelope, context):
            yield outgoing
            if DOOMED.get(context.request_id) is role:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
                await asyncio.sleep(0)

    return handler


async def test_forty_plans_ten_failures_and_nothing_left(devnet: DevnetReady) -> None:
    positions = positions_by_state(devnet.url)
    starts = [
        FlowStart(token_id=v4_position(positions[state]), profile=profile, max_rounds=2)
        for state, profile in islice(zip(cycle(STATES), cycle(RiskProfile), strict=False), MANY)
    ]
    async with watching(devnet.url) as eyes:
        alone = {start: (await argue(start, eyes)).plan for start in set(starts)}
        gc.collect()
        tasks_before, flows_before = asyncio.all_tasks(), _living_flows()
        transport = QueueTransport(DEBATE.roles)
        bus = Bus(
            structs.replace(LP_FLOW, handlers={role: killed(role) for role in HANDLERS}),
            transport,
            ambient=Ambient(lambda: NOW, lambda: "unused"),
        )
        async with bus:
            flows = [
                await bus.start(
                    start,
                    services=DebateServices(eyes=eyes, model=None),
                    request_id=f"req_{number}",
                )
                for number, start in enumerate(starts)
            ]
            assert len(bus.active) == MANY
            ended = await asyncio.gather(*(flow.outcome() for flow in flows))
            await bus.wait_settled()
            assert bus.active == frozenset()
            assert bus.lanes == 0
            assert transport.pending_count() == 0
    plans: dict[str, Plan] = {}
    for number, last in enumerate(ended):
        assert last.request_id == f"req_{number}"
        if isinstance(last.payload, PlanReady):
            plans[last.request_id] = last.payload.plan
            assert last.payload.plan == alone[starts[number]], "debates do not mix"
        else:
            assert isinstance(last.payload, FlowFailed)
            assert last.payload.cause is FailureCause.CRASHED
            assert last.payload.stage == DOOMED[last.request_id]
            assert last.payload.reason.endswith("was stopped in the middle.")
    assert len(plans) == 40
    assert set(plans).isdisjoint(DOOMED)
    assert len(DOOMED) == 10
    # Nothing of the fifty is kept alive by anything but this test.
    del flows, ended, bus, last
    await asyncio.sleep(0)
    gc.collect()
    assert asyncio.all_tasks() == tasks_before
    assert _living_flows() == flows_before


def _living_flows() -> int:
    return sum(isinstance(one, Flow) for one in gc.get_objects())


@pytest.mark.soak
async def test_again_and_again_nothing_grows(devnet: DevnetReady) -> None:
    for _ in range(10):
        await test_forty_plans_ten_failures_and_nothing_left(devnet)
