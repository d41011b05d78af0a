"""Approving at the desk: built, tried, read back and judged; nothing is signed."""

import asyncio
from collections.abc import Callable

from agents.lp.advice_words import option_index, option_letter
from chain.execution.outbox.approvals import ActKind
from chain.execution.outbox.outbox import Outbox
from zuno_tui.app.approve import action_of_candidate, dry_run_made
from zuno_tui.app.feature import ActionMaker, approver_for
from zuno_tui.app.market import MarketClock, MarketClockError, MarketTrading, open_approvals
from zuno_tui.app.plans import stored_plan
from zuno_tui.desk.card import Card
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.debates import show_plan, turn_view
from zuno_tui.desk.events import DebateChanged, Said, ViewAsked
from zuno_tui.gate.dry_run import DryRun, approve
from zuno_tui.intents.intents import Approve, ExplainPlan, ShowPlan
from zuno_tui.intents.intents import SetMarketClock as Asked
from zuno_tui.present.approval_view import approved_view, signing_key
from zuno_tui.present.argued_plan import ArguedPlan, recorded_turns
from zuno_tui.present.plan_card import (
    edited_words,
    option_words,
    plan_pools,
    plan_sentence,
    record_words,
)
from zuno_tui.present.views import ApprovalView, DebateView, PlanView

_BETWEEN_LOOKS = 3.0
_REAL_TIME = 1.0
_DECIDING = "deciding at the desk"
_DECIDING_SECONDS = 600


class EmbeddedMarket:
    def __init__(self, context: DeskContext) -> None:
        self._context = context
        self._clock = MarketClock(context.session.endpoints[0])
        self._held: set[str] = set()

    async def run(self) -> None:
        """Until cancelled; a chain that does not answer is the positions' reader's to report."""
        try:
            while True:
                try:
                    self._show(await self._hold_for_approvals())
                except MarketClockError:
                    self._context.status.show_market(None, paused=False)
                await asyncio.sleep(_BETWEEN_LOOKS)
        finally:
            await self._clock.close()

    async def turn(self, asked: Asked) -> None:
        trading = await self._clock.turn(asked.action)
        self._show(trading)
        self._context.tell(Said(f"{trading.words.capitalize()}.", twin=asked.twin))

    async def give_time(self) -> None:
        """Real time while a person decides: at sixty times it an approval would last seconds."""
        trading = await self._clock.status()
        if _DECIDING not in self._held and not trading.held and trading.speed > _REAL_TIME:
            words = f"The market runs in real time while you decide, not ×{trading.speed:g}."
            self._context.tell(Said(words))
        self._held.add(_DECIDING)
        self._show(await self._clock.hold(_DECIDING, trading.time + _DECIDING_SECONDS))

    async def go_on(self) -> None:
        """Back to the chosen speed, unless another approval is open."""
        if _DECIDING in self._held:
            self._held.discard(_DECIDING)
            await self._clock.let_go(_DECIDING)
        trading = await self._hold_for_approvals()
        self._show(trading)
        if not trading.held and trading.speed > _REAL_TIME:
            self._context.tell(Said(f"The market runs at ×{trading.speed:g} again."))

    async def _hold_for_approvals(self) -> MarketTrading:
        """Hold the market for every approval that is open, whoever gave it, and for none other."""
        trading = await self._clock.status()
        journal = self._context.session.home.outbox
        approvals = await asyncio.to_thread(open_approvals, journal)
        wanted = {name: until for name, until in approvals.items() if until > trading.time}
        for name, until in wanted.items():
            if name not in self._held:
                self._held.add(name)
                trading = await self._clock.hold(name, until)
        for name in self._held - wanted.keys() - {_DECIDING}:
            self._held.discard(name)
            trading = await self._clock.let_go(name)
        return trading

    def _show(self, trading: MarketTrading) -> None:
        self._context.status.show_market(trading.words, paused=not trading.speed)


APPROVE = "approve"
_PATIENCE = 120.0


