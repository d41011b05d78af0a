"""The trade desk's runs at the desk: argued, approved, confirmed by a typed word, sent once."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from agents.bus.envelope import Payload
from agents.bus.replay import RecordBrokenError, read_record
from agents.trade.payloads import TradePlanReady
from agents.trade.plan import TradePlan
from agents.trade.services import recorded_market
from agents.trade.terms import DeskLimits, TradeMode
from chain.exchange.orders.engine import OrderNotice
from chain.exchange.orders.order import OrderProgress, OrderState, VenueOrder
from zuno_tui.app.market import MarketClockError
from zuno_tui.desk.approvals import EmbeddedMarket
from zuno_tui.desk.card import Card
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.debates import DebateHearing
from zuno_tui.desk.events import ConfirmationAsked, Said
from zuno_tui.desk.jobs import fault_words
from zuno_tui.desk.questions import Act, Questions
from zuno_tui.features.trade.events import TradeChanged, TradeOpened
from zuno_tui.features.trade.gate import apply_trade, approve_trade, refuse_anyway, waiting_trade
from zuno_tui.features.trade.intents import SUBJECTS, Hedge, Trade, Unhedge
from zuno_tui.features.trade.lessons import stored_trade
from zuno_tui.features.trade.report import report_run
from zuno_tui.features.trade.run_parts import TradeRunView
from zuno_tui.features.trade.run_view import (
    plan_chart,
    run_begun,
    run_failed,
    run_heard,
    run_of_plan,
    verdict,
)
from zuno_tui.features.trade.trade import (
    approval_view,
    came_words,
    progress_words,
    read_hedged,
)
from zuno_tui.features.trade.trading import argue_trade, open_trading
from zuno_tui.features.trade.unhedging import plan_unhedge
from zuno_tui.gate.question import Question
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import Apply, Approve
from zuno_tui.present.views import ApprovalView, DebateView, PlanView, ResultView, StepProgress

RUN = "trade"
_PATIENCE = 900.0
_READ_PATIENCE = 60.0
_DECIDING = float(DeskLimits().plan_seconds)
_LOOK = "Orders may have been sent before. See where things stand: trade status"


class _RunSubject(Struct, frozen=True):
    """What a run is about."""

    name: str
    mode: str
    emergency: bool
    twin: str
    coin: str = ""
    """Empty where the position tells."""
    anyway: bool = False
    hedge: Hedge | None = None


class Trades:
    def __init__(
        self,
        context: DeskContext,
        market: EmbeddedMarket | None,
        questions: Questions,
        card: Card,
    ) -> None:
        self._context = context
        self._card = card
        self._questions = questions
        self._market = market
        """In the demo, whose market leaves a person no time to decide."""
        self._deciding: asyncio.TimerHandle | None = None
        self._view: TradeRunView | None = None

    def close(self) -> None:
        if self._deciding is not None:
            self._deciding.cancel()

    def take(self, intent: Intent) -> bool:
        """Starts a run; what asks how things stand is a page."""
        match intent:
            case Trade(subject) if subject not in SUBJECTS:
                about = _RunSubject(
                    subject,
                    intent.mode,
                    intent.emergency,
                    intent.twin,
                    coin=subject,
                    anyway=intent.anyway,
                )
            case Hedge(ref):
                name = f"hedge of #{ref}"
                about = _RunSubject(name, intent.mode, intent.emergency, intent.twin, hedge=intent)
            case Unhedge():
                self._context.jobs.start(
                    RUN,
                    "Looking up the hedge",
                    lambda _: self._unhedge(intent),
                    seconds=_READ_PATIENCE,
                )
                return True
            case _:
                return False
        self._start(about)
        return True

    def show(self, plan_id: str | None = None) -> None:
        """The run that is under way or was shown last, else the newest that was kept."""
        view = self._view
        if view is None or plan_id not in (None, view.plan_id):
            plan, document = stored_trade(self._context.session, plan_id)
            view = self._pictured(run_of_plan(plan, str(document.get("requestId", ""))), plan)
            self._put_on_card(plan)
        self._opened(view)

    def approve(self, intent: Approve, plan_id: str) -> None:
        plan, _ = stored_trade(self._context.session, plan_id)
        self._context.jobs.start(
            "approve",
            f"Checking the orders again: {verdict(plan).headline}",
            lambda _: self._approve(plan, intent.twin),
            seconds=_READ_PATIENCE,
        )

    def ask(self, _asked: Apply, plan_id: str) -> None:
        """Show once more what would be sent, and wait for the word."""
        plan, _ = stored_trade(self._context.session, plan_id)
        self._context.jobs.start(
            "confirm",
            "Reading what is approved",
            lambda _: self._ask(plan),
            seconds=_READ_PATIENCE,
            opens_page=True,
        )

    def _start(self, about: _RunSubject) -> None:
        self._context.jobs.start(
            RUN,
            f"The trade desk argues about {about.name}",
            lambda _: self._argue(about),
            seconds=_PATIENCE,
        )

    async def _argue(self, about: _RunSubject) -> None:
        context = self._context
        request_id = context.opening.new_request_id()
        self._opened(run_begun(request_id, about.name, about.mode))
        hearing = DebateHearing(context, DebateView(request_id, f"trade: {about.name}"))
        listener = hearing.listener()
        listener.on_message = self._heard
        session = context.session
        try:
            await self._give_time()
            coin = about.coin if about.hedge is None else ""
            async with open_trading(session, coin=coin) as trading:
                if about.anyway:
                    refuse_anyway(trading.venue)
                hedge = None
                if about.hedge is not None:
                    sources = context.sources
                    hedge = await read_hedged(session, sources, trading, about.hedge)
                done = await argue_trade(
                    session,
                    trading,
                    about.coin if hedge is None else hedge.coin,
                    TradeMode(about.mode),
                    hedge,
                    emergency=about.emergency,
                    anyway=about.anyway,
                    request_id=request_id,
                    listener=listener,
                    on_crash=hearing.on_crash,
                )
        except asyncio.CancelledError:
            self._failed(hearing, "it was ended before there was a plan")
            await self._decided()
            raise
        except Exception as error:
            self._failed(hearing, fault_words(error))
            await self._decided()
            raise
        plan, failure = done.ended.plan, done.ended.failure
        if plan is None or not plan.orders:
            await self._decided()
        if plan is None:
            at = "" if failure is None else f"it ended at {failure.stage}: {failure.reason}"
            self._failed(hearing, at)
            context.tell(Said(f"The trade desk came to no plan: {at}", "bad", about.twin))
            return
        view = self._pictured(run_of_plan(plan, request_id), plan)
        self._changed(view)
        if done.document is not None:
            await report_run(session, plan, done.document)
        self._put_on_card(plan)
        headline = "" if view.verdict is None else view.verdict.headline
        hearing.end(f"{headline}.")
        context.tell(Said(headline, "bad" if plan.by_failure else "good", about.twin))

    async def _unhedge(self, asked: Unhedge) -> None:
        """Each plan is kept; the last is shown, the others are named."""
        plans = await plan_unhedge(self._context.session, asked.ref, asked.percent)
        for plan, document in plans:
            view = run_of_plan(plan, str(document.get("requestId", "")))
            words = f"Close {plan.quantity:g} {plan.coin} of the hedge of #{plan.ref}: approve it"
            self._context.tell(Said(words, "good", asked.twin))
        await self._give_time()
        self._put_on_card(plan)
        self._opened(view)

    async def _approve(self, plan: TradePlan, twin: str) -> None:
        context, began = self._context, self._context.clock()
        async with open_trading(context.session, plan) as trading:
            view = approval_view(await approve_trade(trading, plan))
        self._follow(plan.plan_id, "apply", ("Approved for ten minutes; nothing is sent.",))
        self._show_approved(view, plan)
        context.bring("plan", began)
        words = f"{view.headline}: approved for ten minutes. To send it: apply"
        context.tell(Said(words, "good", twin))

    async def _ask(self, plan: TradePlan) -> None:
        async with open_trading(self._context.session, plan) as trading:
            waiting = await waiting_trade(trading, plan, None)
            left = waiting.approval.expires_at - trading.clock()
        view = approval_view(waiting, left)
        question = Question(
            view.hash, view.word, self._questions.until(left), undone="Nothing was sent."
        )
        act = Act(
            f"Sending the orders: {view.headline}",
            lambda _: self._send(plan, view),
            _PATIENCE
            + sum(
                order.slices * order.slice_seconds + (order.expires_seconds or 0)
                for order in plan.orders
            ),
            # Parts that wait for their time may be ended before it.
            cancellable=_is_sliced(plan),
        )
        self._questions.put(question, ConfirmationAsked(view), act)

    async def _send(self, plan: TradePlan, view: ApprovalView) -> None:
        begun = False
        told: list[OrderNotice] = []
        self._show_approved(view, plan)
        try:
            async with open_trading(self._context.session, plan) as trading:
                try:
                    # A word takes its time, and the market does not wait for it.
                    waiting = await waiting_trade(trading, plan, view.hash)
                    follow = _Sending(self._card, waiting.orders)
                    sent = await apply_trade(
                        trading, waiting, follow.on_sent, follow.wait, on_notice=told.append
                    )
                finally:
                    begun = trading.journal.has_begun(plan.plan_id)
        except asyncio.CancelledError:
            words = "It was ended. Nothing more is sent."
            self._card.show_end(ResultView(plan.plan_id, "interrupted", (words, _LOOK), None))
            self._questions.end(view.hash, words)
            raise
        except Exception as error:
            self._card.show_failure(view.plan_id, error, sent=_LOOK if begun else "")
            raise
        await self._decided()
        lines = (
            *(progress_words(order, plan.coin) for order in sent),
            *(notice.words for notice in told),
        )
        self._follow(plan.plan_id, "", (f"Sent to {waiting.plan.venue}.", *lines))
        refused = any(order.state.value == "refused" for order in sent) or any(
            notice.is_urgent for notice in told
        )
        state = "refused by the venue" if refused else "sent"
        self._card.show_end(
            ResultView(plan.plan_id, state, lines, None, not refused, headline=view.headline)
        )
        _, document = stored_trade(self._context.session, plan.plan_id)
        await report_run(self._context.session, plan, document, lines)
        words = f"{view.headline}: {state}."
        self._context.tell(Said(words, "bad" if refused else "good", f"zuno apply {plan.plan_id}"))

    def _show_approved(self, view: ApprovalView, plan: TradePlan) -> None:
        if self._card.view is None or self._card.view.plan_id != view.plan_id:
            self._put_on_card(plan)
        self._card.show_approval(view)

    async def _give_time(self) -> None:
        if self._market is None:
            return
        await self._market.give_time()
        if self._deciding is not None:
            self._deciding.cancel()
        self._deciding = asyncio.get_running_loop().call_later(_DECIDING, self._late)

    async def _decided(self) -> None:
        """The demo's market goes on at its own speed; a chain that is gone has none."""
        if self._deciding is not None:
            self._deciding.cancel()
            self._deciding = None
        if self._market is not None:
            with suppress(MarketClockError):
                await self._market.go_on()

    def _late(self) -> None:
        """Nobody decided while the plan was good."""
        self._deciding = None
        self._context.jobs.start(
            "market", "The market goes on", lambda _: self._decided(), seconds=_READ_PATIENCE
        )

    def _pictured(self, view: TradeRunView, plan: TradePlan) -> TradeRunView:
        """With its market's last week, and the picture that was drawn beside its record."""
        record = self._context.session.home.records / f"{view.request_id}.jsonl"
        if not view.request_id or not record.exists():
            return view
        picture = record.with_suffix(".png")
        with suppress(RecordBrokenError):
            view = replace(view, prices=plan_chart(recorded_market(read_record(record)), plan))
        return replace(view, chart=str(picture)) if picture.exists() else view

    def _follow(self, plan_id: str, next_phrase: str, progress: tuple[str, ...]) -> None:
        """What became of the plan, where it is the one that is shown."""
        if self._view is not None and self._view.plan_id == plan_id:
            self._changed(replace(self._view, next_phrase=next_phrase, progress=progress))

    def _heard(self, payload: Payload) -> None:
        # The plan itself is told when it is kept: before that nobody can approve it.
        if self._view is not None and not isinstance(payload, TradePlanReady):
            after = run_heard(self._view, payload)
            if after is not self._view:
                self._changed(after)

    def _failed(self, hearing: DebateHearing, reason: str) -> None:
        hearing.end("It ended without a plan.")
        if self._view is not None:
            self._changed(run_failed(self._view, reason))

    def _put_on_card(self, plan: TradePlan) -> None:
        if plan.orders:
            self._card.show(_on_card(plan))

    def _opened(self, view: TradeRunView) -> None:
        self._view = view
        self._context.tell(TradeOpened(view))

    def _changed(self, view: TradeRunView) -> None:
        self._view = view
        self._context.tell(TradeChanged(view))


