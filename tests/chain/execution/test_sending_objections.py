"""What is found when a later step is tried, and a way that was promised and is kept to."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from chain.contracts.addresses import keccak
from chain.contracts.networks import Network
from chain.execution.outbox.delivery import NotThisWayError
from chain.execution.outbox.records import Dispatch, EndCode, StepState
from chain.execution.outbox.resume import StepFinding, StepSituation, look
from chain.execution.outbox.sender import Fees, NotSentError, cancellation, speed_up
from chain.execution.transaction import UnsignedTransaction
from chain.rpc.client import RpcClient
from chain.rpc.errors import Unreachable
from tests.chain.execution.outbox_kit import GWEI, HALF_WAY, transfer
from tests.chain.execution.sending_kit import PATIENCE, QUICK, Bench, bench_on
from tests.chain.moves import Moves
from tests.fakes.proxy import Proxy


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


CAP = Fees(1000 * GWEI, 1000 * GWEI)
MARKET = Fees(GWEI, GWEI)


@dataclass
class Keeper:
    """Takes transactions into its own keeping, where no public pool shows them."""

    kept: list[str] = field(default_factory=list)

    def __call__(self, call: dict[str, Any]) -> dict[str, Any] | None:
        if call["method"] != "eth_sendRawTransaction":
            return None
        [raw] = call["params"]
        self.kept.append(raw)
        return {"result": "0x" + keccak(bytes.fromhex(raw[2:])).hex()}


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


@pytest.fixture
def private(moves: Moves, keeper: Keeper) -> Iterator[Proxy]:
    with Proxy(moves.url, keeper) as proxy:
        yield proxy


@pytest.fixture
async def sends(private: Proxy, network: Network) -> AsyncIterator[RpcClient]:
    async with RpcClient(network, [private.url], limits=QUICK) as client:
        yield client


def promised(bench: Bench, private: Proxy) -> None:
    bench.approved(replace(bench.plan(), private_host=private.host))


async def looked(bench: Bench) -> StepFinding:
    [finding] = await look(
        bench.outbox,
        bench.client,
        chain_id=bench.network.chain_id,
        clock=lambda: bench.waits.now,
    )
    return finding


async def test_what_was_promised_to_it_goes_no_other_way(
    bench: Bench, private: Proxy, keeper: Keeper, sends: RpcClient
) -> None:
    promised(bench, private)
    public = bench.sender()
    other = bench.sender(private_host="elsewhere:1")

    for way in (public, other):
        with pytest.raises(NotThisWayError, match=private.host):
            await way.apply("hash", bench.signer, at=bench.waits.now)
    assert bench.outbox.dispatch("hash").consumed_at is None
    short = replace(PATIENCE, inclusion_seconds=1)
    sent = await bench.sender(sends, short, private.host).apply(
        "hash", bench.signer, at=bench.waits.now
    )
    again = await looked(bench)
    for make in (speed_up, cancellation):
        dearer = make(sent.steps[0], market=MARKET, cap=CAP)
        bench.outbox.approve_replacement("hash", 0, dearer, now=bench.waits.now)
        with pytest.raises(NotThisWayError):
            await public.replace("hash", 0, dearer, bench.signer, at=bench.waits.now)
    with pytest.raises(NotSentError, match=private.host):
        await public.resend(sent.steps[0])

    assert again.situation is StepSituation.NOT_SENT
    assert private.host in again.sentence
    assert len(bench.signer.signed) == 1
    assert len(bench.outbox.dispatch("hash").steps[0].versions) == 1
    bench.mine()
    assert bench.received() == 0
