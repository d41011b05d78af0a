"""The highest head of each chain is kept: by it a restart is told from an endpoint that lags."""

import pytest
from msgspec.structs import replace

from chain.execution.outbox.heads import Genesis
from chain.execution.outbox.lookup import EMBEDDED, ONE_ENDPOINT, Evidence
from chain.execution.outbox.records import EndCode, StepState
from chain.execution.outbox.resume import StepSituation, look
from chain.execution.outbox.rules import PlanOverError
from chain.execution.outbox.same_chain import ChainState, keep_sight, sight_chain
from chain.rpc.errors import REORG_DEPTH
from tests import node_rpc
from tests.chain.execution.outbox_kit import transfer
from tests.chain.execution.sending_kit import Bench


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
