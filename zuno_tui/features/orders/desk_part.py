"""Orders at the desk: proposed, shown once more, signed by the typed word."""

import asyncio
from collections.abc import Awaitable, Callable

from chain.positions.reference import PositionRef, position_label
from chain.wallet.address_book import KeyStorage, read_book
from chain.wallet.errors import WalletError
from chain.wallet.keystore import open_signer
from chain.wallet.secrets import Passphrase
from zuno_tui.catalog.command import Intent
from zuno_tui.catalog.intents import Apply, Approve
from zuno_tui.desk.approvals import EmbeddedMarket
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.events import ConfirmationEnded, Said
from zuno_tui.desk.jobs import fault_words
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
from zuno_tui.gate.refusal import GateRefusedError

_PATIENCE = 60.0
_LONGEST_WAIT = 1_800.0
_BETWEEN_LOOKS = 3.0


class Orders:
    def __init__(self, context: DeskContext, _market: EmbeddedMarket | None = None) -> None:
        self._context = context
        self._draft: OrderDraft | None = None
        self._asked: str | None = None
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

    def waits_for(self, approval_hash: str) -> bool:
        return self._asked == approval_hash

    def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:
        draft, self._asked = self._draft, None
        fits = draft is not None and draft.hash == approval_hash and word == WORD
        started = (
            draft is not None
            and fits
            and self._context.jobs.start(
                "send",
                "Signing the order",
                lambda _: self._sign(draft, passphrase),
                seconds=_PATIENCE,
            )
        )
        if not started:
            if passphrase is not None:
                passphrase.wipe()
            self._end(approval_hash, "That was not the word, or something is being signed.")

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
        words = "Once, the account must be prepared: type delegate. This order's page follows."
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
        self._draft, self._asked = draft, draft.hash
        self.changed_at = self._context.clock()
        session = self._context.session
        wallet = read_book(session.home.keystore).at(session.address)
        view = OrderApprovalView(
            draft.plan_id,
            draft.hash,
            WORD,
            draft.expires_at - self._context.clock(),
            headline(draft.order, draft.call),
            draft_terms(draft),
            draft_recipient(draft),
            draft_rows(draft),
            wallet is not None and wallet.keeping is KeyStorage.FILE,
        )
        self._context.tell(OrderConfirmationAsked(view))

    async def _sign(self, shown: OrderDraft, passphrase: Passphrase | None) -> None:
        session, draft = self._context.session, shown

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
                session.home, session.network, session.address, give_passphrase
            ) as signer:
                order = keep_signed(session, draft, signer.sign_delegation(draft.order.signed))
        except Exception as error:
            self._end(draft.hash, fault_words(error))
            raise
        finally:
            if passphrase is not None:
                passphrase.wipe()
        words = f"Order {order.number} stands: {headline(order, draft.call)}."
        self._end(draft.hash, f"{words} See it: orders")
        twin = f"zuno apply {draft.plan_id}"
        self._context.tell(Said(words, "good", twin))

    def _end(self, approval_hash: str, words: str) -> None:
        self._context.tell(ConfirmationEnded(approval_hash, words))
