"""Applying an approved plan: sign, write down, send once, and follow until the chain has decided.

Nothing is ever signed twice for one step, and nothing is sent that is not on disk.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from chain.execution.journal import OutboxError
from chain.execution.journal_records import SUCCEEDED, StepState
from chain.execution.sending_delivery import Handing, deliver, observe
from chain.execution.sending_lookup import Standing
from chain.rpc import requests
from chain.rpc.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from chain.execution.journal_records import Dispatch, Step
    from chain.execution.outbox import Outbox
    from chain.execution.sending_delivery import Observed
    from chain.execution.sending_route import Route
    from chain.execution.transaction import SignedTransaction, UnsignedTransaction
    from chain.rpc.reader import Reader


class Signer(Protocol):
    def sign(self, transaction: UnsignedTransaction, /) -> SignedTransaction: ...


@dataclass(frozen=True, slots=True)
class Patience:
    poll_seconds: float = 2.0
    inclusion_seconds: float = 900.0
    """How long one step is waited for; it stays in the outbox after that."""
    finality_seconds: float = 1800.0
    resend_seconds: float = 15.0
    """How long bytes that no pool shows are left alone before the same ones are sent again."""
    replaced_looks: int = 2
    """How often a nonce must look taken by a stranger: endpoints may lag behind one another."""


class NotSentError(OutboxError):
    """Signed and on disk, but no endpoint was there to take it."""

    def __init__(self, step: Step, error: RpcError | None) -> None:
        why = f" {error.sentence}" if error else ""
        super().__init__(
            f"{step.name} is signed and kept, but it could not be sent.{why}",
            "Send the same bytes later, or cancel: zuno outbox",
        )
        self.error = error


async def _no_objection(_transaction: UnsignedTransaction, _block_hash: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Sender:
    outbox: Outbox
    reads: Reader
    route: Route
    chain_id: int
    clock: Callable[[], float]
    """What the journal's times are by."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    patience: Patience = field(default_factory=Patience)
    changed: Callable[[Step], None] = lambda _step: None
    """Told of every state a step comes to."""
    objection: Callable[[UnsignedTransaction, str], Awaitable[str | None]] = _no_objection
    """Why a later step must not be signed after all, tried on the block its forerunner is in."""

    async def apply(self, dispatch_hash: str, signer: Signer, *, at: float) -> Dispatch:
        """Use up the approval and take the steps in turn; a step that fails ends it there.

        `at` is the time by the network's clock, which the approval's age is judged by.
        """
        with self.outbox.applying() as alone:
            if not alone:
                raise OutboxError(
                    "Another zuno is applying a plan right now. Nothing was sent.",
                    "Wait for it: zuno outbox",
                )
            refusal = self.route.refusal(self._of_this_chain(dispatch_hash))
            if refusal is not None:
                raise refusal
            dispatch = self.outbox.consume(dispatch_hash, now=at)
            try:
                for step in dispatch.steps:
                    if not await self._take(dispatch, step, signer):
                        break
            finally:
                self.outbox.discard_unsigned(
                    dispatch_hash, now=self.clock(), reason="the plan ended before it"
                )
        return self.outbox.dispatch(dispatch_hash)

    async def watch(self, dispatch_hash: str) -> Dispatch:
        """Follow what was sent until it is final, sending the same bytes again after a reorg."""
        ends = self.clock() + self.patience.finality_seconds
        resends = _Resends(self.patience.resend_seconds)
        while True:
            dispatch = self._of_this_chain(dispatch_hash)
            following = [step for step in dispatch.steps if step.versions and not step.settled]
            if not following or self.clock() >= ends:
                return dispatch
            for step in following:
                await self._look(dispatch, step, resends)
            await self.sleep(self.patience.poll_seconds)

    async def replace(
        self,
        dispatch_hash: str,
        position: int,
        replacement: UnsignedTransaction,
        signer: Signer,
        *,
        at: float,
    ) -> Step:
        """Sign and send an approved speed-up or cancellation, with the nonce of the step."""
        refusal = self.route.refusal(self._of_this_chain(dispatch_hash))
        if refusal is not None:
            raise refusal
        self.outbox.consume_replacement(dispatch_hash, position, replacement, now=at)
        signed = await asyncio.to_thread(signer.sign, replacement)
        step = self.outbox.record_replacement(dispatch_hash, position, signed, now=self.clock())
        return await self.resend(self._told(step))

    async def resend(self, step: Step) -> Step:
        """Send the newest bytes of a step once more."""
        dispatch = self._of_this_chain(step.dispatch)
        delivered = await deliver(
            self.outbox, self.reads, self.route, dispatch, step, now=self.clock()
        )
        if delivered.handing is Handing.NOT_SENT:
            raise NotSentError(step, delivered.error)
        return self._told(delivered.step)

    async def _take(self, dispatch: Dispatch, step: Step, signer: Signer) -> bool:
        """Whether one step was signed, sent and included."""
        if await self._is_late(step) or await self._is_objected_to(step):
            return False
        signed = await asyncio.to_thread(signer.sign, step.transaction)
        step = self._told(
            self.outbox.record_signed(dispatch.hash, step.position, signed, now=self.clock())
        )
        await self._first_send(dispatch, step)
        return await self._included(dispatch.hash, step.position)

    async def _is_late(self, step: Step) -> bool:
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

    async def _is_objected_to(self, step: Step) -> bool:
        """Whether a later step, tried where the one before it now stands, must not be signed."""
        if step.position == 0:
            return False
        ends = self.clock() + self.patience.inclusion_seconds
        while True:
            before = self.outbox.dispatch(step.dispatch).steps[step.position - 1].inclusion
            if before is None:
                raise OutboxError(f"{step.name} waits for the step before it.")
            try:
                reason = await self.objection(step.transaction, before.block_hash)
                break
            except RpcError:
                if self.clock() >= ends:
                    raise
            await self.sleep(self.patience.poll_seconds)
            # A reorg may have moved the step before it to another block, or out of all of them.
            if not await self._included(step.dispatch, step.position - 1):
                return True
        if reason is None:
            return False
        ended = self.outbox.discard_unsigned(step.dispatch, now=self.clock(), reason=reason)
        self._told(ended.steps[step.position])
        return True

    async def _first_send(self, dispatch: Dispatch, step: Step) -> None:
        ends = self.clock() + self.patience.resend_seconds
        while True:
            delivered = await deliver(
                self.outbox, self.reads, self.route, dispatch, step, now=self.clock()
            )
            if delivered.handing is not Handing.NOT_SENT:
                self._told(delivered.step)
                return
            error = delivered.error
            passing = error is not None and error.retryable and not error.lasting
            if not passing or self.clock() >= ends:
                raise NotSentError(step, error)
            await self.sleep(self.patience.poll_seconds)

    async def _included(self, dispatch_hash: str, position: int) -> bool:
        """Wait for a block, watching earlier steps too: a reorg can take them back."""
        ends = self.clock() + self.patience.inclusion_seconds
        resends = _Resends(self.patience.resend_seconds, self.clock())
        replaced = 0
        while True:
            dispatch = self.outbox.dispatch(dispatch_hash)
            standings: list[Standing | None] = []
            for step in dispatch.steps[: position + 1]:
                if not step.settled:
                    standings.append(await self._look(dispatch, step, resends))
            steps = self.outbox.dispatch(dispatch_hash).steps[: position + 1]
            if all(step.state in SUCCEEDED for step in steps):
                return True
            replaced = replaced + 1 if Standing.REPLACED in standings else 0
            stopped = any(
                step.state in (StepState.REVERTED, StepState.DROPPED)
                or (step.state is StepState.REPLACED and (step.settled or step.inclusion))
                for step in steps
            )
            if stopped or replaced >= self.patience.replaced_looks or self.clock() >= ends:
                return False
            await self.sleep(self.patience.poll_seconds)

    async def _look(self, dispatch: Dispatch, step: Step, resends: _Resends) -> Standing | None:
        """Where a step stands now; None while the chain does not answer."""
        now = self.clock()
        try:
            observed: Observed = await observe(self.outbox, self.reads, dispatch, step, now=now)
        except RpcError:
            return None
        moved = observed.step
        if moved.state != step.state:
            self._told(moved)
        missing = observed.standing is Standing.MISSING and moved.state is not StepState.DROPPED
        if missing and resends.due(step.position, now):
            again = await deliver(self.outbox, self.reads, self.route, dispatch, moved, now=now)
            if again.step.state != moved.state:
                self._told(again.step)
        return observed.standing

    def _of_this_chain(self, dispatch_hash: str) -> Dispatch:
        dispatch = self.outbox.dispatch(dispatch_hash)
        if dispatch.chain_id != self.chain_id:
            raise OutboxError(
                "This plan is for another network. Nothing was sent.",
                "Name its network: zuno --network NAME",
            )
        return dispatch

    def _told(self, step: Step) -> Step:
        self.changed(step)
        return step


class _Resends:
    """When the bytes of each step were last sent, so that a pool is not flooded with them."""

    def __init__(self, seconds: float, started: float = 0.0) -> None:
        self._seconds = seconds
        self._started = started
        self._last: dict[int, float] = {}

    def due(self, position: int, now: float) -> bool:
        """Whether it is time to send again, which the caller then does."""
        is_due = now - self._last.get(position, self._started) >= self._seconds
        if is_due:
            self._last[position] = now
        return is_due
