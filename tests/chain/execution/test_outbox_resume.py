"""The table of what a look finds in the outbox, each line on the embedded chain."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox.lookup import EMBEDDED, ONE_ENDPOINT, Evidence
from chain.execution.outbox.records import (
    Anchor,
    EndCode,
    Inclusion,
    PlannedDispatch,
    PlanStep,
    StepState,
)
from chain.execution.outbox.resume import (
    ResumeChoice,
    StepFinding,
    StepSituation,
    look,
)
from chain.execution.outbox.sender import Fees, cancellation
from chain.rpc.client import RpcClient
from chain.rpc.errors import REORG_DEPTH, RpcError
from chain.rpc.requests import Reader, Request
from tests import node_rpc
from tests.chain.execution.outbox_kit import GWEI, HALF_WAY, planned, signed_by, transfer
from tests.chain.execution.sending_kit import Bench, SendFault, through
from tests.fakes import faults
from tests.fakes.fault_server import FaultServer
from tests.virtual_time import virtual_now

T = TypeVar("T")


def signed_and_left(bench: Bench, plan: PlannedDispatch) -> PlanStep:
    """As a process leaves it that dies between the journal and the send."""
    bench.approved(plan)
    bench.outbox.consume(plan.hash, now=bench.waits.now)
    signed = signed_by(DEMO_WALLET, plan.steps[0].transaction)
    return bench.outbox.record_signed(plan.hash, 0, signed, now=bench.waits.now)


def send(bench: Bench, step: PlanStep) -> None:
    assert step.newest is not None
    node_rpc.broadcast(bench.moves.url, "0x" + step.newest.transaction.raw.hex())


async def looked(bench: Bench, evidence: Evidence = EMBEDDED) -> list[StepFinding]:
    found = await look(
        bench.outbox,
        bench.client,
        chain_id=bench.network.chain_id,
        clock=lambda: bench.waits.now,
        evidence=evidence,
    )
    return list(found)


async def test_approved_but_never_signed_is_given_up(bench: Bench) -> None:
    bench.approved(bench.plan())
    bench.outbox.consume("hash", now=bench.waits.now)
    [finding] = await looked(bench)
    assert finding.situation is StepSituation.NEVER_SIGNED
    assert finding.choices == (ResumeChoice.NEW_PLAN,)
    assert finding.sentence == (
        "transfer of plan plan was never signed and is given up. Where you stand: nothing happened."
    )
    assert bench.outbox.dispatch("hash").steps[0].state is StepState.DISCARDED
    assert await looked(bench) == []


async def test_what_a_living_process_is_about_to_sign_is_left_to_it(bench: Bench) -> None:
    bench.approved(bench.plan())
    bench.outbox.consume("hash", now=bench.waits.now)
    with bench.outbox.hold_apply_lock():
        [finding] = await looked(bench)
    assert finding.situation is StepSituation.BEING_APPLIED
    assert bench.outbox.dispatch("hash").steps[0].state is StepState.APPROVED


async def test_an_approval_that_was_not_used_is_left_alone(bench: Bench) -> None:
    bench.approved(bench.plan())
    assert await looked(bench) == []
    assert bench.outbox.dispatch("hash").steps[0].state is StepState.APPROVED


async def test_signed_and_unknown_to_the_chain_is_told_and_not_sent(bench: Bench) -> None:
    step = signed_and_left(bench, bench.plan())
    for _ in range(2):
        [finding] = await looked(bench)
        assert finding.situation is StepSituation.NOT_SENT
        assert finding.choices[0] is ResumeChoice.SEND_AGAIN
        assert bench.nonce("pending") == step.transaction.nonce
        assert bench.received() == 0
    send(bench, step)
    [finding] = await looked(bench)
    assert finding.situation is StepSituation.INCLUDED
    bench.mine(64)
    [finding] = await looked(bench)
    assert finding.situation is StepSituation.FINAL
    assert await looked(bench) == []


async def test_the_same_bytes_are_sent_when_that_is_asked_for(bench: Bench) -> None:
    step = signed_and_left(bench, bench.plan())
    assert step.newest is not None
    dispatch = await bench.sender().resume("hash", 0)
    assert dispatch.steps[0].state is StepState.INCLUDED
    assert bench.received() == 1
    assert bench.moves.rpc("eth_getTransactionReceipt", step.newest.transaction.hash)
    assert bench.signer.signed == []


async def test_pending_offers_speed_up_and_cancel(bench: Bench) -> None:
    bench.moves.rpc("evm_setAutomine", False)
    send(bench, signed_and_left(bench, bench.plan(deadline=bench.head_time() + 100)))
    [finding] = await looked(bench)
    assert finding.situation is StepSituation.PENDING
    assert finding.choices == (ResumeChoice.WAIT, ResumeChoice.SPEED_UP, ResumeChoice.CANCEL)
    assert finding.step.state is StepState.SENT


async def test_pending_past_its_deadline_offers_to_cancel(bench: Bench) -> None:
    bench.moves.rpc("evm_setAutomine", False)
    send(bench, signed_and_left(bench, bench.plan(deadline=bench.head_time())))
    [finding] = await looked(bench)
    assert finding.situation is StepSituation.PENDING_TOO_LATE
    assert finding.choices == (ResumeChoice.CANCEL,)


async def test_missing_past_its_deadline_is_not_sent_again(bench: Bench) -> None:
    signed_and_left(bench, bench.plan(deadline=bench.head_time()))
    [finding] = await looked(bench)
    assert finding.situation is StepSituation.DROPPED
    assert finding.choices == (ResumeChoice.SPEED_UP, ResumeChoice.CANCEL, ResumeChoice.NEW_PLAN)
    assert "its deadline has passed" in finding.sentence
    assert bench.received() == 0
    assert (await looked(bench))[0].situation is StepSituation.DROPPED
    assert bench.nonce("pending") == finding.step.transaction.nonce


async def test_a_nonce_used_by_another_hash_ends_the_plan(bench: Bench) -> None:
    step = signed_and_left(bench, bench.plan())
    other = signed_by(DEMO_WALLET, transfer(step.transaction.nonce, value=7))
    node_rpc.broadcast(bench.moves.url, "0x" + other.raw.hex())
    [finding] = await looked(bench)
    assert finding.situation is StepSituation.OVER
    assert finding.choices == (ResumeChoice.NEW_PLAN,)
    assert finding.dispatch.ended is not None
    assert finding.dispatch.ended.code is EndCode.NONCE_SPENT
    assert bench.received() == 7
    bench.mine(64)
    [finding] = await looked(bench)
    assert finding.step.settled
    bench.outbox.resolve("hash", now=bench.waits.now)
    assert await looked(bench) == []


async def test_a_reverted_step_is_told_with_where_one_stands(bench: Bench) -> None:
    first = bench.nonce()
    failing = transfer(first, to=bench.network.contracts.position_manager, value=0, data=b"\1" * 4)
    send(bench, signed_and_left(bench, bench.plan(failing, transfer(first + 1))))
    findings = await looked(bench)
    assert [finding.situation for finding in findings] == [
        StepSituation.REVERTED,
        StepSituation.NEVER_SIGNED,
    ]
    assert "Where you stand: nothing happened." in findings[0].sentence


async def test_an_exit_without_its_entry_is_told_until_it_is_resolved(bench: Bench) -> None:
    first = bench.nonce()
    plan = bench.plan(transfer(first, step="exit"), transfer(first + 1, step="enter"))
    send(bench, signed_and_left(bench, plan))
    for _ in range(2):
        told = await looked(bench)
        assert [finding.situation for finding in told] == [
            StepSituation.INCLUDED,
            StepSituation.NEVER_SIGNED,
        ]
        assert HALF_WAY in told[1].sentence
    bench.mine(64)
    await looked(bench)
    [finding] = await looked(bench)
    assert (finding.step.name, finding.situation) == ("enter", StepSituation.NEVER_SIGNED)
    assert HALF_WAY in finding.sentence
    bench.outbox.resolve("hash", now=bench.waits.now)
    assert await looked(bench) == []


async def test_a_cancellation_that_was_included(bench: Bench) -> None:
    bench.moves.rpc("evm_setAutomine", False)
    step = signed_and_left(bench, bench.plan())
    send(bench, step)
    fees = Fees(100 * GWEI, 10 * GWEI)
    nothing = cancellation(step, market=fees, cap=fees)
    bench.outbox.approve_replacement("hash", 0, nothing, now=bench.waits.now)
    bench.outbox.consume_replacement("hash", 0, nothing, now=bench.waits.now)
    signed = signed_by(DEMO_WALLET, nothing)
    step = bench.outbox.record_replacement("hash", 0, signed, now=bench.waits.now)
    send(bench, step)
    bench.mine()
    [finding] = await looked(bench)
    assert finding.situation is StepSituation.CANCELLED
    assert bench.received() == 0


async def test_a_plan_of_another_chain_is_over(bench: Bench) -> None:
    elsewhere = Anchor(0, "0x" + "77" * 32)
    step = signed_and_left(bench, planned(transfer(bench.nonce()), anchor=elsewhere))
    inclusion = Inclusion(step.versions[0].transaction.hash, 10**6, "0x" + "88" * 32)
    bench.outbox.mark_included(step, inclusion, succeeded=True, now=bench.waits.now)
    [finding] = await looked(bench)
    assert finding.situation is StepSituation.OVER
    assert finding.dispatch.ended is not None
    assert finding.dispatch.ended.code is EndCode.CHAIN_RESTARTED
    assert finding.dispatch.is_finished
    assert bench.received() == 0


async def test_an_endpoint_that_lags_far_says_so_of_what_is_open(bench: Bench) -> None:
    bench.mine(REORG_DEPTH + 2)
    signed_and_left(bench, bench.plan())
    fresh = bench.head_time() + 5.0

    async def told(now: float) -> StepFinding:
        [finding] = await look(
            bench.outbox,
            bench.client,
            chain_id=bench.network.chain_id,
            clock=lambda: now,
            evidence=ONE_ENDPOINT,
        )
        return finding

    assert (await told(fresh)).situation is StepSituation.NOT_SENT
    bench.moves.rpc("anvil_rollback", REORG_DEPTH + 1)
    late = await told(bench.head_time() + 61.0)
    assert late.situation is StepSituation.UNKNOWN
    assert "the endpoint lags" in late.sentence


async def test_a_refused_resend_says_why(bench: Bench) -> None:
    signed_and_left(bench, bench.plan())
    refusing = SendFault(bench.moves.url, False, "transaction underpriced")
    async with through(refusing, bench.network) as sends:
        dispatch = await bench.sender(sends).resume("hash", 0)
    assert dispatch.steps[0].state is StepState.DROPPED
    [finding] = await looked(bench)
    assert finding.situation is StepSituation.NOT_SENT or "underpriced" in finding.sentence


async def test_a_chain_that_does_not_answer_leaves_the_last_word_in_time(bench: Bench) -> None:
    signed_and_left(bench, bench.plan())
    started = virtual_now()
    async with (
        FaultServer(faults.silence) as server,
        RpcClient(bench.network, [server.url]) as mute,
    ):
        found = await look(
            bench.outbox,
            mute,
            chain_id=bench.network.chain_id,
            clock=lambda: bench.waits.now,
            within=1.0,
        )
    assert virtual_now() - started == 1
    [finding] = found
    assert finding.situation is StepSituation.UNKNOWN
    assert "was last known as signed" in finding.sentence
    assert finding.step.state is StepState.SIGNED


async def test_a_chain_that_falls_silent_after_its_head_leaves_the_last_word(bench: Bench) -> None:
    signed_and_left(bench, bench.plan())
    reads = FallsSilent(bench.client)
    found = await look(
        bench.outbox,
        reads,
        chain_id=bench.network.chain_id,
        clock=lambda: bench.waits.now,
        evidence=EMBEDDED,
        within=0.3,
    )

    [finding] = found
    assert finding.situation is StepSituation.UNKNOWN
    assert finding.step.state is StepState.SIGNED


@dataclass
class FallsSilent(Reader):
    """Tells of its blocks, and never of a transaction."""

    client: RpcClient

    async def settle(self, requests: Sequence[Request[T]]) -> list[T | RpcError]:
        if any(one.method == "eth_getTransactionCount" for one in requests):
            await asyncio.sleep(60)
        return await self.client.settle(requests)


async def test_plans_of_another_network_are_not_looked_up_here(bench: Bench) -> None:
    signed_and_left(bench, bench.plan())
    found = await look(bench.outbox, bench.client, chain_id=1, clock=lambda: bench.waits.now)
    assert found == ()
    assert bench.received() == 0
