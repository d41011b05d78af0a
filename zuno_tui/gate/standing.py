"""Where an approval stands, in a word or a sentence, and where its tokens are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chain.execution.journal_records import StepState
from chain.execution.resuming import Situation, look
from chain.rpc.errors import RpcError
from zuno_tui.gate.aftermath import read_aftermath
from zuno_tui.gate.approvals import read_approval
from zuno_tui.gate.witnessing import evidence_of

if TYPE_CHECKING:
    from chain.execution.journal_records import Dispatch
    from chain.execution.outbox import Outbox
    from chain.execution.resuming import Finding
    from chain.overview import Sources
    from zuno_tui.gate.aftermath import Aftermath
    from zuno_tui.gate.connections import Connections

_QUIET = frozenset((Situation.INCLUDED, Situation.FINAL))
_NEEDS_NOTHING = frozenset(
    (
        Situation.NEVER_SIGNED,
        Situation.REVERTED,
        Situation.CANCELLED,
        Situation.REPLACED,
        Situation.DROPPED,
        Situation.OVER,
    )
)
"""Where nothing changes by itself and nothing must be done: said unasked once, not for ever."""
_HEARD = "findings-heard"


class Told(NamedTuple):
    """One step that is not settled, or a plan that is over, for people and programs."""

    dispatch: str
    plan_id: str
    step: str
    situation: str
    sentence: str
    choices: tuple[str, ...]
    open: bool
    """Whether a person who asks should hear of it."""
    news: bool
    """Whether a person should hear of it unasked."""
    aftermath: Aftermath | None = None
    """Where the tokens are now, of a plan that is over or stopped on the way."""
    unread: str = ""
    """Why that could not be read."""

    @property
    def where(self) -> tuple[str, ...]:
        if self.aftermath is not None:
            return self.aftermath.sentences
        return (f"Where the tokens are now is unknown: {self.unread}",) if self.unread else ()


async def look_at_outbox(
    sources: Sources, connections: Connections, outbox: Outbox
) -> tuple[Told, ...]:
    """The truth about whatever is unfinished, looked up and written down; nothing is sent."""
    findings = await look(
        outbox,
        sources.client,
        chain_id=sources.network.chain_id,
        clock=sources.clock,
        evidence=evidence_of(sources.network, connections),
    )
    last = {finding.dispatch.hash: place for place, finding in enumerate(findings)}
    told = [_told(outbox, finding) for finding in findings]
    for dispatch_hash, place in last.items():
        told[place] = await _with_aftermath(
            sources, outbox, outbox.dispatch(dispatch_hash), told[place]
        )
    return tuple(told)


def remember_heard(outbox: Outbox, told: tuple[Told, ...], *, now: float) -> None:
    """Keep what a person was told, so that what needs nothing is said once."""
    heard = {_key(one): True for one in told if one.news and one.situation in _NEEDS_NOTHING}
    outbox.kept.put_many(_HEARD, heard, now=now)


def stands(dispatch: Dispatch) -> str:
    """The name of where a plan stands as a whole."""
    if dispatch.ended is not None:
        return f"over: {dispatch.ended.code}"
    if dispatch.consumed_at is None:
        return "approved, not applied"
    if dispatch.safe_state is not None:
        return dispatch.safe_state
    stopped = dispatch.stopped_at
    if stopped is not None:
        return f"{stopped.name} {stopped.state}"
    states = [step.state for step in dispatch.steps]
    if all(state is StepState.FINAL for state in states):
        return "final"
    unfinished = [state for state in states if state is not StepState.FINAL]
    return str(unfinished[0]) if unfinished[0] == unfinished[-1] else "under way"


async def _with_aftermath(sources: Sources, outbox: Outbox, dispatch: Dispatch, told: Told) -> Told:
    """With where the tokens are, of a plan that did not come to its end."""
    if dispatch.ended is None and dispatch.stopped_at is None:
        return told
    approval = read_approval(outbox.kept, dispatch.hash)
    if approval is None:
        return told._replace(unread="what was approved is no longer known.")
    try:
        return told._replace(aftermath=await read_aftermath(sources, approval, dispatch))
    except RpcError as error:
        return told._replace(unread=error.sentence)


def _told(outbox: Outbox, finding: Finding) -> Told:
    is_open = finding.situation not in _QUIET and not _dealt_with(finding)
    told = Told(
        finding.dispatch.hash,
        finding.dispatch.plan_id,
        finding.step.name,
        finding.situation,
        finding.sentence,
        tuple(finding.choices),
        is_open,
        is_open,
    )
    heard = finding.situation in _NEEDS_NOTHING and outbox.kept.get(_HEARD, _key(told))
    return told._replace(news=is_open and not heard)


def _key(told: Told) -> str:
    return f"{told.dispatch}:{told.step}:{told.situation}"


def _dealt_with(finding: Finding) -> bool:
    over = finding.situation is Situation.OVER
    return (over or finding.step.settled) and finding.dispatch.resolved_at is not None
