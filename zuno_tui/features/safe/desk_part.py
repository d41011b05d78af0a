"""A Safe at the desk: approved, it stands on the card; the typed word gives a signature."""

import asyncio

from chain.contracts.addresses import checksum
from chain.safe.plans import SafePlan, SafePlans
from chain.wallet.errors import WalletError
from chain.wallet.keystore import open_signer
from chain.wallet.secrets import Passphrase
from zuno_tui.desk.approvals import EmbeddedMarket
from zuno_tui.desk.card import Card
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.events import ConfirmationAsked, Said
from zuno_tui.desk.questions import Act, Questions
from zuno_tui.features.safe.judging import SafeJudgment, judge
from zuno_tui.features.safe.page import headline, safe_view
from zuno_tui.features.safe.signing import (
    approval_of,
    approve,
    judged_approval,
    next_step,
    owner_to_sign,
    sign,
)
from zuno_tui.gate.question import Question
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import Apply, Approve
from zuno_tui.present.approval_view import signing_key
from zuno_tui.present.views import ApprovalView, ResultView

_PATIENCE = 120.0


class SafeSignatures:
    def __init__(
        self,
        context: DeskContext,
        _market: EmbeddedMarket | None,
        questions: Questions,
        card: Card,
    ) -> None:
        self._context = context
        self._questions = questions
        self._card = card

    def close(self) -> None:
        """Nothing is open."""

    def take(self, _intent: Intent) -> bool:
        return False

    def show(self, plan_id: str | None = None) -> None:
        """What was approved just now, on the card."""
        if plan_id is not None:
            self._start("Reading the Safe's transaction", plan_id, asks=False)

    def approve(self, _intent: Approve, plan_id: str) -> None:
        """For the next owner, on the same bytes."""
        self._context.jobs.start(
            "confirm",
            "Trying the Safe's transaction again",
            lambda _: self._approve(self._plan(plan_id)),
            seconds=_PATIENCE,
        )

    def ask(self, _asked: Apply, plan_id: str) -> None:
        self._start("Reading what waits for a signature", plan_id, asks=True)

    def _plan(self, plan_id: str) -> SafePlan:
        return SafePlans(self._context.session.home.safe).of_plan(plan_id)

    def _start(self, words: str, plan_id: str, *, asks: bool) -> None:
        self._context.jobs.start(
            "confirm",
            words,
            lambda _: self._read(self._plan(plan_id), asks=asks),
            seconds=_PATIENCE,
            opens_page=asks,
        )

    async def _approve(self, plan: SafePlan) -> None:
        context = self._context
        async with context.session.connections(context.sources) as connections:
            judgment = await judge(context.session, context.sources, connections, plan)
        approve(context.session, judgment)
        await self._read(plan, asks=False)

    async def _read(self, plan: SafePlan, *, asks: bool) -> None:
        context, session = self._context, self._context.session
        given = approval_of(session, plan, None)
        async with session.connections(context.sources) as connections:
            judgment = await judged_approval(session, context.sources, connections, plan, given)
        owner = owner_to_sign(session, judgment, None)
        key = signing_key(session.home, session.network, owner)
        view = safe_view(
            judgment, key, sealed=given.hash, expires_at=given.expires_at, signer=owner
        )
        basis = judgment.basis
        refs = () if basis is None else basis.subject.about.refs
        self._card.show_approval(view, refs)
        if not asks:
            words = f"{view.headline}: approved for one signature, for ten minutes. To sign: apply"
            context.tell(Said(words, "good", f"zuno approve {plan.plan_id}"))
            return
        question = Question(
            given.hash,
            view.word,
            self._questions.until(given.expires_at - judgment.now),
            refusal="" if key.can_sign else key.words,
            needs_passphrase=key.needs_passphrase,
        )
        act = Act(
            "Signing for the Safe",
            lambda passphrase: self._sign(judgment, view, owner, passphrase),
            _PATIENCE,
        )
        self._questions.put(question, ConfirmationAsked(view), act)

    async def _sign(
        self,
        shown: SafeJudgment,
        view: ApprovalView,
        owner: str,
        passphrase: Passphrase | None,
    ) -> None:
        context, session, plan = self._context, self._context.session, shown.plan

        def give_passphrase(_: object) -> Passphrase:
            if passphrase is None:
                raise WalletError("The passphrase is missing. Nothing was signed. Try again.")
            return passphrase

        try:
            given = approval_of(session, plan, view.hash)
            # A word takes its time, and the chain does not wait for it.
            async with session.connections(context.sources) as connections:
                judgment = await judged_approval(session, context.sources, connections, plan, given)
            with open_signer(
                session.home, session.network, owner, give_passphrase, session.devices
            ) as signer:
                kept = await asyncio.to_thread(sign, session, judgment, given, signer)
        except Exception as error:
            self._card.show_failure(plan.plan_id, error)
            raise
        self._tell_signed(judgment, kept)

    def _tell_signed(self, judgment: SafeJudgment, kept: SafePlan) -> None:
        signed, needed = len(kept.signed_by(judgment.facts)), judgment.facts.threshold
        words = f"{headline(judgment)}: {signed} of {needed} owners have signed. Nothing was sent."
        step = next_step(self._context.session, kept, judgment.facts)
        title = f"{signed} of {needed} signed"
        lines = (words, step, f"Safe {checksum(judgment.facts.address)}")
        result = ResultView(kept.plan_id, "signed", lines, None, done=True, headline=title)
        self._card.show_end(result)
        self._context.tell(Said(f"{words} {step}", "good", f"zuno apply {kept.plan_id}"))
