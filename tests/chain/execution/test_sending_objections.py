"""What is found when a later step is tried, before it is signed."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from chain.contracts.networks import Network
from chain.execution.outbox.records import Dispatch, EndCode, StepState
from chain.execution.transaction import UnsignedTransaction
from chain.rpc.errors import Unreachable
from tests.chain.execution.outbox_kit import HALF_WAY, transfer
from tests.chain.execution.sending_kit import Bench, bench_on
from tests.chain.moves import Moves


@dataclass
class Trials:
    """What is found when a step is tried, one answer after the other."""

    answers: list[Callable[[], str | None]]
    blocks: list[str] = field(default_factory=list)

    async def __call__(self, transaction: UnsignedTransaction, block_hash: str) -> str | None:
        assert transaction.step == "enter"
        self.blocks.append(block_hash)
        return self.answers.pop(0)()


@pytest.fixture
async def bench(moves: Moves, network: Network, tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_on(moves, network, tmp_path / "outbox.db") as made:
        yield made


async def _applied(bench: Bench, trials: Trials) -> Dispatch:
    first = bench.nonce()
    plan = bench.plan(transfer(first, step="exit"), transfer(first + 1, step="enter"))
    bench.approved(plan)
    # A reorg of one block must not reach the block the plan was built on.
    bench.mine()
    sender = replace(bench.sender(), objection=trials)
    return await sender.apply("hash", bench.signer, at=bench.waits.now)


async def test_a_later_step_is_tried_on_the_block_of_the_one_before(bench: Bench) -> None:
    trials = Trials([lambda: None])

    dispatch = await _applied(bench, trials)

    first, second = dispatch.steps
    assert first.inclusion is not None
    assert trials.blocks == [first.inclusion.block_hash]
    assert second.state is StepState.INCLUDED
    assert bench.received() == 2


async def test_one_that_would_fail_is_never_signed(bench: Bench) -> None:
    dispatch = await _applied(bench, Trials([lambda: "it fails"]))

    first, second = dispatch.steps
    assert first.state is StepState.INCLUDED
    assert (second.state, second.reason, second.versions) == (StepState.DISCARDED, "it fails", ())
    assert dispatch.safe_state == HALF_WAY
    assert [one.step for one in bench.signer.signed] == ["exit"]
    assert bench.received() == 1


async def test_a_reorg_between_two_steps_leaves_the_second_unsigned(bench: Bench) -> None:
    def reorganised() -> str | None:
        bench.moves.reorg(1)
        raise Unreachable("knows no such block", endpoint="the node")

    dispatch = await _applied(bench, Trials([reorganised]))

    assert dispatch.ended is not None
    assert dispatch.ended.code is EndCode.STEP_GONE
    assert [step.state for step in dispatch.steps] == [StepState.DROPPED, StepState.DISCARDED]
    assert [one.step for one in bench.signer.signed] == ["exit"]
    assert bench.received() == 0


async def test_a_silence_is_waited_out(bench: Bench) -> None:
    def silent() -> str | None:
        raise Unreachable("is away", endpoint="the node")

    patient = Trials([silent, silent, lambda: None])
    assert (await _applied(bench, patient)).steps[1].state is StepState.INCLUDED
    assert len(patient.blocks) == 3


async def test_a_silence_without_end_leaves_the_step_unsigned(bench: Bench) -> None:
    def silent() -> str | None:
        raise Unreachable("is away", endpoint="the node")

    with pytest.raises(Unreachable):
        await _applied(bench, Trials([silent] * 1000))

    dispatch = bench.outbox.dispatch("hash")
    assert dispatch.steps[1].state is StepState.DISCARDED
    assert dispatch.safe_state == HALF_WAY
    assert bench.received() == 1
