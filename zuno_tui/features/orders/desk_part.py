"""Orders at the desk: proposed, shown once more, signed by the typed word."""

import asyncio
from collections.abc import Awaitable, Callable

from chain.protocols.reference import PositionRef, position_label
from chain.wallet.errors import WalletError
from chain.wallet.keystore import open_signer
from chain.wallet.secrets import Passphrase
from zuno_tui.catalog.command import Intent
from zuno_tui.catalog.intents import Apply, Approve
from zuno_tui.desk.approvals import EmbeddedMarket
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.events import ConfirmationEnded, Said
from zuno_tui.desk.questions import Act, Questions
from zuno_tui.features.orders.events import OrderApprovalView, OrderConfirmationAsked
from zuno_tui.features.orders.intents import OrderClose, OrderCollect, OrderForm
from zuno_tui.features.orders.page import draft_recipient, draft_rows, draft_terms, headline
from zuno_tui.features.orders.signing import (
    NotDelegatedError,
    OrderDraft,
    keep_signed,
    order_form,
    propose_order,
    waiting_order,
)
from zuno_tui.gate.apply import WORD
from zuno_tui.gate.question import Question
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.present.approval_view import signing_key

_PATIENCE = 60.0
_LONGEST_WAIT = 1_800.0
_BETWEEN_LOOKS = 3.0


class Orders:
    def __init__(
        self, context: DeskContext, _market: EmbeddedMarket | None, questions: Questions
    ) -> None:
        self._context = context
        self._questions = questions
        self._draft: OrderDraft | None = None
        self.changed_at = 0.0

    @property
    def plan_id(self) -> str | None:
        return None if self._draft is None else self._draft.plan_id

    def close(self) -> None:
        """Nothing is open."""

    def take(self, intent: Intent) -> bool:
        match intent:
            case OrderClose() | OrderCollect():
                label = position_label(intent.ref)
                self._open(f"Reading position {label}", lambda: self._propose(intent))
                return True
            case OrderForm(ref):
                self._open(f"Reading position {position_label(ref)}", lambda: self._open_form(ref))
                return True
            case _:
                return False

    def show(self, plan_id: str | None = None) -> None:
        shown = plan_id or self.plan_id
        self._open("Reading what waits to be signed", lambda: self._read(shown))

    def approve(self, _intent: Approve, plan_id: str) -> None:
        self.show(plan_id)

    def ask(self, _asked: Apply, plan_id: str) -> None:
        self.show(plan_id)

    def _open(self, words: str, read: Callable[[], Awaitable[None]]) -> None:
        self._context.jobs.start(
            "confirm", words, lambda _: read(), seconds=_PATIENCE, opens_page=True
        )

    async def _open_form(self, ref: PositionRef) -> None:
        self._context.tell(await order_form(self._context.session, ref))

    async def _propose(self, intent: OrderClose | OrderCollect) -> None:
        try:
            draft = await propose_order(self._context.session, intent)
        except NotDelegatedError:
            self._wait(intent)
            return
        self._ask(draft)
        words = f"{headline(draft.order, draft.call)}: nothing is signed yet. To sign it: apply"
        self._context.tell(Said(words, "good", intent.twin))

    def _wait(self, intent: OrderClose | OrderCollect) -> None:
        """What was asked for is not typed again: its page follows the delegation."""
        words = "Set your account up for orders once: type delegate. Then ctrl+o opens this order."
        self._context.tell(Said(words, "warn", intent.twin))
        self._context.jobs.start(
            "order",
            "Waiting for delegate",
            lambda _: self._propose_once_delegated(intent),
            seconds=_LONGEST_WAIT,
        )

    async def _propose_once_delegated(self, intent: OrderClose | OrderCollect) -> None:
        while True:
            form = await order_form(self._context.session, intent.ref)
            if form.delegated:
                await self._propose(intent)
                return
            await asyncio.sleep(_BETWEEN_LOOKS)

    async def _read(self, plan_id: str | None) -> None:
        self._ask(await waiting_order(self._context.session, plan_id))

    def _ask(self, draft: OrderDraft) -> None:
        self._draft = draft
        self.changed_at = self._context.clock()
        session, left = self._context.session, draft.approval.expires_at - draft.now
        key = signing_key(session.home, session.network, session.address)
        view = OrderApprovalView(
            draft.plan_id,
            draft.hash,
            WORD,
            left,
            headline(draft.order, draft.call),
            draft_terms(draft),
            draft_recipient(draft),
            draft_rows(draft),
            key.needs_passphrase,
        )
        question = Question(
            draft.hash,
            WORD,
            self._questions.until(left),
            refusal="" if key.can_sign else key.words,
            needs_passphrase=key.needs_passphrase,
        )
        act = Act("Signing the order", lambda given: self._sign(draft, given), _PATIENCE)
        self._questions.put(question, OrderConfirmationAsked(view), act)

    async def _sign(self, shown: OrderDraft, passphrase: Passphrase | None) -> None:
        session = self._context.session

        def give_passphrase(_: object) -> Passphrase:
            if passphrase is None:
                raise WalletError("The passphrase is missing. Nothing was signed. Try again.")
            return passphrase

        # A word takes its time, and the chain does not wait for it.
        draft = await waiting_order(session, shown.plan_id)
        if draft.hash != shown.hash:
            raise GateRefusedError("What was shown is not what waits. Nothing was signed.")
        with open_signer(session.home, session.network, session.address, give_passphrase) as signer:
            order = keep_signed(session, draft, signer.sign_delegation(draft.order.signed))
        words = f"Order {order.number} stands: {headline(order, draft.call)}."
        self._context.tell(ConfirmationEnded(draft.hash, f"{words} See it: orders"))
        twin = f"zuno apply {draft.plan_id}"
        self._context.tell(Said(words, "good", twin))
