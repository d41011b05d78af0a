"""Which waiting plan is meant by a cancel or a speed-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Inclusion
from tests.chain.execution.outbox_kit import planned, signed_by, transfer
from zuno_tui.gate.refusal import GateRefusedError
from zuno_tui.gate.resume import waiting_dispatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.execution.outbox.records import PlanStep

CHAIN, OTHER_CHAIN = 31337, 8453


@pytest.fixture
def outbox() -> Iterator[Outbox]:
    with Outbox.in_memory() as opened:
        yield opened


def sent(outbox: Outbox, plan_id: str, nonce: int) -> PlanStep:
    plan = planned(transfer(nonce), plan_id=plan_id, hash=f"hash of {plan_id}")
    outbox.plan(plan, now=nonce)
    outbox.approve(plan.hash, now=nonce)
    outbox.consume(plan.hash, now=nonce)
    signed = signed_by(DEMO_WALLET, plan.steps[0].transaction)
    step = outbox.record_signed(plan.hash, 0, signed, now=nonce)
    return outbox.mark_sent(step, signed.hash, now=nonce)


def include(outbox: Outbox, step: PlanStep) -> None:
    assert step.newest is not None
    inclusion = Inclusion(step.newest.transaction.hash, 9, "0x" + "ab" * 32)
    outbox.mark_included(step, inclusion, succeeded=True, now=50)


def test_without_a_name_it_is_the_only_one_that_waits(outbox: Outbox) -> None:
    include(outbox, sent(outbox, "first", 0))
    sent(outbox, "second", 1)

    assert waiting_dispatch(outbox, CHAIN, None).plan_id == "second"


def test_among_several_it_must_be_named(outbox: Outbox) -> None:
    sent(outbox, "first", 0)
    sent(outbox, "second", 1)

    with pytest.raises(GateRefusedError, match="first, second"):
        waiting_dispatch(outbox, CHAIN, None)
    assert waiting_dispatch(outbox, CHAIN, "first").plan_id == "first"
    assert waiting_dispatch(outbox, CHAIN, "second").plan_id == "second"


@pytest.mark.parametrize("plan_id", [None, "first", "unknown"])
def test_what_does_not_wait_here_is_refused(outbox: Outbox, plan_id: str | None) -> None:
    with pytest.raises(GateRefusedError, match="waits to be included"):
        waiting_dispatch(outbox, CHAIN, plan_id)
    step = sent(outbox, "first", 0)
    with pytest.raises(GateRefusedError, match="waits to be included"):
        waiting_dispatch(outbox, OTHER_CHAIN, plan_id)
    include(outbox, step)
    with pytest.raises(GateRefusedError, match="waits to be included"):
        waiting_dispatch(outbox, CHAIN, plan_id)
