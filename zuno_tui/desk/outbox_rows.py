"""The outbox at the desk: what was sent, where it stands, what can be done about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.resume import ResumeChoice, StepSituation
from zuno_tui.app.outbox import resolve_half_done
from zuno_tui.desk.events import OutboxReady, Said
from zuno_tui.gate.approvals import read_approval
from zuno_tui.gate.results import UnsettledStep, look_at_outbox, remember_heard, stands
from zuno_tui.present.views import DispatchView

if TYPE_CHECKING:
    from chain.execution.outbox.records import Dispatch
    from zuno_tui.desk.context import DeskContext

    Action = Literal["resume", "cancel", "speed-up", "resolve"]

_PATIENCE = 60.0


class OutboxRows:
    def __init__(self, desk_context: DeskContext) -> None:
        self._desk_context = desk_context

    def begin(self) -> None:
        """At the start: look up whatever is unfinished, and say what is open."""
        self._desk_context.jobs.start(
            "outbox", "Looking up what was sent", lambda _: self._say_open(), seconds=_PATIENCE
        )

    def show(self) -> None:
        self._desk_context.jobs.start(
            "outbox", "Looking up what was sent", lambda _: self._show(), seconds=_PATIENCE
        )

    def resolve(self, plan_id: str | None) -> None:
        session = self._desk_context.session
        with Outbox.open(session.home.outbox) as outbox:
            chain_id, now = session.network.chain_id, self._desk_context.clock()
            for sentence in resolve_half_done(outbox, chain_id, plan_id, now=now):
                self._desk_context.tell(Said(sentence))
        self.show()

    async def _say_open(self) -> None:
        _, findings = await self._read()
        for finding in findings:
            if finding.news:
                words = " ".join((finding.sentence, *finding.where))
                self._desk_context.tell(Said(f"{words} See: outbox", "warn", "zuno outbox"))
        with Outbox.open(self._desk_context.session.home.outbox) as outbox:
            remember_heard(outbox, findings, now=self._desk_context.clock())

    async def _show(self) -> None:
        rows, _ = await self._read()
        self._desk_context.tell(OutboxReady(rows))

    async def _read(self) -> tuple[tuple[DispatchView, ...], tuple[UnsettledStep, ...]]:
        desk_context, session = self._desk_context, self._desk_context.session
        async with session.connections(desk_context.sources) as connections:
            with Outbox.open(session.home.outbox) as outbox:
                findings = await look_at_outbox(desk_context.sources, connections, outbox)
                mine = [
                    one for one in outbox.dispatches() if one.chain_id == session.network.chain_id
                ]
                rows = tuple(_row(outbox, one, findings) for one in reversed(mine))
        return rows, findings


def _row(outbox: Outbox, dispatch: Dispatch, findings: Sequence[UnsettledStep]) -> DispatchView:
    approval = read_approval(outbox.kept, dispatch.hash)
    about = [one for one in findings if one.dispatch == dispatch.hash]
    steps = tuple(
        (step.name, str(step.state), "" if step.newest is None else step.newest.transaction.hash)
        for step in dispatch.steps
    )
    return DispatchView(
        plan_id=dispatch.plan_id,
        headline=dispatch.plan_id if approval is None else approval.headline,
        state=stands(dispatch),
        steps=steps,
        # Of what is done for good its state says all.
        advice=tuple(
            sentence
            for one in about
            if one.situation != StepSituation.FINAL
            for sentence in (one.sentence, *one.where)
        ),
        actions=tuple(_actions(dispatch, about)),
    )


def _actions(dispatch: Dispatch, about: Sequence[UnsettledStep]) -> Iterator[Action]:
    choices = {choice for one in about for choice in one.choices}
    if ResumeChoice.SEND_AGAIN in choices:
        yield "resume"
    if ResumeChoice.SPEED_UP in choices:
        yield "speed-up"
    if ResumeChoice.CANCEL in choices:
        yield "cancel"
    if (dispatch.half_done or dispatch.ended is not None) and dispatch.resolved_at is None:
        yield "resolve"
