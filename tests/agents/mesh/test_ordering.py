"""What is recorded never stands before what it answers, however the copies come in."""

import asyncio
import itertools
import random
from typing import cast

import pytest

from agents.bus.envelope import CLI, Kind, Role, Thought
from agents.mesh.endpoint import MeshEndpoint
from agents.mesh.frame import FlowStamp
from agents.mesh.transport import (
    Copy,
    DeskTransport,
    RequestOrder,
    TakenMessage,
    _OpenRequest,
)
from tests.fakes.small_debate import CRITIC, REGISTRY, SCOUT, STRATEGIST, SmallKind, Turn

TURN = Turn(position=7, rounds=1, round=0)


def copy(
    sender: Role,
    number: int,
    structural: int,
    to: Role = CLI,
    after: dict[str, int] | None = None,
) -> Copy:
    """A thought to the desk, or a structural message to another agent."""
    thinks = to == CLI
    envelope = REGISTRY.seal(
        "req_1",
        sender=sender,
        recipient=to,
        kind=Kind.AGENT_THOUGHT if thinks else SmallKind.PROPOSAL,
        payload=Thought(round=0, tag="", text=f"{sender} {number}") if thinks else TURN,
        ts=number,
    )
    return Copy(envelope, FlowStamp(number, structural, after or {}), not thinks)


# Scout thinks, sends on and thinks again; Strategist thinks, sends on; Critic thinks.
SAID = [
    copy(SCOUT, 0, 0),
    copy(SCOUT, 1, 1, to=STRATEGIST),
    copy(SCOUT, 2, 1),
    copy(STRATEGIST, 0, 0, after={SCOUT: 2}),
    copy(STRATEGIST, 1, 1, to=CRITIC, after={SCOUT: 2}),
    copy(CRITIC, 0, 0, after={SCOUT: 2, STRATEGIST: 2}),
]
TAKEN = [(STRATEGIST, TakenMessage(0, SCOUT, 1)), (CRITIC, TakenMessage(0, STRATEGIST, 1))]


def told(order: RequestOrder, event: object) -> None:
    if isinstance(event, Copy):
        order.add(event)
    else:
        order.record_taken(*event)  # type: ignore[misc]


def test_every_order_of_arrival_gives_one_in_which_causes_come_first() -> None:
    events = [*SAID, *TAKEN]
    orders = random.Random(7).sample(list(itertools.permutations(range(len(events)))), 500)
    for arrival in orders:
        order = RequestOrder((SCOUT, STRATEGIST, CRITIC))
        out = []
        for index in arrival:
            told(order, events[index])
            out += order.ready()
        place = {envelope.content_id: number for number, envelope in enumerate(out)}
        at = [place[one.envelope.content_id] for one in SAID]
        assert len(out) == len(SAID)
        assert at[0] < at[1] < at[2]
        assert at[1] < at[3] < at[4] < at[5]


def test_what_an_agent_took_later_is_recorded_later() -> None:
    order = RequestOrder((SCOUT, STRATEGIST, CRITIC))
    first, second = copy(SCOUT, 0, 1, to=CRITIC), copy(STRATEGIST, 0, 1, to=CRITIC)
    order.add(first)
    order.add(second)
    assert order.ready() == []
    order.record_taken(CRITIC, TakenMessage(1, SCOUT, 0))
    order.record_taken(CRITIC, TakenMessage(0, STRATEGIST, 0))
    assert order.ready() == [second.envelope, first.envelope]


def test_a_lost_thought_holds_nobody_up_for_ever_and_a_lost_message_does() -> None:
    order = RequestOrder((SCOUT, STRATEGIST))
    order.record_taken(STRATEGIST, TakenMessage(0, SCOUT, 1))
    order.add(SAID[1])  # the thought before it never comes
    assert order.ready() == []
    assert order.ready(without_lost_thoughts=True) == [SAID[1].envelope]
    order = RequestOrder((SCOUT, STRATEGIST))
    order.add(SAID[2])  # a structural message is missing before it
    assert order.ready(without_lost_thoughts=True) == []


def test_a_copy_that_came_before_is_told_apart() -> None:
    order = RequestOrder((SCOUT, STRATEGIST, CRITIC))
    assert order.add(SAID[0])
    assert not order.add(SAID[0])
    order.ready()
    assert not order.add(SAID[0])


async def test_the_desk_waits_for_a_lost_thought_as_long_as_it_was_told() -> None:
    class Silent:
        on_frame = on_boot = None

    silent = cast("MeshEndpoint", Silent())
    desk = DeskTransport(silent, REGISTRY, {}, clock=lambda: 0.0, thought_patience=100)
    request = _OpenRequest(RequestOrder((SCOUT, STRATEGIST)), copy(SCOUT, 9, 9).envelope)
    for one in (SAID[1], SAID[2]):
        request.order.add(one)
    request.order.record_taken(STRATEGIST, TakenMessage(0, SCOUT, 1))
    desk._release("req_1", request)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await desk.receive(CLI)
    async with asyncio.timeout(600):
        assert await desk.receive(CLI) == SAID[1].envelope
