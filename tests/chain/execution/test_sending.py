"""Sending on the embedded chain: one effect a plan, whatever the node, the pool or a reorg does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import pytest
from msgspec.structs import replace

from chain.contracts import abi
from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox.heads import Genesis
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.lookup import EMBEDDED, ONE_ENDPOINT, Evidence
from chain.execution.outbox.records import EndCode, PlanStep, StepState
from chain.execution.outbox.resume import StepSituation, look
from chain.execution.outbox.rules import PlanOverError
from chain.execution.outbox.same_chain import ChainState, keep_sight, sight_chain
from chain.execution.outbox.sender import Fees, NotSentError, cancellation, speed_up
from chain.rpc.client import RpcClient
from chain.rpc.errors import REORG_DEPTH, RpcError, Unreachable
from chain.rpc.requests import Reader, Request
from tests import node_rpc
from tests.chain.execution.outbox_kit import GWEI, HALF_WAY, signed_by, transfer
from tests.chain.execution.sending_kit import QUICK, Bench, SendFault, through

T = TypeVar("T")
MARKET = Fees(2 * GWEI, GWEI)
CAP = Fees(200 * GWEI, 20 * GWEI)


@dataclass
class SilentReads(Reader):
    """An endpoint that is away for a while."""

    client: RpcClient
    left: int = 0

    async def settle(self, requests: Sequence[Request[T]]) -> list[T | RpcError]:
        if self.left:
            self.left -= 1
            raise Unreachable("is away", endpoint="the node")
        return await self.client.settle(requests)


def states(bench: Bench, hash_: str = "hash") -> list[str]:
    return [change.state.value for change in bench.outbox.history(hash_)]


async def test_a_plan_is_signed_kept_sent_included_and_final(bench: Bench) -> None:
    dispatch = await bench.apply(bench.plan())
    assert dispatch.steps[0].state is StepState.INCLUDED
    assert bench.received() == 1
    bench.waits.meanwhile = [lambda: bench.mine(63), lambda: None, lambda: bench.mine(1)]
    dispatch = await bench.sender().watch("hash")
    assert states(bench) == ["planned", "approved", "signed", "sent", "included", "final"]
    assert dispatch.is_finished
    assert bench.waits.meanwhile == []
    assert len(bench.signer.signed) == 1


async def test_the_bytes_are_on_disk_before_the_send(bench: Bench) -> None:
    async with RpcClient(bench.network, ["http://127.0.0.1:9"], limits=QUICK) as nobody:
        with pytest.raises(NotSentError, match="could not be sent"):
            await bench.apply(bench.plan(), nobody)
    [step] = bench.outbox.dispatch("hash").steps
    assert step.state is StepState.SIGNED
    assert step.newest is not None
    node_rpc.broadcast(bench.moves.url, "0x" + step.newest.transaction.raw.hex())
    assert bench.received() == 1
    assert bench.nonce() == step.transaction.nonce + 1


@pytest.mark.parametrize(
    ("forwards", "message"),
    [
        (True, None),
        (True, "already known"),
        (True, "nonce too low: next nonce 9, tx nonce 8"),
        (True, "the sequencer is on holiday"),
        (False, None),
        (False, "already known"),
        (False, "nonce too low: next nonce 9, tx nonce 8"),
    ],
)
@pytest.mark.parametrize("automine", [True, False])
async def test_an_answer_that_lies_or_never_comes_leaves_one_effect(
    bench: Bench, forwards: bool, message: str | None, automine: bool
) -> None:
    fault = SendFault(bench.moves.url, forwards, message, faults=1)
    bench.moves.rpc("evm_setAutomine", automine)
    bench.waits.meanwhile = [*[lambda: None] * 4, bench.mine]
    async with through(fault, bench.network) as sends:
        dispatch = await bench.apply(bench.plan(), sends)
    assert dispatch.steps[0].state is StepState.INCLUDED
    assert bench.received() == 1
    assert bench.nonce() == dispatch.steps[0].transaction.nonce + 1
    assert len(bench.signer.signed) == 1
    assert fault.sends == (1 if forwards else 2)


async def test_sent_again_what_a_node_took_but_refuses_is_where_the_chain_has_it(
    bench: Bench,
) -> None:
    bench.moves.rpc("evm_setAutomine", False)
    dispatch = await bench.apply(bench.plan())
    assert dispatch.steps[0].state is StepState.SENT
    fault = SendFault(bench.moves.url, True, "the sequencer is on holiday")
    async with through(fault, bench.network) as sends:
        step = await bench.sender(sends).resend(dispatch.steps[0])
        assert step.state is StepState.SENT
        bench.mine()
        step = await bench.sender(sends).resend(step)
    assert step.state is StepState.INCLUDED
    assert bench.received() == 1


async def test_a_refusal_that_is_true_ends_in_dropped(bench: Bench) -> None:
    fault = SendFault(bench.moves.url, False, "insufficient funds for gas * price + value")
    async with through(fault, bench.network) as sends:
        dispatch = await bench.apply(bench.plan(), sends)
    [step] = dispatch.steps
    assert step.state is StepState.DROPPED
    assert "insufficient funds" in step.reason
    assert fault.sends == 1
    assert bench.received() == 0


async def test_a_dropped_transaction_is_sent_again_with_the_same_bytes(bench: Bench) -> None:
    bench.moves.rpc("evm_setAutomine", False)
    bench.waits.meanwhile = [
        lambda: bench.moves.rpc("anvil_dropAllTransactions"),
        lambda: None,
        lambda: None,
        lambda: None,
        bench.mine,
    ]
    dispatch = await bench.apply(bench.plan())
    assert dispatch.steps[0].state is StepState.INCLUDED
    assert bench.received() == 1
    assert len(bench.signer.signed) == 1


async def test_a_failing_second_step_leaves_a_named_safe_state(bench: Bench) -> None:
    first = bench.nonce()
    refused = abi.encode_call(
        "transferFrom(address,address,uint256)", DEMO_WALLET.address, "0x" + "11" * 20, 10**9
    )
    plan = bench.plan(
        transfer(first, step="exit"),
        transfer(
            first + 1,
            step="enter",
            to=bench.network.contracts.position_manager,
            value=0,
            data=refused,
            gas=200_000,
        ),
        transfer(first + 2, step="sweep"),
    )
    dispatch = await bench.apply(plan)
    assert [step.state for step in dispatch.steps] == ["included", "reverted", "discarded"]
    assert dispatch.safe_state == HALF_WAY
    assert dispatch.half_done
    assert bench.outbox.unresolved_dispatches() == (dispatch,)
    assert len(bench.signer.signed) == 2


async def test_a_step_past_its_deadline_is_not_signed(bench: Bench) -> None:
    dispatch = await bench.apply(bench.plan(deadline=bench.head_time()))
    assert dispatch.steps[0].state is StepState.DISCARDED
    assert bench.signer.signed == []


async def test_a_missing_transaction_past_its_deadline_is_not_sent_again(bench: Bench) -> None:
    bench.moves.rpc("evm_setAutomine", False)
    bench.waits.meanwhile = [
        lambda: bench.moves.rpc("anvil_dropAllTransactions"),
        lambda: bench.mine(10),
    ]
    dispatch = await bench.apply(bench.plan(deadline=bench.head_time() + 60))
    [step] = dispatch.steps
    assert step.state is StepState.DROPPED
    assert "deadline" in step.reason
    assert bench.received() == 0


async def test_a_stranger_with_the_same_nonce_replaces_it(bench: Bench) -> None:
    bench.moves.rpc("evm_setAutomine", False)
    other = signed_by(DEMO_WALLET, transfer(bench.nonce(), value=5, fee=90 * GWEI, tip=9 * GWEI))
    bench.waits.meanwhile = [
        lambda: node_rpc.broadcast(bench.moves.url, "0x" + other.raw.hex()),
        bench.mine,
    ]
    dispatch = await bench.apply(bench.plan())
    assert dispatch.steps[0].state is StepState.REPLACED
    assert not dispatch.is_finished
    assert bench.received() == 5
    bench.waits.meanwhile = [lambda: bench.mine(64)]
    assert (await bench.sender().watch("hash")).is_finished


async def test_speeding_up_keeps_the_nonce_and_one_of_both_lands(bench: Bench) -> None:
    bench.moves.rpc("evm_setAutomine", False)
    sender = bench.sender()

    async def in_the_meantime() -> None:
        step = bench.outbox.dispatch("hash").steps[0]
        faster = speed_up(step, market=MARKET, cap=CAP)
        bench.outbox.approve_replacement("hash", 0, faster, now=bench.waits.now)
        await sender.replace("hash", 0, faster, bench.signer, at=bench.waits.now)

    waiting = bench.sender().patience.inclusion_seconds
    bench.approved(bench.plan())
    dispatch = await sender.apply("hash", bench.signer, at=bench.waits.now)
    assert dispatch.steps[0].state is StepState.SENT
    assert bench.waits.now >= 1000 + waiting
    await in_the_meantime()
    step = bench.outbox.dispatch("hash").steps[0]
    old, new = (version.transaction.unsigned for version in step.versions)
    assert new.nonce == old.nonce
    assert new.max_fee_per_gas * 8 >= old.max_fee_per_gas * 9
    assert new.max_priority_fee_per_gas * 8 >= old.max_priority_fee_per_gas * 9
    bench.waits.meanwhile = [bench.mine, lambda: bench.mine(64)]
    dispatch = await sender.watch("hash")
    [step] = dispatch.steps
    assert step.state is StepState.FINAL
    assert step.newest is not None
    assert step.inclusion is not None
    assert step.inclusion.transaction_hash == step.newest.transaction.hash
    assert bench.received() == 1


async def test_cancelling_takes_the_nonce_for_nothing(bench: Bench) -> None:
    bench.moves.rpc("evm_setAutomine", False)
    dispatch = await bench.apply(bench.plan())
    nothing = cancellation(dispatch.steps[0], market=MARKET, cap=CAP)
    bench.outbox.approve_replacement("hash", 0, nothing, now=bench.waits.now)
    await bench.sender().replace("hash", 0, nothing, bench.signer, at=bench.waits.now)
    bench.waits.meanwhile = [bench.mine, lambda: bench.mine(64)]
    dispatch = await bench.sender().watch("hash")
    [step] = dispatch.steps
    assert (step.state, step.reason, step.settled) == (StepState.REPLACED, "cancelled", True)
    assert bench.received() == 0
    assert bench.nonce() == step.transaction.nonce + 1


async def test_a_replacement_over_the_cap_is_refused(bench: Bench) -> None:
    bench.moves.rpc("evm_setAutomine", False)
    dispatch = await bench.apply(bench.plan())
    with pytest.raises(OutboxError, match="over the cap"):
        speed_up(dispatch.steps[0], market=MARKET, cap=Fees(22 * GWEI, 20 * GWEI))
    with pytest.raises(OutboxError, match="over the cap"):
        cancellation(dispatch.steps[0], market=Fees(GWEI, 21 * GWEI), cap=CAP)


async def test_a_silence_between_two_steps_does_not_end_the_plan(bench: Bench) -> None:
    first = bench.nonce()
    plan = bench.plan(transfer(first, step="exit"), transfer(first + 1, step="enter"))
    silences = SilentReads(bench.client)

    def included(step: PlanStep) -> None:
        if step.state is StepState.INCLUDED and step.position == 0:
            silences.left = 3

    bench.approved(plan)
    sender = replace(bench.sender(), reads=silences, changed=included)
    dispatch = await sender.apply("hash", bench.signer, at=bench.waits.now)
    assert silences.left == 0
    assert [step.state for step in dispatch.steps] == ["included", "included"]


async def test_without_an_answer_nothing_is_begun(bench: Bench) -> None:
    bench.approved(bench.plan())
    sender = replace(bench.sender(), reads=SilentReads(bench.client, left=10**6))
    with pytest.raises(RpcError):
        await sender.apply("hash", bench.signer, at=bench.waits.now)
    assert bench.signer.signed == []
    assert bench.outbox.dispatch("hash").consumed_at is None


async def test_a_plan_of_another_network_is_refused(bench: Bench) -> None:
    bench.approved(bench.plan())
    sender = replace(bench.sender(), chain_id=1)
    with pytest.raises(OutboxError, match="another network"):
        await sender.apply("hash", bench.signer, at=bench.waits.now)
    with pytest.raises(OutboxError, match="another network"):
        await sender.watch("hash")
    assert bench.outbox.dispatch("hash").consumed_at is None


async def test_applying_twice_has_one_effect(bench: Bench) -> None:
    await bench.apply(bench.plan())
    with pytest.raises(OutboxError, match="used already"):
        await bench.sender().apply("hash", bench.signer, at=bench.waits.now)
    bench.approved(bench.plan(hash="again"))
    with pytest.raises(OutboxError, match="applied before"):
        await bench.sender().apply("again", bench.signer, at=bench.waits.now)
    assert bench.received() == 1
    assert len(bench.signer.signed) == 1


async def test_while_one_zuno_applies_another_does_not(bench: Bench) -> None:
    bench.approved(bench.plan())
    with bench.outbox.hold_apply_lock() as alone:
        assert alone
        with pytest.raises(OutboxError, match="Another zuno"):
            await bench.sender().apply("hash", bench.signer, at=bench.waits.now)
    assert bench.outbox.dispatch("hash").consumed_at is None


def chain_of(bench: Bench) -> Genesis:
    first = bench.moves.rpc("eth_getBlockByNumber", "0x0", False)
    return Genesis(bench.network.chain_id, first["hash"])


def height(bench: Bench) -> int:
    return int(bench.moves.rpc("eth_blockNumber"), 16)


async def state_of(bench: Bench, evidence: Evidence, now: float | None = None) -> ChainState:
    now = bench.waits.now if now is None else now
    chain_id = bench.network.chain_id
    sight = await sight_chain(bench.outbox, bench.client, evidence, chain_id, now=now)
    keep_sight(bench.outbox, sight, now=now)
    return sight.state


async def looked(bench: Bench) -> list[StepSituation]:
    found = await look(
        bench.outbox,
        bench.client,
        chain_id=bench.network.chain_id,
        clock=lambda: bench.waits.now,
        evidence=EMBEDDED,
    )
    return [finding.situation for finding in found]


@pytest.mark.parametrize("depth", [1, 3])
async def test_a_lower_embedded_chain_ends_every_plan_and_approval(
    bench: Bench, depth: int
) -> None:
    bench.mine(5)
    bench.approved(bench.plan(plan_id="unused", hash="unused"))
    await replace(bench.sender(), evidence=EMBEDDED).apply(
        bench_applied(bench), bench.signer, at=bench.waits.now
    )
    bench.mine(2)
    assert await looked(bench) == [StepSituation.INCLUDED]
    bench.moves.rpc("anvil_rollback", depth)

    assert await looked(bench) == [StepSituation.OVER]

    for name in ("unused", "applied"):
        dispatch = bench.outbox.dispatch(name)
        assert dispatch.ended is not None
        assert dispatch.ended.code is EndCode.CHAIN_RESTARTED
        assert dispatch.is_finished
    with pytest.raises(PlanOverError):
        await bench.sender().apply("unused", bench.signer, at=bench.waits.now)
    assert len(bench.signer.signed) == 1


def bench_applied(bench: Bench) -> str:
    bench.approved(bench.plan(plan_id="applied", hash="applied"))
    return "applied"


async def test_after_a_restart_the_same_plan_can_be_approved_anew(bench: Bench) -> None:
    start = bench.moves.rpc("evm_snapshot")
    bench.mine()
    sender = replace(bench.sender(), evidence=EMBEDDED)
    bench.approved(bench.plan(hash="first"))
    await sender.apply("first", bench.signer, at=bench.waits.now)
    bench.mine(70)
    assert await looked(bench) == [StepSituation.FINAL]
    bench.moves.rpc("evm_revert", start)
    assert await looked(bench) == [StepSituation.OVER]

    bench.approved(bench.plan(hash="second"))
    dispatch = await sender.apply("second", bench.signer, at=bench.waits.now)

    assert dispatch.steps[0].state is StepState.INCLUDED
    assert bench.received() == 1


async def test_an_unused_approval_is_refused_where_its_block_is_gone(bench: Bench) -> None:
    """Nobody looked since it was given, and the chain has grown past its height again."""
    start = bench.moves.rpc("evm_snapshot")
    bench.mine(2)
    bench.approved(bench.plan())
    bench.moves.rpc("evm_revert", start)
    node_rpc.wait_until_later(bench.moves.url, 17)
    bench.mine(5)
    with pytest.raises(PlanOverError) as refused:
        await replace(bench.sender(), evidence=EMBEDDED).apply(
            "hash", bench.signer, at=bench.waits.now
        )
    assert refused.value.code is EndCode.CHAIN_RESTARTED
    assert bench.signer.signed == []
    assert bench.outbox.dispatch("hash").consumed_at is None


async def test_an_unused_approval_ends_where_the_chain_is_lower_than_its_block(
    bench: Bench,
) -> None:
    """Nobody looked between the approval and the restart: no head was kept."""
    start = bench.moves.rpc("evm_snapshot")
    early = bench.plan(plan_id="early", hash="early")
    bench.mine(2)
    bench.approved(early)
    bench.approved(bench.plan())
    bench.moves.rpc("evm_revert", start)

    assert await looked(bench) == []

    ended = bench.outbox.dispatch("hash").ended
    assert ended is not None
    assert ended.code is EndCode.CHAIN_RESTARTED
    assert bench.outbox.dispatch("early").ended is None


async def test_a_rewritten_embedded_chain_ends_what_is_signed_and_missing(bench: Bench) -> None:
    """Grown past the highest head again before anybody looked: the head alone would not tell."""
    first = bench.nonce()
    bench.mine()
    bench.approved(bench.plan(transfer(first)))
    bench.approved(bench.plan(plan_id="unused", hash="unused"))
    assert await state_of(bench, EMBEDDED) is ChainState.KNOWN
    bench.outbox.consume("hash", now=bench.waits.now)
    signed = bench.signer.sign(transfer(first))
    bench.outbox.record_signed("hash", 0, signed, now=bench.waits.now)
    bench.mine(2)
    assert await looked(bench) == [StepSituation.NOT_SENT]
    bench.moves.reorg(2)
    bench.mine(3)

    assert await looked(bench) == [StepSituation.OVER]

    ended = bench.outbox.dispatch("hash").ended
    assert ended is not None
    assert ended.code is EndCode.CHAIN_RESTARTED
    assert bench.outbox.dispatch("unused").ended is not None
    with pytest.raises(PlanOverError):
        await replace(bench.sender(), evidence=EMBEDDED).resume("hash", 0)
    assert bench.nonce("pending") == first


async def test_a_live_network_that_is_lower_and_old_lags_and_ends_nothing(bench: Bench) -> None:
    bench.mine(REORG_DEPTH + 2)
    fresh = bench.head_time() + 5.0
    assert await state_of(bench, ONE_ENDPOINT, fresh) is ChainState.KNOWN
    highest = bench.outbox.highest_head(chain_of(bench))
    bench.approved(bench.plan())
    bench.moves.rpc("anvil_rollback", REORG_DEPTH + 1)

    assert await state_of(bench, ONE_ENDPOINT, bench.head_time() + 61.0) is ChainState.LAGGING
    assert bench.outbox.highest_head(chain_of(bench)) == highest
    assert bench.outbox.dispatch("hash").ended is None
    # An endpoint with a new block is not late: what was seen before was never true.
    assert await state_of(bench, ONE_ENDPOINT, bench.head_time() + 5.0) is ChainState.KNOWN
    lowered = bench.outbox.highest_head(chain_of(bench))
    assert lowered is not None
    assert lowered.number == height(bench)
