"""Applying an approved plan: sign, write down, send once, follow; replace it when it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from chain.base.errors import Failure, SigningError
from chain.execution.outbox.delivery import (
    DeliveredTransaction,
    Handing,
    Observed,
    Route,
    deliver,
    observe,
)
from chain.execution.outbox.heads import Genesis
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.lookup import ONE_ENDPOINT, Evidence, NonceState
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import SUCCEEDED, Dispatch, Doubt, PlanStep, StepState
from chain.execution.outbox.rules import check_can_replace, check_not_over, least_dearer
from chain.execution.outbox.same_chain import newest_of, note_seen, require_same_chain
from chain.execution.transaction import SignedTransaction, UnsignedTransaction
from chain.rpc import requests
from chain.rpc.errors import RpcError
from chain.rpc.requests import Reader

PLAIN_TRANSFER_GAS = 21_000


class Fees(Struct, frozen=True):
    max_fee_per_gas: int
    max_priority_fee_per_gas: int


def speed_up(step: PlanStep, *, market: Fees, cap: Fees) -> UnsignedTransaction:
    """The same transaction at the market's fees, and at least 12.5 % dearer than before."""
    before = _newest(step)
    fees = _dearer(before, market, cap)
    return replace(
        before,
        max_fee_per_gas=fees.max_fee_per_gas,
        max_priority_fee_per_gas=fees.max_priority_fee_per_gas,
    )


def cancellation(
    step: PlanStep, *, market: Fees, cap: Fees, gas: int = PLAIN_TRANSFER_GAS
) -> UnsignedTransaction:
    """Nothing sent to oneself with the step's nonce: once it is included the step cannot be."""
    return replace(
        speed_up(step, market=market, cap=cap),
        to=step.transaction.sender,
        value=0,
        data=b"",
        gas=gas,
    )


def _newest(step: PlanStep) -> UnsignedTransaction:
    check_can_replace(step)
    newest = step.newest
    if newest is None:
        raise OutboxError(f"{step.title} was never signed: there is nothing to replace.")
    return newest.transaction.unsigned


def _dearer(before: UnsignedTransaction, market: Fees, cap: Fees) -> Fees:
    tip = max(least_dearer(before.max_priority_fee_per_gas), market.max_priority_fee_per_gas)
    fee = max(least_dearer(before.max_fee_per_gas), market.max_fee_per_gas, tip)
    if fee > cap.max_fee_per_gas or tip > cap.max_priority_fee_per_gas:
        raise OutboxError(
            f"Replacing it would cost up to {fee} wei per gas, over the cap of"
            f" {cap.max_fee_per_gas}.",
            "Wait for cheaper blocks, or raise the cap in settings.toml.",
        )
    return Fees(fee, tip)


# Nothing is ever signed twice for one step, and nothing is sent that is not on disk.
class TransactionSigner(Protocol):
    def sign(self, transaction: UnsignedTransaction, /) -> SignedTransaction: ...


class Patience(Struct, frozen=True):
    poll_seconds: float = 2.0
    inclusion_seconds: float = 900.0
    """How long one step is waited for; it stays in the outbox after that."""
    finality_seconds: float = 1800.0
    resend_seconds: float = 15.0
    """How long bytes that no pool shows are left alone before the same ones are sent again."""
    witness_seconds: float = 60.0
    """How long endpoints that differ about a step are waited for to agree."""
    anchor_seconds: float = 4.0
    """How long an endpoint may take to know the block a plan was built on."""


class NotSentError(OutboxError):
    """Signed and on disk, but no endpoint was there to take it."""

    failure = Failure.NETWORK

    def __init__(self, step: PlanStep, error: RpcError | None) -> None:
        why = f" {error.sentence}" if error else ""
        super().__init__(
            f"{step.title} is signed and kept, but it could not be sent.{why}",
            "Send the same bytes later, or cancel: zuno outbox resume, zuno outbox cancel",
        )
        self.error = error


