"""Where requests are taken once the desk is open: each goes to the part that does it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec.structs import replace

from chain.rpc.records import Block
from chain.wallet.secrets import Passphrase
from zuno_tui.app.feature import Feature
from zuno_tui.app.market import MarketClockError
from zuno_tui.app.plans import feature_of_plan
from zuno_tui.app.retention import let_go_when_due
from zuno_tui.catalog.old_block import answer_of
from zuno_tui.catalog.only_read import OtherProtocolError, refuse_other_protocols
from zuno_tui.catalog.registry import registry
from zuno_tui.desk.approvals import Approvals, take_back_approval
from zuno_tui.desk.approvals import EmbeddedMarket as MarketClock
from zuno_tui.desk.card import Card
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.debates import Debates
from zuno_tui.desk.details import Details
from zuno_tui.desk.events import RangeReady, Said, ViewAsked
from zuno_tui.desk.feature import DeskFeature, DeskPart, desk_features
from zuno_tui.desk.jobs import Progress
from zuno_tui.desk.pages import OutboxRows, Pages, Pools, Records
from zuno_tui.desk.portfolio import PortfolioReader
from zuno_tui.desk.proposals import PhraseProposals
from zuno_tui.desk.questions import Questions
from zuno_tui.desk.reading import PositionsReader
from zuno_tui.desk.signing import Signing
from zuno_tui.desk.watching import Watching
from zuno_tui.intents.arguments import positions_named
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import (
    Acknowledge,
    Apply,
    Approve,
    ChooseRange,
    CreatePosition,
    DiffPlan,
    ExplainPlan,
    Inspect,
    ListPools,
    MigratePosition,
    MovePosition,
    MuteAlert,
    OpenOutbox,
    Recommend,
    Replay,
    SayPhrase,
    SetMarketClock,
    Show,
    ShowPlan,
    ShowPortfolio,
    SimulatePlan,
)
from zuno_tui.settings import SettingsError

_PATIENCE = 180.0
_LAPSES = "This approval cannot be taken back. It lapses ten minutes after it was given."


class RangeForms:
    def __init__(self, context: DeskContext) -> None:
        self._context = context

    def open(self, intent: ChooseRange) -> None:
        what = "the pools" if intent.ref is None else f"position {intent.what}"
        self._context.jobs.start(
            "range",
            f"Reading {what}",
            lambda told: self._read(intent, told),
            seconds=_PATIENCE,
            opens_page=True,
        )

    async def _read(self, intent: ChooseRange, progress: Progress) -> None:
        # What a debate is made of takes a while to import, and is needed for the first form.
        from zuno_tui.app.range import read_range_forms

        context = self._context
        forms = await read_range_forms(
            context.session, context.sources, intent, context.opening.environment, progress
        )
        for form in forms:
            form.preview(form.begins)  # the tables behind it are made here, not under a key
        context.tell(RangeReady(intent, forms))


_QUIET_AFTER = 60.0
"""Seconds from the opening until old files are looked through."""


class Dispatcher:
    def __init__(self, context: DeskContext, positions: PositionsReader) -> None:
        self._context = context
        self._positions = positions
        self.card = Card(context.tell, context.clock)
        embedded = context.session.network.clock == "head"
        self._market = MarketClock(context) if embedded else None
        deciding = self._market if context.opening.demo else None
        self._deciding = deciding
        self._debates = Debates(context, self.card)
        self._approvals = Approvals(context, self.card, deciding, self._show_elsewhere)
        self._questions = Questions(context.tell, context.jobs, context.clock, self._happened)
        self._signing = Signing(context, self.card, self._questions, self._ask_elsewhere)
        self._outbox = OutboxRows(context)
        self._pages = Pages(context)
        self._pools = Pools(context)
        self._records = Records(context)
        self._details = Details(context)
        self._portfolio = PortfolioReader(context)
        self._range_forms = RangeForms(context)
        self._watching = Watching(context)
        self._features: dict[str, DeskPart] = {}
        """Those that were opened, by name."""
        self._of_feature = {
            intent: feature for feature in desk_features() for intent in feature.intents
        }
        self._loops: list[asyncio.Task[None]] = []
        self._parts: dict[type[Intent], Callable[[Any], None]] = {
            Show: self._show,
            Inspect: self._details.inspect,
            Recommend: self._debates.recommend,
            CreatePosition: self._create,
            MovePosition: self._move,
            MigratePosition: self._debates.migrate,
            ShowPortfolio: self._portfolio.show,
            ChooseRange: self._range_forms.open,
            Replay: self._records.replay,
            ListPools: self._pools.show,
            Acknowledge: self._watching.acknowledge,
            MuteAlert: self._watching.mute,
            ShowPlan: self._show_plan,
            ExplainPlan: self._approvals.explain,
            Approve: self._approve,
            Apply: self._apply,
            OpenOutbox: self._open_outbox,
            SayPhrase: PhraseProposals(context).propose,
        }

    def begin(self) -> None:
        self._outbox.begin()
        try:
            self._debates.introduce()
        except SettingsError as error:
            self._context.tell(Said(str(error), "warn"))
        for warning in self._context.session.settings.warnings:
            self._context.tell(Said(warning, "warn"))
        self._loops.append(asyncio.create_task(self._watching.run(), name="zuno watching"))
        self._loops.append(asyncio.create_task(self._let_go(), name="zuno retention"))
        if self._market is not None:
            self._loops.append(asyncio.create_task(self._market.run(), name="zuno market"))

    async def _let_go(self) -> None:
        """When the rush of the opening is over; a desk that is closed sooner leaves it be."""
        await asyncio.sleep(_QUIET_AFTER)
        context = self._context
        if self._market is not None:
            self._details.remember_past()
        settings = context.session.settings.retention
        store, now = context.sources.store, context.clock()
        told = let_go_when_due(context.session.home, store, settings, now=now)
        if told is not None:
            context.tell(Said(told))

    async def close(self) -> None:
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        for part in self._features.values():
            part.close()

    def check_expiry(self, head: Block) -> None:
        """What is approved ends by the network's clock, whether anybody looks or not."""
        view = self.card.view
        approval = None if view is None else view.approval
        by_head = self._context.session.network.clock == "head"
        if approval is None:
            return
        now = head.timestamp if by_head and not approval.venue else self._context.clock()
        if now >= approval.expires_at and not self._questions.is_answering:
            self.card.show_lapse()
            words = f"{approval.headline}: the approval lapsed. Nothing was signed."
            self._questions.withdraw(approval.hash, words)
            self._loops.append(asyncio.create_task(self._happened(), name="zuno after expiry"))

    async def take_back_approval(self) -> str | None:
        """Of the plan on the card, where nobody has used it; None where there is none."""
        view = self.card.view
        approval = None if view is None else view.approval
        if approval is None or self._questions.is_answering:
            return None
        if not take_back_approval(self._context, approval):
            return _LAPSES
        self.card.show_taken_back()
        words = f"{approval.headline}: approval taken back. Nothing was signed."
        self._questions.withdraw(approval.hash, words)
        await self._happened()
        return words

    def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:
        self._questions.confirm(approval_hash, word, passphrase)

    async def take(self, intent: Intent) -> None:
        """To the part that does it; what no part is made for is prepared, or read as a page."""
        if positions_named(intent):
            try:
                refuse_other_protocols(registry().command_of(intent), intent)
            except OtherProtocolError as error:
                self._context.tell(Said(str(error), "warn", intent.twin))
                return
        if isinstance(intent, SetMarketClock):
            await self._turn_market(intent)
        elif (part := self._parts.get(type(intent))) is not None:
            part(intent)
        else:
            feature_part = self._part_of(self._of_feature.get(type(intent)))
            if feature_part is None or not feature_part.take(intent):
                self._take_as_declared(intent)

    def _move(self, intent: MovePosition) -> None:
        if not intent.no_swap:
            if intent.low is None or intent.high is None:
                words = "Between which two prices? Like: move 28 2900 3300, or move 28 --no-swap"
                self._context.tell(Said(words, "warn", intent.twin))
            else:
                self._debates.move(intent)
            return
        from zuno_tui.app.debate import move_without_swap

        made = move_without_swap(self._context.session, intent.ref, intent.low, intent.high)
        self._approvals.begin(made, intent.twin)

    def _take_as_declared(self, intent: Intent) -> None:
        session, command = self._context.session, registry().command_of(intent)
        make_action = None if command.action is None else command.action(session, intent)
        if make_action is not None:
            self._approvals.begin(make_action, intent.twin)
        elif command.answer is not None:
            self._pages.show(partial(answer_of, command), self._about_card(intent))
        else:
            words = "Only on the command line."
            self._context.tell(Said(words, "warn", intent.twin))

    def _about_card(self, intent: Intent) -> Intent:
        """A plan that is not named is the one on the card."""
        on_card = self._approvals.plan_on_card
        if isinstance(intent, DiffPlan | SimulatePlan) and intent.plan_id is None:
            return replace(intent, plan_id=on_card)
        return intent

    def _part_of(self, feature: Feature | None) -> DeskPart | None:
        """Loaded when it is first asked: nobody else pays for it."""
        if not isinstance(feature, DeskFeature):
            return None
        if feature.name not in self._features:
            part = feature.desk_part(self._context, self._deciding, self._questions, self.card)
            self._features[feature.name] = part
        return self._features[feature.name]

    def _create(self, intent: CreatePosition) -> None:
        """Argued about, but for a limit order: there the price is the person's own."""
        from zuno_tui.gate.actions.limit import action_to_limit, limit_words

        limit = limit_words(intent.phrase)
        if limit is None:
            self._debates.create(intent)
        else:
            self._approvals.begin(lambda sources: action_to_limit(sources, limit), intent.twin)

    def _show_plan(self, intent: ShowPlan) -> None:
        part = self._handling(intent.plan_id) if intent.plan_id is not None else None
        if part is None:
            self._approvals.show(intent)
        else:
            part.show(intent.plan_id)

    def _approve(self, intent: Approve) -> None:
        part, plan_id = self._meant(None if intent.candidate else intent.plan_id)
        if part is None or plan_id is None or intent.candidate:
            self._approvals.approve(intent)
        else:
            part.approve(intent, plan_id)

    def _apply(self, intent: Apply) -> None:
        part, plan_id = self._meant(intent.plan_id)
        if part is None or plan_id is None:
            self._signing.ask(intent)
        else:
            part.ask(intent, plan_id)

    def _show_elsewhere(self, plan_id: str) -> None:
        if (part := self._handling(plan_id)) is not None:
            part.show(plan_id)

    def _ask_elsewhere(self, plan_id: str) -> bool:
        if (part := self._handling(plan_id)) is not None:
            part.ask(Apply(plan_id), plan_id)
        return part is not None

    def _handling(self, plan_id: str) -> DeskPart | None:
        return self._part_of(feature_of_plan(self._context.session, plan_id))

    def _meant(self, named: str | None) -> tuple[DeskPart | None, str | None]:
        """A feature's plan that is meant: named, or on the card where none is."""
        if named is None and self.card.view is not None:
            named = self.card.view.plan_id
        return (None, None) if named is None else (self._handling(named), named)

    def _open_outbox(self, intent: OpenOutbox) -> None:
        match intent.action:
            case None:
                self._outbox.show()
            case "resume":
                self._signing.ask_resume(intent)
            case "resolve":
                self._outbox.resolve(intent.plan_id)
            case action:
                self._signing.ask_replacement(action, intent.plan_id)

    def _show(self, intent: Show) -> None:
        match intent.view:
            case "outbox":
                self._outbox.show()
            case "records":
                self._records.show()
            case "positions":
                self._positions.soon()
            case name:
                shown = next((feature for feature in desk_features() if feature.name == name), None)
                if (part := self._part_of(shown)) is not None:
                    part.show()
        self._context.tell(ViewAsked(intent.view))

    async def _turn_market(self, intent: SetMarketClock) -> None:
        if self._market is None:
            self._context.tell(Said("Only the embedded chain's market can be paused.", "warn"))
            return
        await self._market.turn(intent)
        self._positions.soon()

    async def _happened(self) -> None:
        """Something may have changed on the chain by our own hand."""
        self._positions.soon()
        if self._market is not None:
            # A chain that does not answer now is the positions' reader's to tell.
            with suppress(MarketClockError):
                await self._market.go_on()
