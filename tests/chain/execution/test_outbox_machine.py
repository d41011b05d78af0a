"""Any sequence of calls on the journal: at most one effect a plan, one nonce a step, nothing lost.

A little chain stands beside it: it includes at most one of the versions with a nonce, may take a
block back, and makes blocks final. Two plans want the same nonces.
"""

import contextlib

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import (
    HOLDS_NONCE,
    SUCCEEDED,
    Inclusion,
    PlanStep,
    StepState,
    VersionKind,
)
from tests.chain.execution.outbox_kit import dearer, planned, signed_by, transfer

HASHES = st.sampled_from(("a1", "a2", "b1"))
RARELY = st.integers(0, 7)
"""Zero for what ends a plan, or most runs would see nothing else."""
POSITIONS = st.sampled_from((0, 1))
BLOCK = "0x" + "cd" * 32
PLANS = {
    # Two approvals of one plan, a nonce apart, and another plan that was built on the same nonces.
    "a1": planned(transfer(0), transfer(1), plan_id="a", hash="a1"),
    "a2": planned(transfer(1, gas=70_000), transfer(2), plan_id="a", hash="a2"),
    "b1": planned(transfer(0, value=9), transfer(1, value=9), plan_id="b", hash="b1"),
}


class JournalMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.outbox = Outbox.in_memory()
        self.now = 0.0
        self.consumed: set[str] = set()
        self.on_chain: dict[int, str] = {}
        """Which transaction has taken a nonce."""
        self.final: set[int] = set()
        for plan in PLANS.values():
            self.outbox.plan(plan, now=0)

    def step(self, hash_: str, position: int) -> PlanStep:
        return self.outbox.dispatch(hash_).steps[position]

    @rule(hash_=HASHES)
    def approve(self, hash_: str) -> None:
        """Its ten minutes start here."""
        with contextlib.suppress(OutboxError):
            self.outbox.approve(hash_, now=self.now)

    @rule(rarely=RARELY)
    def wait(self, rarely: int) -> None:
        self.now += 1.0 if rarely else 700.0

    @rule(hash_=HASHES)
    def consume(self, hash_: str) -> None:
        before = self.outbox.dispatch(hash_)
        try:
            self.outbox.consume(hash_, now=self.now)
        except OutboxError:
            assert self.outbox.dispatch(hash_) == before
            return
        assert hash_ not in self.consumed
        assert before.expires_at is not None
        assert self.now < before.expires_at
        self.consumed.add(hash_)

    @rule(hash_=HASHES, position=POSITIONS)
    def sign(self, hash_: str, position: int) -> None:
        step = self.step(hash_, position)
        signed = signed_by(DEMO_WALLET, step.transaction)
        holders = [
            other
            for dispatch in self.outbox.dispatches()
            for other in dispatch.steps
            if other.state in HOLDS_NONCE
            and not other.settled
            and other.transaction.nonce == step.transaction.nonce
        ]
        with contextlib.suppress(OutboxError):
            self.outbox.record_signed(hash_, position, signed, now=self.now)
            assert hash_ in self.consumed
            assert not step.versions
            assert not holders

    @rule(hash_=HASHES)
    def begin(self, hash_: str) -> None:
        """What an apply does, so that the machine gets beyond it more often."""
        self.approve(hash_)
        self.consume(hash_)
        self.sign(hash_, 0)

    @rule(hash_=HASHES, final=st.booleans())
    def begin_and_land(self, hash_: str, final: bool) -> None:
        """The same, and the chain takes it at once."""
        self.begin(hash_)
        self.mine(hash_, 0, 0)
        if final:
            self.finalise(self.step(hash_, 0).transaction.nonce)
        self.observe(hash_, 0, True)

    @rule(hash_=HASHES, position=POSITIONS, cancel=st.booleans())
    def replace(self, hash_: str, position: int, cancel: bool) -> None:
        step = self.step(hash_, position)
        if step.newest is None or len(step.versions) > 3:
            return
        wanted = dearer(step.newest.transaction.unsigned)
        if cancel:
            wanted = dearer(
                transfer(
                    wanted.nonce,
                    to=wanted.sender,
                    value=0,
                    fee=wanted.max_fee_per_gas,
                    tip=wanted.max_priority_fee_per_gas,
                )
            )
        with contextlib.suppress(OutboxError):
            self.outbox.approve_replacement(hash_, position, wanted, now=self.now)
            self.outbox.consume_replacement(hash_, position, wanted, now=self.now)
            signed = signed_by(DEMO_WALLET, wanted)
            self.outbox.record_replacement(hash_, position, signed, now=self.now)

    @rule(hash_=HASHES, position=POSITIONS, which=st.integers(0, 4))
    def mine(self, hash_: str, position: int, which: int) -> None:
        """The chain includes any version ever signed whose nonce is next."""
        step = self.step(hash_, position)
        nonce = step.transaction.nonce
        if step.versions and nonce == len(self.on_chain):
            version = step.versions[which % len(step.versions)]
            self.on_chain[nonce] = version.transaction.hash

    @rule()
    def reorganise(self) -> None:
        newest = len(self.on_chain) - 1
        if newest >= 0 and newest not in self.final:
            del self.on_chain[newest]

    @rule(nonce=st.sampled_from((0, 1, 2)))
    def finalise(self, nonce: int) -> None:
        if nonce in self.on_chain and (nonce == 0 or nonce - 1 in self.final):
            self.final.add(nonce)

    @rule(hash_=HASHES, position=POSITIONS, succeeded=st.booleans())
    def observe(self, hash_: str, position: int, succeeded: bool) -> None:
        """Write what the chain shows, as the sender and the resumption do."""
        step = self.step(hash_, position)
        if step.newest is None or step.settled:
            return
        nonce = step.transaction.nonce
        taken = self.on_chain.get(nonce)
        if taken is None:
            if step.state is not StepState.DROPPED:
                step = self.outbox.mark_sent(step, step.newest.transaction.hash, now=self.now)
                assert step.state is StepState.SENT
            return
        if step.version_of(taken):
            inclusion = Inclusion(taken, nonce, BLOCK)
            step = self.outbox.mark_included(step, inclusion, succeeded=succeeded, now=self.now)
        else:
            step = self.outbox.mark_replaced(step, now=self.now, reason="another")
        if nonce in self.final:
            assert self.outbox.settle(step, now=self.now).settled

    @rule(hash_=HASHES, position=POSITIONS)
    def drop(self, hash_: str, position: int) -> None:
        step = self.step(hash_, position)
        if step.newest is not None and step.transaction.nonce not in self.on_chain:
            self.outbox.mark_dropped(step, now=self.now, reason="unseen")

    @rule(hash_=HASHES, rarely=RARELY)
    def discard(self, hash_: str, rarely: int) -> None:
        if rarely:
            return
        self.outbox.discard_unsigned(hash_, now=self.now, reason="left")

    @invariant()
    def no_plan_has_two_effects(self) -> None:
        """Of all dispatches of one plan only one can have a first step that truly happened."""
        for plan_id in ("a", "b"):
            happened = [
                dispatch.hash
                for dispatch in self.outbox.dispatches()
                if dispatch.plan_id == plan_id
                and any(step.state in SUCCEEDED for step in dispatch.steps)
            ]
            assert len(happened) <= 1

    @invariant()
    def nothing_signed_is_lost(self) -> None:
        for dispatch in self.outbox.dispatches():
            for step in dispatch.steps:
                nonces = {item.transaction.unsigned.nonce for item in step.versions}
                assert nonces <= {step.transaction.nonce}
                assert bool(step.versions) == (
                    step.state not in (StepState.PLANNED, StepState.APPROVED, StepState.DISCARDED)
                )
                cancels = [item.kind is VersionKind.CANCEL for item in step.versions]
                assert cancels == sorted(cancels)
                if step.versions and not step.settled:
                    assert dispatch.needs_attention

    def teardown(self) -> None:
        self.outbox.close()


TestJournal = JournalMachine.TestCase
TestJournal.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)


@pytest.mark.soak
class TestManyJournals(TestJournal):  # type: ignore[misc,valid-type]
    settings = settings(max_examples=400, stateful_step_count=40, deadline=None)
