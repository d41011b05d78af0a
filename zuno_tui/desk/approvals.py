"""Approving at the desk: built, tried, read back and judged; nothing is signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.lp.option_letters import option_index, option_letter
from zuno_tui.app.approve import dry_run_made, order_of_candidate
from zuno_tui.app.plans import stored_plan
from zuno_tui.desk.approval_views import approved_view, signing_key
from zuno_tui.desk.debates import show_plan
from zuno_tui.desk.events import DebateChanged, Said, ViewAsked
from zuno_tui.desk.prose import turn_view
from zuno_tui.gate.dry_run import approve
from zuno_tui.present.argued_plan import recorded_turns
from zuno_tui.present.plan_card import edited_words, record_words
from zuno_tui.present.views import DebateView

if TYPE_CHECKING:
    from zuno_tui.commands.approve import Approve
    from zuno_tui.commands.command import OrderMaker
    from zuno_tui.commands.explain import ExplainPlan
    from zuno_tui.commands.plan import ShowPlan
    from zuno_tui.desk.card import Card
    from zuno_tui.desk.context import DeskContext
    from zuno_tui.desk.market import EmbeddedMarket
    from zuno_tui.gate.dry_run import DryRun
    from zuno_tui.present.argued_plan import ArguedPlan
    from zuno_tui.present.views import PlanView

APPROVE = "approve"
_PATIENCE = 120.0


class Approvals:
    def __init__(
        self, desk_context: DeskContext, card: Card, market: EmbeddedMarket | None
    ) -> None:
        self._desk_context = desk_context
        self._card = card
        self._market = market

    @property
    def plan_on_card(self) -> str | None:
        """The plan that is argued for on the card."""
        shown = self._card.view
        return shown.plan_id if shown is not None and shown.options else None

    def approve(self, intent: Approve) -> None:
        argued = self._plan(intent.plan_id)
        make_order = order_of_candidate(self._desk_context.session, argued.plan, intent.candidate)
        if self._card.view is None or self._card.view.plan_id != argued.plan.plan_id:
            self._show(argued)
        self.begin(make_order, intent.twin, _approved_words(self._card.view, intent.candidate))

    def show(self, intent: ShowPlan) -> None:
        self._show(self._plan(intent.plan_id))

    def explain(self, intent: ExplainPlan) -> None:
        self._explain(self._plan(intent.plan_id))

    def _plan(self, named: str | None) -> ArguedPlan:
        """The plan named, the one on the card, or the newest."""
        return stored_plan(self._desk_context.session, named or self.plan_on_card)

    def _show(self, argued: ArguedPlan) -> None:
        path = self._desk_context.session.home.plans / f"{argued.plan.plan_id}.json"
        show_plan(self._desk_context, self._card, argued, made_at=path.stat().st_mtime)
        if argued.edited:
            self._desk_context.tell(Said(edited_words(argued.plan), "bad"))
        self._desk_context.tell(ViewAsked("plan"))

    def _explain(self, argued: ArguedPlan) -> None:
        turns = tuple(turn_view(turn) for turn in recorded_turns(argued.document))
        plan_id = argued.plan.plan_id
        ended = " ".join((f"{plan_id}.", *record_words(argued)))
        self._desk_context.tell(
            DebateChanged(DebateView(argued.request_id, f"why {plan_id}", turns, ended))
        )
        self._desk_context.tell(ViewAsked("debate"))

    async def _dry_run_made(self, make_order: OrderMaker) -> DryRun:
        """In the demo at real time, which passes until the person has decided."""
        session, sources, market = (
            self._desk_context.session,
            self._desk_context.sources,
            self._market,
        )
        if market is None:
            return await dry_run_made(session, sources, make_order)
        await market.give_time()
        try:
            return await dry_run_made(session, sources, make_order)
        except Exception:
            await market.go_on()
            raise

    def begin(self, make_order: OrderMaker, twin: str, what: str = "the transactions") -> None:
        self._desk_context.jobs.start(
            APPROVE,
            f"Building and trying {what}",
            lambda _: self._approve(make_order, twin),
            seconds=_PATIENCE,
        )

    async def _approve(self, make_order: OrderMaker, twin: str) -> None:
        desk_context, began = self._desk_context, self._desk_context.clock()
        dry_run = await self._dry_run_made(make_order)
        approved = approve(desk_context.sources, desk_context.session.home.outbox, dry_run)
        key = signing_key(
            desk_context.session.home, desk_context.session.network, desk_context.wallet
        )
        view = approved_view(approved, desk_context.wallet, key)
        position = dry_run.prepared.order.subject.position
        self._card.approved(view, None if position is None else position.token_id)
        desk_context.bring("plan", began)
        desk_context.tell(
            Said(f"{view.headline}: approved for ten minutes. To sign it: apply", "good", twin)
        )


def _approved_words(plan: PlanView | None, named: str | None) -> str:
    """Which option is approved, and what it does to which position."""
    index = None if named is None else option_index(named)
    letter = named if index is None else option_letter(index)
    for option in () if plan is None else plan.options:
        if option.recommended if named is None else option.candidate == letter:
            return f"{option.name}: {option.does}"
    return "the transactions"