class Approvals:
    def __init__(
        self,
        context: DeskContext,
        card: Card,
        market: EmbeddedMarket | None,
        show_elsewhere: Callable[[str], None],
    ) -> None:
        self._context = context
        self._show_elsewhere = show_elsewhere
        """Puts what somebody else approved for this wallet on the card."""
        self._card = card
        self._market = market

    @property
    def plan_on_card(self) -> str | None:
        """The plan that is argued for on the card."""
        shown = self._card.view
        return shown.plan_id if shown is not None and shown.options else None

    def approve(self, intent: Approve) -> None:
        shown = self._card.view
        if (
            intent == Approve()
            and shown is not None
            and shown.approval is not None
            and not shown.options
        ):
            words = f"Already approved: {shown.headline}. Sign it: apply"
            self._context.tell(Said(words))
            return
        argued = self._plan(intent.plan_id)
        make_action = action_of_candidate(self._context.session, argued.plan, intent.candidate)
        if self._card.view is None or self._card.view.plan_id != argued.plan.plan_id:
            self._show(argued)
        self.begin(make_action, intent.twin, _approved_words(self._card.view, intent.candidate))

    def show(self, intent: ShowPlan) -> None:
        self._show(self._plan(intent.plan_id))

    def explain(self, intent: ExplainPlan) -> None:
        argued = self._plan(intent.plan_id)
        turns = tuple(turn_view(turn) for turn in recorded_turns(argued.document))
        plan_id = argued.plan.plan_id
        plan, pools = argued.plan, plan_pools(argued.plan)
        subject = f"why: {option_words(plan, plan.recommended, pools).rstrip('.')}"
        ended = " ".join((plan_sentence(plan, pools), f"Plan {plan_id}.", *record_words(argued)))
        self._context.tell(
            DebateChanged(DebateView(argued.request_id, subject, turns, ended, from_start=True))
        )
        self._context.tell(ViewAsked("debate"))

    def _plan(self, named: str | None) -> ArguedPlan:
        """The plan named, the one on the card, or the newest."""
        return stored_plan(self._context.session, named or self.plan_on_card)

    def _show(self, argued: ArguedPlan) -> None:
        path = self._context.session.home.plans / f"{argued.plan.plan_id}.json"
        show_plan(self._context, self._card, argued, made_at=path.stat().st_mtime)
        if argued.is_edited:
            self._context.tell(Said(edited_words(argued.plan), "bad"))
        self._context.tell(ViewAsked("plan"))

    async def _dry_run_made(self, make_action: ActionMaker) -> DryRun:
        """In the demo at real time, which passes until the person has decided."""
        session, sources, market = self._context.session, self._context.sources, self._market
        if market is None:
            return await dry_run_made(session, sources, make_action)
        await market.give_time()
        try:
            return await dry_run_made(session, sources, make_action)
        except Exception:
            await market.go_on()
            raise

    def begin(self, make_action: ActionMaker, twin: str, what: str = "the transactions") -> None:
        self._context.jobs.start(
            APPROVE,
            f"Building and trying {what}",
            lambda _: self._approve(make_action, twin),
            seconds=_PATIENCE,
        )

    async def _approve(self, make_action: ActionMaker, twin: str) -> None:
        context, began = self._context, self._context.clock()
        if (approver := approver_for(context.session)) is not None:
            document = (await approver(make_action)).document
            if isinstance(document, dict):
                self._show_elsewhere(str(document["planId"]))
            return
        dry_run = await self._dry_run_made(make_action)
        approved = approve(context.session.home.outbox, dry_run)
        if self._market is not None:
            # From here on the approval itself holds the market, until it is used or lapses.
            await self._market.go_on()
        key = signing_key(context.session.home, context.session.network, context.wallet)
        view = approved_view(dry_run, approved.hash, context.wallet, key)
        subject = dry_run.prepared.action.subject
        self._card.show_approval(view, [snapshot.ref for snapshot in subject.snapshots])
        context.bring("plan", began)
        context.tell(Said(f"{view.headline}: approved for ten minutes.", "good", twin))


def take_back_approval(context: DeskContext, approval: ApprovalView) -> bool:
    """Whether it was ended: what the journal keeps no plan of lapses by itself."""
    with Outbox.open(context.session.home.outbox) as outbox:
        given = outbox.find_given(approval.hash)
        if given is None or given.kind is not ActKind.PLAN or given.used_at is not None:
            return False
        outbox.take_back(approval.hash, now=context.sources.clock())
    return True


def _approved_words(plan: PlanView | None, named: str | None) -> str:
    """Which option is approved, and what it does to which position."""
    index = None if named is None else option_index(named)
    letter = named if index is None else option_letter(index)
    for option in () if plan is None else plan.options:
        if option.recommended if named is None else option.candidate == letter:
            return f"{option.name}: {option.does}"
    return "the transactions"
