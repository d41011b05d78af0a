"""The typed word: what is shown before it, what it does, and that it does it once."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal

from chain.base.units import APPROVAL_SECONDS
from chain.contracts.addresses import checksum
from chain.contracts.networks import Address, Network
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import STOPPED, SUCCEEDED, PlanStep
from chain.execution.transaction import UnsignedTransaction, lender_in
from chain.wallet.address_book import Wallet
from chain.wallet.errors import WalletError
from chain.wallet.keystore import open_signer
from chain.wallet.secrets import Passphrase
from chain.wallet.signer import Signer
from zuno_tui.app.feature import what_outlives
from zuno_tui.app.outbox import step_words
from zuno_tui.app.result_card import (
    ExpectedOutcome,
    result_headline,
    result_notes,
    sent_transactions,
)
from zuno_tui.desk.card import Card
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.events import ConfirmationAsked, Said
from zuno_tui.desk.jobs import fault_words
from zuno_tui.desk.questions import Act, Questions
from zuno_tui.gate.acts import only_open_plan
from zuno_tui.gate.apply import apply, unused_approval, waiting_of
from zuno_tui.gate.drift import network_now
from zuno_tui.gate.judgment import judge_again
from zuno_tui.gate.limits import GateLimits, gate_limits
from zuno_tui.gate.question import Question
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.results import read_result
from zuno_tui.gate.resume import (
    Replacement,
    Resumption,
    prepare_resume,
    replacement_of,
    resume_plan,
    send_replacement,
    waiting_dispatch,
)
from zuno_tui.gate.worth import read_worth
from zuno_tui.intents.intents import Apply
from zuno_tui.intents.intents import OpenOutbox as AskedOutbox
from zuno_tui.present import signing
from zuno_tui.present.approval_view import replacement_view, signing_key, waiting_view
from zuno_tui.present.views import ApprovalView, PlanView, ResultView, StepProgress, StepView

RESUME = "resume"


def resumption_view(resumption: Resumption, network: Network, *, expires_at: float) -> ApprovalView:
    dispatch, step, parties = resumption.dispatch, resumption.step, resumption.parties
    host = dispatch.private_host
    return ApprovalView(
        plan_id=dispatch.plan_id,
        headline=f"{RESUME} {step.title} of {dispatch.plan_id}",
        hash=dispatch.hash,
        expires_at=expires_at,
        steps=(StepView(step.title, (resumption.headline, *resumption.words(network))),),
        outcome=() if host is None else (f"Sent through {host} alone.",),
        wallet=checksum(dispatch.sender),
        signs_with="nothing: it is signed already, and sent as it is",
        can_sign=True,
        needs_passphrase=False,
        word=RESUME,
        recipients=signing.recipients(parties),
        terms=signing.terms(network, parties, resumption.gas, resumption.tokens),
    )


def _is_another(shown: PlanView | None, approved_id: str) -> bool:
    """Whether a plan that was argued and not applied is on the card, and not what was approved."""
    if shown is None or not shown.options or shown.result is not None:
        return False
    return shown.plan_id != approved_id


_READ_PATIENCE = 60.0
_PATIENCE = 3 * 3600.0
_LOOK = "It may have been sent before. See where things stand: outbox"
"""Seconds; each step ends its own waiting long before."""


class Signing:
    def __init__(
        self,
        context: DeskContext,
        card: Card,
        questions: Questions,
        ask_elsewhere: Callable[[str], bool],
    ) -> None:
        self._context = context
        self._ask_elsewhere = ask_elsewhere
        """Asks for the word of what a feature approved; False where the plan is no feature's."""
        self._card = card
        self._questions = questions

    def ask(self, intent: Apply) -> None:
        """Show once more what is approved, read from its bytes, and wait for the word."""
        shown = self._card.view
        if intent.plan_id is not None or (shown is not None and shown.approval is not None):
            self._begin(intent.plan_id)
        else:
            self._context.jobs.start(
                "apply",
                "Reading what is approved",
                lambda _: self._choose(),
                seconds=_READ_PATIENCE,
            )

    async def _choose(self) -> None:
        """Nothing was named and nothing approved is on the card: only one approval may be open."""
        context, session = self._context, self._context.session
        now = await network_now(context.sources)
        with Outbox.open(session.home.outbox) as outbox:
            meant = only_open_plan(outbox, session.network.chain_id, now, context.sources.clock())
        if meant is None or not self._ask_elsewhere(meant):
            self._begin(None)

    def _begin(self, plan_id: str | None) -> None:
        self._context.jobs.start(
            "confirm",
            "Reading what is approved",
            lambda _: self._ask(plan_id),
            seconds=_READ_PATIENCE,
            opens_page=True,
        )

    def ask_resume(self, asked: AskedOutbox) -> None:
        """Show what would be sent again, and wait for the word; no key is needed for it."""
        self._context.jobs.start(
            "confirm",
            "Reading what is signed and not sent",
            lambda _: self._ask_resume(asked.plan_id),
            seconds=_READ_PATIENCE,
        )

    def ask_replacement(self, action: str, plan_id: str | None) -> None:
        self._context.jobs.start(
            "confirm",
            "Reading what waits",
            lambda _: self._ask_replacement(action, plan_id),
            seconds=_READ_PATIENCE,
        )

    async def _ask(self, plan_id: str | None) -> None:
        context, session, shown = self._context, self._context.session, self._card.view
        approved = None if shown is None else shown.approval
        if plan_id is None and approved is not None:
            plan_id = approved.plan_id
        async with session.connections(context.sources) as connections:
            with Outbox.open(session.home.outbox) as outbox:
                approval, dispatch = unused_approval(outbox, plan_id, None)
                if plan_id is None and _is_another(shown, approval.plan_id):
                    raise GateRefusedError(
                        "The plan shown is not approved. To sign what was approved before, "
                        f"{approval.headline}: apply {approval.plan_id}"
                    )
                try:
                    judgment = await judge_again(
                        context.sources,
                        connections,
                        outbox,
                        approval,
                        dispatch,
                        limits=self._limits,
                    )
                except GateRefusedError as refusal:
                    lines = tuple(str(refusal).splitlines())
                    self._card.show_refusal(ResultView(approval.plan_id, "refused", lines, None))
                    raise
        waiting = waiting_of(session.network, approval, dispatch, judgment)
        key = signing_key(session.home, session.network, dispatch.sender)
        block = judgment.basis.subject.block
        worth = await read_worth(context.sources, tuple(waiting.tokens), block)
        view = waiting_view(waiting, session.network, key, worth)
        self._put(view, lambda passphrase: self._apply(view, passphrase, worth.usd_per_unit))

    async def _ask_replacement(self, action: str, plan_id: str | None) -> None:
        context, session = self._context, self._context.session
        with Outbox.open(session.home.outbox) as outbox:
            dispatch = waiting_dispatch(outbox, session.network.chain_id, plan_id)
        replacement = await replacement_of(context.sources, dispatch, action, self._limits)
        key = signing_key(session.home, session.network, dispatch.sender)
        view = replacement_view(
            replacement, session.network, key, expires_at=context.clock() + APPROVAL_SECONDS
        )
        self._put(view, lambda passphrase: self._replace(replacement, passphrase))

    async def _ask_resume(self, plan_id: str | None) -> None:
        context, session = self._context, self._context.session
        async with session.connections(context.sources) as connections:
            with Outbox.open(session.home.outbox) as outbox:
                resumption = await prepare_resume(
                    context.sources, connections, outbox, plan_id, limits=self._limits
                )
        until = context.clock() + APPROVAL_SECONDS
        view = resumption_view(resumption, session.network, expires_at=until)
        self._put(view, lambda _passphrase: self._resume(resumption))

    async def _resume(self, resumption: Resumption) -> None:
        context, session = self._context, self._context.session
        async with session.connections(context.sources) as connections:
            with Outbox.open(session.home.outbox) as outbox:
                dispatch = await resume_plan(
                    context.sources,
                    connections,
                    outbox,
                    resumption,
                    limits=self._limits,
                    changed=lambda _: None,
                )
        step = dispatch.steps[resumption.step.position]
        self._questions.end(
            resumption.dispatch.hash, f"{step.title}: {step.state}. Follow it: outbox"
        )

    def _put(self, view: ApprovalView, do: Callable[[Passphrase | None], Awaitable[None]]) -> None:
        left = APPROVAL_SECONDS if view.seconds_left is None else view.seconds_left
        question = Question(
            view.hash,
            view.word,
            self._questions.until(left),
            refusal="" if view.can_sign else view.signs_with,
            needs_passphrase=view.needs_passphrase,
        )
        self._questions.put(
            question, ConfirmationAsked(view), Act("Signing and sending", do, _PATIENCE)
        )

    async def _apply(
        self,
        view: ApprovalView,
        passphrase: Passphrase | None,
        usd_per_unit: Mapping[Address, float],
    ) -> None:
        context, session, card = self._context, self._context.session, self._card
        begun = False

        def went_on(step: PlanStep) -> None:
            nonlocal begun
            begun = True
            block = None if step.inclusion is None else step.inclusion.block_number
            card.went_on(step.position, StepProgress(step_words(step), _how_far(step), block))

        card.show_approval(view)
        try:
            async with session.connections(context.sources) as connections:
                with Outbox.open(session.home.outbox) as outbox:
                    approval, dispatch = unused_approval(outbox, view.plan_id, view.hash)
                    judgment = await judge_again(
                        context.sources,
                        connections,
                        outbox,
                        approval,
                        dispatch,
                        limits=self._limits,
                    )
                    waiting = waiting_of(session.network, approval, dispatch, judgment)
                    steps = [step.transaction for step in dispatch.steps]
                    with await self._signer(steps, passphrase) as signer:
                        dispatch = await apply(
                            context.sources, connections, outbox, waiting, signer, changed=went_on
                        )
                result = await read_result(context.sources, connections, approval, dispatch)
        except Exception as error:
            card.show_failure(view.plan_id, error, sent=_LOOK if begun else "")
            self._questions.end(view.hash, fault_words(error))
            return
        minted = result.minted[0] if result.minted else None
        expected = (
            None
            if view.receipt is None or waiting.changes is None
            else ExpectedOutcome(view.receipt, waiting.changes, usd_per_unit)
        )
        network = self._context.session.network
        card.show_end(
            ResultView(
                view.plan_id,
                result.state,
                tuple(result_notes(result, waiting.tokens, network, expected)),
                minted,
                result.is_done,
                tuple(sent_transactions(result, network)),
                result_headline(result) or view.headline,
            )
        )
        context.tell(
            Said(
                f"{view.headline}: {'done' if result.is_done else result.state}.",
                "good" if result.is_done else "bad",
            )
        )
        for left in approval.about.refs if result.is_done else ():
            for words in what_outlives(context.session, left):
                context.tell(Said(words, "warn"))

    async def _replace(self, replacement: Replacement, passphrase: Passphrase | None) -> None:
        context, session = self._context, self._context.session
        async with session.connections(context.sources) as connections:
            with (
                Outbox.open(session.home.outbox) as outbox,
                await self._signer([replacement.transaction], passphrase) as signer,
            ):
                step = await send_replacement(
                    context.sources,
                    connections,
                    outbox,
                    replacement,
                    signer,
                    limits=self._limits,
                )
        self._questions.end(
            replacement.transaction.digest,
            f"{step.title}: {replacement.action} {step.state}. Follow it: outbox",
        )

    @property
    def _limits(self) -> GateLimits:
        session = self._context.session
        return gate_limits(session.settings.limits, session.network)

    async def _signer(
        self, steps: Sequence[UnsignedTransaction], passphrase: Passphrase | None
    ) -> Signer:
        """Opened on another thread: a keystore takes its time on purpose."""
        sender, lender = steps[0].sender, lender_in(steps)

        def give_passphrase(wallet: Wallet) -> Passphrase:
            if wallet.address == lender:
                raise WalletError(
                    f"{wallet.name} has a passphrase of its own, which is asked for in a shell: "
                    f"zuno wallet delegate --for {wallet.name}. Nothing was signed."
                )
            if passphrase is None:
                raise WalletError("The passphrase is missing. Nothing was signed. Try again.")
            return passphrase

        session, loop = self._context.session, asyncio.get_running_loop()

        def show_words(words: str) -> None:
            """From the thread that waits for a device."""
            loop.call_soon_threadsafe(self._context.tell, Said(words, "warn"))

        return await asyncio.to_thread(
            open_signer,
            session.home,
            session.network,
            sender,
            give_passphrase,
            session.devices,
            asking=show_words,
            lender=lender,
        )


def _how_far(step: PlanStep) -> Literal["under way", "done", "stopped"]:
    """Nothing counts as done before a block holds it."""
    if step.state in SUCCEEDED:
        return "done"
    return "stopped" if step.state in STOPPED else "under way"