class _Sending:
    """How far the orders have come, on the card; with a countdown while one rests."""

    def __init__(self, card: Card, orders: Sequence[VenueOrder]) -> None:
        self._card = card
        self._names = [order.client_id for order in orders]
        self._resting: OrderProgress | None = None
        self._ends_at = 0.0

    def on_sent(self, order: OrderProgress) -> None:
        self._resting = order if order.is_open and order.order.expires_seconds else None
        self._ends_at = asyncio.get_running_loop().time() + (order.order.expires_seconds or 0)
        refused = order.state is OrderState.REFUSED
        self._tell(order, came_words(order), "stopped" if refused else "done")

    async def wait(self, seconds: float) -> None:
        if (order := self._resting) is not None:
            left = max(0.0, self._ends_at - asyncio.get_running_loop().time())
            self._tell(order, f"waits to be filled, {left:.0f} s left", "under way")
        await asyncio.sleep(seconds)

    def _tell(
        self, order: OrderProgress, words: str, state: Literal["under way", "done", "stopped"]
    ) -> None:
        # A part of a sliced order has a name that begins with the order's own.
        name = order.order.client_id.partition(".")[0]
        if name in self._names:
            place = self._names.index(name)
            self._card.went_on(place, StepProgress(f"{name}: {words}", state))


def _on_card(plan: TradePlan) -> PlanView:
    told = verdict(plan)
    return PlanView(
        plan_id=plan.plan_id,
        headline=told.headline,
        recommendation=f"{told.headline}. {told.reason[:1].upper()}{told.reason[1:].rstrip('.')}.",
        options=(),
        reasons=tuple(f"Against it: {words}" for words in told.against),
        made_at=float(plan.made_at),
        ref=plan.ref,
        approves=True,
    )


def _is_sliced(plan: TradePlan) -> bool:
    """Whether sending takes its time: in slices, or until a resting order has its stop."""
    return any(order.type in ("sliced", "maker") for order in plan.orders)
