"""Approving at the desk: built, tried, read back and judged; nothing is signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.bus.plan_store import PlanStore
from agents.lp.plan_document import plan_in, was_edited
from zuno_tui.commands.approve import dry_run_made, same_network
from zuno_tui.commands.explain import recorded_turns
from zuno_tui.desk.approval_views import approved_view, signing_key
from zuno_tui.desk.changes import order_of_change
from zuno_tui.desk.debates import show_plan
from zuno_tui.desk.events import DebateChanged, PageReady, Said, ViewAsked
from zuno_tui.desk.prose import turn_view
from zuno_tui.gate.choosing import chosen_candidate
from zuno_tui.gate.dry_run import approve
from zuno_tui.gate.orders.plan import order_of_plan
from zuno_tui.shown.approval_card import dry_run_lines
from zuno_tui.shown.plan_card import edited_words, record_words
from zuno_tui.shown.views import DebateView

if TYPE_CHECKING:
    from agents.bus.plan_store import PlanDocument
    from zuno_tui.commands.approve import OrderMaker
    from zuno_tui.commands.intents import AboutPlan, Approve, ChangePosition
    from zuno_tui.desk.card import Card
    from zuno_tui.desk.context import DeskContext
    from zuno_tui.desk.market import EmbeddedMarket
    from zuno_tui.gate.dry_run import DryRun

APPROVE = "approve"
_PATIENCE = 120.0


class Approvals:
    def __init__(
        self, desk_context: DeskContext, card: Card, market: EmbeddedMarket | None
    ) -> None:
        self._desk_context = desk_context
        self._card = card
        self._market = market

    def approve(self, asked: Approve) -> None:
        document = self._plan(asked.plan_id)
        make_order = self._make_order(document, asked.candidate)
        if self._card.view is None or self._card.view.plan_id != document["planId"]:
            self._show(document)
        self._begin(make_order, asked.twin)

    def change(self, asked: ChangePosition) -> None:
        self._begin(order_of_change(self._desk_context.session, asked), asked.twin)

    def show(self, asked: AboutPlan) -> None:
        document = self._plan(asked.plan_id)
        match asked.verb:
            case "plan":
                self._show(document)
            case "explain":
                self._explain(document)
            case "simulate":
                make_order = self._make_order(document, asked.candidate)
                self._desk_context.jobs.start(
                    "simulate",
                    "Trying the transactions",
                    lambda _: self._simulate(make_order, asked.twin),
                    seconds=_PATIENCE,
                )

    def _plan(self, named: str | None) -> PlanDocument:
        """The plan named, the one on the card, or the newest."""
        shown = self._card.view
        on_card = shown.plan_id if shown is not None and shown.options else None
        return PlanStore(self._desk_context.session.home.plans).find(named or on_card)

    def _make_order(self, document: PlanDocument, named: str | None) -> OrderMaker:
        plan = plan_in(document)
        candidate = chosen_candidate(plan, named)
        same_network(self._desk_context.session, plan)
        wallet = self._desk_context.wallet
        return lambda sources: order_of_plan(sources, plan, candidate, wallet)

    def _show(self, document: PlanDocument) -> None:
        path = self._desk_context.session.home.plans / f"{document['planId']}.json"
        show_plan(self._desk_context, self._card, document, made_at=path.stat().st_mtime)
        if was_edited(plan_in(document)):
            self._desk_context.tell(Said(edited_words(document), "bad"))
        self._desk_context.tell(ViewAsked("plan"))

    def _explain(self, document: PlanDocument) -> None:
        turns = tuple(turn_view(turn) for turn in recorded_turns(document))
        plan_id = str(document["planId"])
        ended = " ".join((f"{plan_id}.", *record_words(document)))
        self._desk_context.tell(
            DebateChanged(DebateView(str(document["requestId"]), f"why {plan_id}", turns, ended))
        )
        self._desk_context.tell(ViewAsked("debate"))

    async def _simulate(self, make_order: OrderMaker, twin: str) -> None:
        dry_run = await dry_run_made(
            self._desk_context.session, self._desk_context.sources, make_order
        )
        self._desk_context.tell(PageReady(twin, tuple(dry_run_lines(dry_run))))

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

    def _begin(self, make_order: OrderMaker, twin: str) -> None:
        self._desk_context.jobs.start(
            APPROVE,
            "Building and trying the transactions",
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
