"""Approving at the desk: built, tried, read back and judged; nothing is signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.shelf import PlanShelf, plan_in, was_edited
from zuno_tui.cli.approval_card import rehearsal_lines
from zuno_tui.cli.approve import rehearsed, same_network
from zuno_tui.cli.explain import recorded_turns
from zuno_tui.cli.plan_card import edited_words, record_words
from zuno_tui.desk.approval_views import approved_view, signing_key
from zuno_tui.desk.changes import wish_of_change
from zuno_tui.desk.debates import show_plan
from zuno_tui.desk.events import DebateChanged, PageReady, Said, ViewAsked
from zuno_tui.desk.prose import turn_view
from zuno_tui.desk.views import DebateView
from zuno_tui.gate.approving import approve
from zuno_tui.gate.choosing import chosen_candidate
from zuno_tui.gate.wishes_of_plans import wish_of_plan

if TYPE_CHECKING:
    from agents.shelf import PlanDocument
    from zuno_tui.cli.approve import Wishing
    from zuno_tui.desk.bench import Bench
    from zuno_tui.desk.card import Card
    from zuno_tui.desk.intents import AboutPlan, Approve, Change
    from zuno_tui.desk.market import Market
    from zuno_tui.gate.approving import Rehearsal

APPROVE = "approve"
_PATIENCE = 120.0


class Approvals:
    def __init__(self, bench: Bench, card: Card, market: Market | None) -> None:
        self._bench = bench
        self._card = card
        self._market = market

    def approve(self, asked: Approve) -> None:
        document = self._plan(asked.plan_id)
        wishing = self._wishing(document, asked.candidate)
        if self._card.view is None or self._card.view.plan_id != document["planId"]:
            self._show(document)
        self._begin(wishing, asked.twin)

    def change(self, asked: Change) -> None:
        self._begin(wish_of_change(self._bench.session, asked), asked.twin)

    def show(self, asked: AboutPlan) -> None:
        document = self._plan(asked.plan_id)
        match asked.verb:
            case "plan":
                self._show(document)
            case "explain":
                self._explain(document)
            case "simulate":
                wishing = self._wishing(document, asked.candidate)
                self._bench.jobs.start(
                    "simulate",
                    "Trying the transactions",
                    lambda _: self._simulate(wishing, asked.twin),
                    seconds=_PATIENCE,
                )

    def _plan(self, named: str | None) -> PlanDocument:
        """The plan named, the one on the card, or the newest."""
        shown = self._card.view
        on_card = shown.plan_id if shown is not None and shown.options else None
        return PlanShelf(self._bench.session.home.plans).find(named or on_card)

    def _wishing(self, document: PlanDocument, named: str | None) -> Wishing:
        plan = plan_in(document)
        candidate = chosen_candidate(plan, named)
        same_network(self._bench.session, plan)
        wallet = self._bench.wallet
        return lambda sources: wish_of_plan(sources, plan, candidate, wallet)

    def _show(self, document: PlanDocument) -> None:
        path = self._bench.session.home.plans / f"{document['planId']}.json"
        show_plan(self._bench, self._card, document, made_at=path.stat().st_mtime)
        if was_edited(plan_in(document)):
            self._bench.tell(Said(edited_words(document), "bad"))
        self._bench.tell(ViewAsked("plan"))

    def _explain(self, document: PlanDocument) -> None:
        turns = tuple(turn_view(turn) for turn in recorded_turns(document))
        plan_id = str(document["planId"])
        ended = " ".join((f"{plan_id}.", *record_words(document)))
        self._bench.tell(
            DebateChanged(DebateView(str(document["requestId"]), f"why {plan_id}", turns, ended))
        )
        self._bench.tell(ViewAsked("debate"))

    async def _simulate(self, wishing: Wishing, twin: str) -> None:
        rehearsal = await rehearsed(self._bench.session, self._bench.sources, wishing)
        self._bench.tell(PageReady(twin, tuple(rehearsal_lines(rehearsal))))

    async def _rehearsed(self, wishing: Wishing) -> Rehearsal:
        """In the demo at real time, which passes until the person has decided."""
        session, sources, market = self._bench.session, self._bench.sources, self._market
        if market is None:
            return await rehearsed(session, sources, wishing)
        await market.give_time()
        try:
            return await rehearsed(session, sources, wishing)
        except Exception:
            await market.go_on()
            raise

    def _begin(self, wishing: Wishing, twin: str) -> None:
        self._bench.jobs.start(
            APPROVE,
            "Building and trying the transactions",
            lambda _: self._approve(wishing, twin),
            seconds=_PATIENCE,
        )

    async def _approve(self, wishing: Wishing, twin: str) -> None:
        bench, began = self._bench, self._bench.clock()
        rehearsal = await self._rehearsed(wishing)
        approved = approve(bench.sources, bench.session.home.outbox, rehearsal)
        key = signing_key(bench.session.home, bench.session.network, bench.wallet)
        view = approved_view(approved, bench.wallet, key)
        position = rehearsal.prepared.wish.subject.position
        self._card.approved(view, None if position is None else position.token_id)
        bench.bring("plan", began)
        bench.tell(
            Said(f"{view.headline}: approved for ten minutes. To sign it: apply", "good", twin)
        )
