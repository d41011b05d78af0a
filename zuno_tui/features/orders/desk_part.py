"""Orders at the desk: proposed, shown once more, signed by the typed word."""

import asyncio
from collections.abc import Awaitable, Callable

from chain.protocols.reference import PositionRef, position_label
from chain.wallet.errors import WalletError
from chain.wallet.keystore import open_signer
from chain.wallet.secrets import Passphrase
from zuno_tui.desk.approvals import EmbeddedMarket
from zuno_tui.desk.card import Card
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.events import ConfirmationAsked, Said
from zuno_tui.desk.questions import Act, Questions
from zuno_tui.features.orders.carrier import carrier_words
from zuno_tui.features.orders.intents import (
    OrderAsked,
    OrderClose,
    OrderCollect,
    OrderCompound,
    OrderForm,
    OrderMove,
)
from zuno_tui.features.orders.page import headline, order_view
from zuno_tui.features.orders.signing import (
    NotDelegatedError,
    OrderDraft,
    order_form,
    propose_order,
    sign_orders,
    stand_words,
    waiting_order,
)
from zuno_tui.gate.question import Question
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import Apply, Approve
from zuno_tui.present.approval_view import signing_key
from zuno_tui.present.views import ResultView

_PATIENCE, _PAST_PATIENCE = 60.0, 600.0
_LONGEST_WAIT = 1_800.0
_BETWEEN_LOOKS = 3.0
_CARRIED_OUT = "Whichever machine has its watch key and runs zuno or zuno monitor carries it out."


class Orders:
    def __init__(
        self,
        context: DeskContext,
        market: EmbeddedMarket | None,
        questions: Questions,
        card: Card,
    ) -> None:
        self._context = context
        self._market = market
        """In the demo, whose market leaves a person no time to decide."""
        self._questions = questions
        self._card = card

    def close(self) -> None:
        """Nothing is open."""

    def take(self, intent: Intent) -> bool:
        match intent:
            case OrderClose() | OrderCollect() | OrderCompound() | OrderMove():
                label = position_label(intent.ref)
                past = isinstance(intent, OrderCompound)  # a week of swaps is read for it
                self._open(
                    f"Reading position {label}",
                    lambda: self._propose(intent),
                    seconds=_PAST_PATIENCE if past else _PATIENCE,
                )
                return True
            case OrderForm(ref):
                self._open(f"Reading position {position_label(ref)}", lambda: self._open_form(ref))
                return True
            case _:
                return False

    def show(self, plan_id: str | None = None) -> None:
        self._open("Reading what waits to be signed", lambda: self._read(plan_id))

    def approve(self, _intent: Approve, plan_id: str) -> None:
        self.show(plan_id)

    def ask(self, _asked: Apply, plan_id: str) -> None:
        self.show(plan_id)

    def _open(
        self, words: str, read: Callable[[], Awaitable[None]], *, seconds: float = _PATIENCE
    ) -> None:
        self._context.jobs.start(
            "confirm", words, lambda _: read(), seconds=seconds, opens_page=True
        )

    async def _open_form(self, ref: PositionRef) -> None:
        self._context.tell(await order_form(self._context.session, ref))

    async def _propose(self, intent: OrderAsked) -> None:
        try:
            draft = await self._drafted(intent)
        except NotDelegatedError:
            self._wait(intent)
            return
        self._ask(draft)
        words = f"{headline(draft.order, draft.call)}: nothing is signed yet. To sign it: apply"
        self._context.tell(Said(words, "good", intent.twin))

    async def _drafted(self, intent: OrderAsked) -> OrderDraft:
        if self._market is None:
            return await propose_order(self._context.session, intent)
        await self._market.give_time()
        try:
            return await propose_order(self._context.session, intent)
        finally:
            # From here on the approval itself holds the market, until it is used or lapses.
            await self._market.go_on()

    def _wait(self, intent: OrderAsked) -> None:
        """What was asked for is not typed again: its page follows the delegation."""
        words = "Set your account up for orders once: type delegate. Then ctrl+o opens this order."
        self._context.tell(Said(words, "warn", intent.twin))
        self._context.jobs.start(
            "order",
            "Waiting for delegate",
            lambda _: self._propose_once_delegated(intent),
            seconds=_LONGEST_WAIT,
            again=intent,
        )

    async def _propose_once_delegated(self, intent: OrderAsked) -> None:
        while True:
            form = await order_form(self._context.session, intent.ref)
            if form.delegated:
                await self._propose(intent)
                return
            await asyncio.sleep(_BETWEEN_LOOKS)

    async def _read(self, plan_id: str | None) -> None:
        self._ask(await waiting_order(self._context.session, plan_id))

    def _ask(self, draft: OrderDraft) -> None:
        session = self._context.session
        key = signing_key(session.home, session.network, session.address)
        view = order_view(draft, key, carrier_words(session.home))
        question = Question(
            draft.hash,
            view.word,
            self._questions.until(draft.approval.expires_at - draft.now),
            refusal="" if key.can_sign else key.words,
            needs_passphrase=key.needs_passphrase,
        )
        act = Act("Signing the order", lambda given: self._sign(draft, given), _PATIENCE)
        self._card.show_approval(view, (draft.call.ref,))
        self._questions.put(question, ConfirmationAsked(view), act)

    async def _sign(self, shown: OrderDraft, passphrase: Passphrase | None) -> None:
        session = self._context.session

        def give_passphrase(_: object) -> Passphrase:
            if passphrase is None:
                raise WalletError("The passphrase is missing. Nothing was signed. Try again.")
            return passphrase

        try:
            # A word takes its time, and the chain does not wait for it.
            draft = await waiting_order(session, shown.plan_id)
            if draft.hash != shown.hash:
                raise GateRefusedError("What was shown is not what waits. Nothing was signed.")
            with open_signer(
                session.home, session.network, session.address, give_passphrase, session.devices
            ) as signer:
                orders = await asyncio.to_thread(
                    sign_orders, session, draft, signer.sign_delegation
                )
        except Exception as error:
            self._card.show_failure(shown.plan_id, error)
            raise
        order, title = orders[0], stand_words(orders)
        words = f"{title}: {headline(order, draft.call)}."
        lines = (words, _CARRIED_OUT, f"To end it: order cancel {order.number}")
        result = ResultView(draft.plan_id, "signed", lines, None, done=True, headline=title)
        self._card.show_end(result)
        self._context.tell(Said(words, "good", f"zuno apply {draft.plan_id}"))
        if self._market is not None:
            await self._market.go_on()
