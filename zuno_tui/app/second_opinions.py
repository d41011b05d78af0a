"""A second Critic's opinion on a plan that came over the mesh, where the mesh has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from agents.bus.ambient import Ambient
from agents.bus.payload import Thought
from agents.bus.record import MemorySink, RecordWriter, running_versions
from agents.bus.replay import read_record
from agents.bus.run import Listener, SpokenTurn
from agents.lp.debate import LP_FLOW
from agents.lp.observe import ChainObserver
from agents.lp.payloads import CRITIC
from agents.lp.second_opinion import ask_second_critic, last_proposal, stricter_plan
from chain.base.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agents.bus.ambient import BusLimits
    from agents.lp.debate import DebateEnd
    from chain.positions.overview import Sources
    from zuno_tui.app.agents_elsewhere import SecondCritic

SECOND = "second opinion"
"""The tag of what two Critics come to together."""


async def with_second_opinion(
    ended: DebateEnd,
    record_path: Path,
    sources: Sources,
    second: SecondCritic,
    *,
    limits: BusLimits,
    tokens: int | None,
    listener: Listener,
    tell: Callable[[str], None],
) -> DebateEnd:
    """The same end, or one in which the stricter of both Critics counts; both are in its words."""
    proposal = last_proposal(read_record(record_path))
    if ended.plan is None or proposal is None:
        return ended
    request_id = f"{ended.request_id}-second"
    # It is no debate of its own that could be run again: what it comes to stands in the plan.
    record = RecordWriter(
        MemorySink(), request_id, running_versions(LP_FLOW.package), Redactor(), flow=LP_FLOW.name
    )
    said: list[SpokenTurn] = []
    heard = await ask_second_critic(
        proposal,
        ChainObserver(sources),
        record,
        second.gather(),
        ambient=Ambient(sources.clock, lambda: request_id),
        request_id=request_id,
        limits=limits,
        tokens=tokens,
        listener=_labelled(listener, second.name, said.append),
    )
    stricter = None
    if heard is None:
        words = f"{second.name} was asked for a second opinion and gave none."
    else:
        stricter = stricter_plan(proposal, ended.plan, heard, second.name)
        words = (
            f"A second Critic, {second.name}, is nowhere stricter than the first."
            if stricter is None
            else f"A second Critic, {second.name}, is stricter than the first, and counts."
        )
    tell(words)
    closing = SpokenTurn(CRITIC, Thought(round=proposal.latest.number, tag=SECOND, text=words))
    transcript = (*ended.transcript, *said, closing)
    return replace(ended, plan=stricter or ended.plan, transcript=transcript)


def _labelled(listener: Listener, name: str, keep: Callable[[SpokenTurn], None]) -> Listener:
    """Hears the second Critic as one who is told apart from the first."""

    def on_turn(turn: SpokenTurn) -> None:
        lead = f"{name}: "
        struck = tuple(
            one.model_copy(update={"start": one.start + len(lead), "end": one.end + len(lead)})
            for one in turn.thought.struck
        )
        said = turn.thought.model_copy(update={"text": lead + turn.thought.text, "struck": struck})
        labelled = SpokenTurn(turn.role, said)
        keep(labelled)
        listener.on_turn(labelled)

    return Listener(on_turn=on_turn, on_prose=listener.on_prose)