async def _no_objection(_transaction: UnsignedTransaction, _block_hash: str) -> str | None:
    return None


class Sender(Struct, frozen=True):
    outbox: Outbox
    reads: Reader
    route: Route
    chain_id: int
    clock: Callable[[], float]
    """What the journal's times are by."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    patience: Patience = field(default_factory=Patience)
    evidence: Evidence = ONE_ENDPOINT
    """Whose word counts for what became of a step."""
    changed: Callable[[PlanStep], None] = lambda _step: None
    """Told of every state a step comes to."""
    objection: Callable[[UnsignedTransaction, str], Awaitable[str | None]] = _no_objection
    """Why a later step must not be signed after all, tried on the block its forerunner is in."""

    async def apply(self, dispatch_hash: str, signer: TransactionSigner, *, at: float) -> Dispatch:
        """Use up the approval and take the steps in turn; a step that fails ends it there.

        `at` is the time by the network's clock, which the approval's age is judged by.
        """
        with self.outbox.hold_apply_lock() as alone:
            if not alone:
                raise OutboxError(
                    "Another zuno is applying a plan right now. Nothing was sent.",
                    "Wait for it: zuno outbox",
                )
            refusal = self.route.refusal(self._of_this_chain(dispatch_hash))
            if refusal is not None:
                raise refusal
            chain = await self._same_chain(dispatch_hash)
            dispatch = self.outbox.consume(dispatch_hash, now=at)
            given_back = False
            try:
                for step in dispatch.steps:
                    if not await self._take(dispatch, step, signer, chain):
                        break
            except SigningError:
                # A device was locked, or its person said no: before the first step nothing is lost.
                given_back = not any(
                    step.versions for step in self.outbox.dispatch(dispatch_hash).steps
                )
                if given_back:
                    self.outbox.give_back(dispatch_hash)
                raise
            finally:
                if not given_back:
                    self.outbox.discard_unsigned(
                        dispatch_hash, now=self.clock(), reason="the plan ended before it"
                    )
        return self.outbox.dispatch(dispatch_hash)

    async def watch(self, dispatch_hash: str) -> Dispatch:
        """Follow what was sent until it is final; nothing is sent by following."""
        ends = self.clock() + self.patience.finality_seconds
        following = _Following(self.clock(), None)
        while True:
            dispatch = self._of_this_chain(dispatch_hash)
            open_steps = [step for step in dispatch.steps if step.versions and not step.settled]
            if not open_steps or self.clock() >= ends:
                return dispatch
            for step in open_steps:
                await self._look(dispatch, step, following)
            await self.sleep(self.patience.poll_seconds)

    async def resume(self, dispatch_hash: str, position: int) -> Dispatch:
        """Send the bytes of the one step that no node has, and wait for its block.

        Every earlier step must still stand; the steps after it were given up when zuno ended.
        """
        with self.outbox.hold_apply_lock() as alone:
            if not alone:
                raise OutboxError(
                    "Another zuno is applying a plan right now. Nothing was sent.",
                    "Wait for it: zuno outbox",
                )
            dispatch = self._of_this_chain(dispatch_hash)
            check_not_over(dispatch)
            chain = await self._same_chain(dispatch_hash)
            for earlier in dispatch.steps[:position]:
                if earlier.state not in SUCCEEDED:
                    raise OutboxError(
                        f"{earlier.title} comes first and is {earlier.state}. Nothing was sent.",
                        "See where things stand: zuno outbox",
                    )
            await self._first_send(dispatch, dispatch.steps[position])
            await self._included(dispatch_hash, position, chain)
        return self.outbox.dispatch(dispatch_hash)

    async def replace(
        self,
        dispatch_hash: str,
        position: int,
        replacement: UnsignedTransaction,
        signer: TransactionSigner,
        *,
        at: float,
    ) -> PlanStep:
        """Sign and send an approved speed-up or cancellation, with the nonce of the step."""
        refusal = self.route.refusal(self._of_this_chain(dispatch_hash))
        if refusal is not None:
            raise refusal
        self.outbox.consume_replacement(dispatch_hash, position, replacement, now=at)
        signed = await asyncio.to_thread(signer.sign, replacement)
        step = self.outbox.record_replacement(dispatch_hash, position, signed, now=self.clock())
        return await self.resend(self._report(step))

    async def resend(self, step: PlanStep) -> PlanStep:
        """Send the newest bytes of a step once more."""
        dispatch = self._of_this_chain(step.dispatch)
        delivered = await self._delivered(dispatch, step)
        if delivered.handing is Handing.NOT_SENT:
            raise NotSentError(step, delivered.error)
        return self._report(delivered.step)

    async def _same_chain(self, dispatch_hash: str) -> Genesis:
        return await require_same_chain(
            self.outbox,
            self.reads,
            self.evidence,
            self._of_this_chain(dispatch_hash),
            clock=self.clock,
            wait=lambda: self.sleep(self.patience.poll_seconds),
            seconds=self.patience.anchor_seconds,
        )

    async def _delivered(self, dispatch: Dispatch, step: PlanStep) -> DeliveredTransaction:
        return await deliver(
            self.outbox,
            self.reads,
            self.route,
            dispatch,
            step,
            now=self.clock(),
            evidence=self.evidence,
        )

    async def _take(
        self, dispatch: Dispatch, step: PlanStep, signer: TransactionSigner, chain: Genesis
    ) -> bool:
        """Whether one step was signed, sent and included."""
        if await self._is_late(step) or await self._is_objected_to(step, chain):
            return False
        signed = await asyncio.to_thread(signer.sign, step.transaction)
        step = self._report(
            self.outbox.record_signed(dispatch.hash, step.position, signed, now=self.clock())
        )
        await self._first_send(dispatch, step)
        return await self._included(dispatch.hash, step.position, chain)

    async def _is_late(self, step: PlanStep) -> bool:
        """Whether no block to come may run it; a silence only ends a plan that has not begun."""
        ends = self.clock() + self.patience.inclusion_seconds
        while True:
            try:
                head = await self.reads.ask(requests.block("latest"))
            except RpcError:
                if step.position == 0 or self.clock() >= ends:
                    raise
                await self.sleep(self.patience.poll_seconds)
                continue
            return head is None or (step.deadline is not None and head.timestamp >= step.deadline)

    async def _is_objected_to(self, step: PlanStep, chain: Genesis) -> bool:
        """Whether a later step, tried where the one before it now stands, must not be signed."""
        if step.position == 0:
            return False
        ends = self.clock() + self.patience.inclusion_seconds
        while True:
            before = self.outbox.dispatch(step.dispatch).steps[step.position - 1].inclusion
            if before is None:
                raise OutboxError(f"{step.title} waits for the step before it.")
            try:
                reason = await self.objection(step.transaction, before.block_hash)
                break
            except RpcError:
                if self.clock() >= ends:
                    raise
            await self.sleep(self.patience.poll_seconds)
            # A reorg may have moved the step before it to another block, or out of all of them.
            if not await self._included(step.dispatch, step.position - 1, chain):
                return True
        if reason is None:
            return False
        ended = self.outbox.discard_unsigned(step.dispatch, now=self.clock(), reason=reason)
        self._report(ended.steps[step.position])
        return True

    async def _first_send(self, dispatch: Dispatch, step: PlanStep) -> None:
        ends = self.clock() + self.patience.resend_seconds
        while True:
            delivered = await self._delivered(dispatch, step)
            if delivered.handing is not Handing.NOT_SENT:
                self._report(delivered.step)
                return
            error = delivered.error
            passing = error is not None and error.retryable and not error.lasting
            if not passing or self.clock() >= ends:
                raise NotSentError(step, error)
            await self.sleep(self.patience.poll_seconds)

    async def _included(self, dispatch_hash: str, position: int, chain: Genesis) -> bool:
        """Wait for a block, watching earlier steps too: a reorg can take them back."""
        ends = self.clock() + self.patience.inclusion_seconds
        following = _Following(self.clock(), chain)
        while True:
            dispatch = self.outbox.dispatch(dispatch_hash)
            for step in dispatch.steps[: position + 1]:
                if not step.settled:
                    await self._look(dispatch, step, following)
            dispatch = self.outbox.dispatch(dispatch_hash)
            steps = dispatch.steps[: position + 1]
            if dispatch.ended is not None:
                return False
            if all(step.state in SUCCEEDED for step in steps) and not following.split_since:
                return True
            stopped = any(
                step.state in (StepState.REVERTED, StepState.DROPPED)
                or (step.state is StepState.REPLACED and (step.settled or step.inclusion))
                for step in steps
            )
            if stopped or self.clock() >= ends or self._gave_up_on(dispatch, following):
                return False
            await self.sleep(self.patience.poll_seconds)

    def _gave_up_on(self, dispatch: Dispatch, following: _Following) -> bool:
        """Whether endpoints have differed about a step for too long, which is then unclear."""
        now, late = self.clock(), False
        for position, since in following.split_since.items():
            if now - since >= self.patience.witness_seconds:
                late = True
                step, doubt = dispatch.steps[position], Doubt.NO_SECOND_WITNESS
                self._report(self.outbox.mark_unclear(step, doubt, now=now))
        return late

    async def _look(self, dispatch: Dispatch, step: PlanStep, following: _Following) -> None:
        """Write down where a step stands now, and send it again if it was in no block yet."""
        now = self.clock()
        try:
            observed: Observed = await observe(
                self.outbox, self.reads, dispatch, step, now=now, evidence=self.evidence
            )
        except RpcError:
            return
        moved = observed.step
        if moved.state != step.state:
            self._report(moved)
        doubted = moved.state is StepState.UNCLEAR and moved.reason != Doubt.NO_SECOND_WITNESS
        unagreed = observed.standing is NonceState.UNCLEAR and not doubted
        following.differs(step.position, unagreed, now)
        if following.chain is None:
            return
        head = observed.seen.head
        if self.evidence.embedded:
            try:
                highest = self.outbox.highest_head(following.chain)
                height = head.number if highest is None else highest.number
                head = await newest_of(self.reads, head, height)
            except RpcError:
                return
        note_seen(self.outbox, self.evidence, following.chain, head, now=now)
        missing = observed.standing is NonceState.MISSING and moved.state is not StepState.DROPPED
        if missing and following.resend_due(step.position, now, self.patience.resend_seconds):
            over = self.outbox.dispatch(dispatch.hash).ended
            if over is None:
                again = await self._delivered(dispatch, moved)
                if again.step.state != moved.state:
                    self._report(again.step)

    def _of_this_chain(self, dispatch_hash: str) -> Dispatch:
        dispatch = self.outbox.dispatch(dispatch_hash)
        if dispatch.chain_id != self.chain_id:
            raise OutboxError(
                "This plan is for another network. Nothing was sent.",
                "Name its network: zuno --network NAME",
            )
        return dispatch

    def _report(self, step: PlanStep) -> PlanStep:
        self.changed(step)
        return step


class _Following:
    """What is remembered while steps are waited for: sends, and since when endpoints differ."""

    def __init__(self, started: float, chain: Genesis | None) -> None:
        self.chain = chain
        """None where nothing may be sent again."""
        self.split_since: dict[int, float] = {}
        self._started = started
        self._sent: dict[int, float] = {}

    def differs(self, position: int, unagreed: bool, now: float) -> None:
        if unagreed:
            self.split_since.setdefault(position, now)
        else:
            self.split_since.pop(position, None)

    def resend_due(self, position: int, now: float, seconds: float) -> bool:
        """Whether it is time to send again, which the caller then does."""
        is_due = now - self._sent.get(position, self._started) >= seconds
        if is_due:
            self._sent[position] = now
        return is_due
