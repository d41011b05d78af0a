"""What nodes object to, and what reorganisations take back."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from chain.contracts.addresses import keccak
from chain.contracts.networks import Network
from chain.execution.outbox.delivery import NotThisWayError
from chain.execution.outbox.lookup import EMBEDDED
from chain.execution.outbox.records import Dispatch, EndCode, PlannedDispatch, PlanStep, StepState
from chain.execution.outbox.resume import StepFinding, StepSituation, look
from chain.execution.outbox.rules import PlanOverError
from chain.execution.outbox.sender import Fees, NotSentError, cancellation, speed_up
from chain.execution.transaction import UnsignedTransaction
from chain.rpc.client import RpcClient
from chain.rpc.errors import Unreachable
from tests import node_rpc
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


def states(bench: Bench) -> list[str]:
    return [change.state.value for change in bench.outbox.history("hash")]


async def test_a_reorg_past_an_included_step_ends_the_plan_and_sends_nothing(bench: Bench) -> None:
    bench.mine()
    await bench.apply(bench.plan())
    bench.waits.meanwhile = [lambda: bench.moves.reorg(1)]
    dispatch = await bench.sender().watch("hash")
    assert states(bench)[2:] == ["signed", "sent", "included", "unclear", "dropped"]
    assert dispatch.ended is not None
    assert dispatch.ended.code is EndCode.STEP_GONE
    assert bench.received() == 0
    with pytest.raises(PlanOverError):
        await bench.sender().resend(dispatch.steps[0])
    assert bench.nonce("pending") == dispatch.steps[0].transaction.nonce


async def test_a_reorg_that_moves_a_step_to_another_block_ends_nothing(bench: Bench) -> None:
    bench.mine()
    dispatch = await bench.apply(bench.plan())
    newest = dispatch.steps[0].newest
    assert newest is not None
    bytes_again = "0x" + newest.transaction.raw.hex()
    bench.waits.meanwhile = [
        lambda: bench.moves.reorg(1),
        lambda: None,
        # As the network does, whose nodes put it back into their pools.
        lambda: node_rpc.broadcast(bench.moves.url, bytes_again),
        lambda: bench.mine(64),
    ]
    dispatch = await bench.sender().watch("hash")
    assert dispatch.ended is None
    # Whether it is seen in the pool before it is in a block again is the node's haste alone.
    seen = [state for state in states(bench)[4:] if state != "sent"]
    assert seen == ["included", "unclear", "included", "final"]
    assert bench.received() == 1
    assert len(bench.signer.signed) == 1


@pytest.mark.parametrize("depth", [1, 2, 5])
async def test_a_reorg_past_an_earlier_step_ends_a_plan_that_waits(
    bench: Bench, depth: int
) -> None:
    first = bench.nonce()
    plan = bench.plan(transfer(first, step="exit"), transfer(first + 1, step="enter"))
    head = bench.moves.rpc("evm_snapshot")
    bench.moves.rpc("evm_setAutomine", False)
    bench.waits.meanwhile = [
        lambda: bench.mine(depth),
        lambda: bench.moves.rpc("evm_revert", head),
        *[lambda: None] * 7,
        bench.mine,
    ]
    dispatch = await bench.apply(plan)
    assert dispatch.ended is not None
    assert dispatch.ended.code is EndCode.STEP_GONE
    assert dispatch.steps[0].state is StepState.DROPPED
    assert dispatch.safe_state is None
    bench.mine()
    assert bench.received() == 0


@pytest.mark.parametrize("depth", [1, 4])
async def test_the_embedded_chain_rolled_back_while_a_plan_waits_ends_it_at_once(
    bench: Bench, depth: int
) -> None:
    first = bench.nonce()
    bench.mine(5)
    plan = bench.plan(transfer(first, step="exit"), transfer(first + 1, step="enter"))
    bench.approved(plan)
    bench.mine(depth)

    def rolled_back(step: PlanStep) -> None:
        if step.position == 0 and step.state is StepState.INCLUDED:
            bench.moves.rpc("evm_setAutomine", False)
            bench.moves.rpc("anvil_rollback", depth)

    sender = replace(bench.sender(), evidence=EMBEDDED, changed=rolled_back)
    dispatch = await sender.apply("hash", bench.signer, at=bench.waits.now)
    assert dispatch.ended is not None
    assert dispatch.ended.code in (EndCode.CHAIN_RESTARTED, EndCode.STEP_GONE)
    # The node may keep what it took back in its pool, or mine it again before anybody looks.
    over = (StepState.DROPPED, StepState.SENT, StepState.INCLUDED)
    assert all(step.settled or step.state in over for step in dispatch.steps)


CAP = Fees(1000 * GWEI, 1000 * GWEI)
MARKET = Fees(GWEI, GWEI)


@dataclass
class Keeper:
    """Takes transactions into its own keeping, where no public pool shows them."""

    kept: list[str] = field(default_factory=list)
    refuses_copies: bool = False

    def __call__(self, call: dict[str, Any]) -> dict[str, Any] | None:
        if call["method"] != "eth_sendRawTransaction":
            return None
        [raw] = call["params"]
        if raw in self.kept and self.refuses_copies:
            return {"error": {"code": -32000, "message": "bundle limit reached"}}
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


def promised(bench: Bench, private: Proxy, deadline: int | None = None) -> PlannedDispatch:
    plan = replace(bench.plan(deadline=deadline), private_host=private.host)
    bench.approved(plan)
    return plan


async def looked(bench: Bench) -> StepFinding:
    [finding] = await look(
        bench.outbox,
        bench.client,
        chain_id=bench.network.chain_id,
        clock=lambda: bench.waits.now,
    )
    return finding


@pytest.mark.parametrize("refuses_copies", [False, True])
async def test_what_no_public_pool_shows_is_not_dropped_before_its_deadline(
    bench: Bench, private: Proxy, keeper: Keeper, sends: RpcClient, refuses_copies: bool
) -> None:
    keeper.refuses_copies = refuses_copies
    deadline = bench.head_time() + 600
    promised(bench, private, deadline)
    sender = bench.sender(sends, private_host=private.host)

    dispatch = await sender.apply("hash", bench.signer, at=bench.waits.now)

    assert dispatch.steps[0].state is StepState.SENT
    assert len(set(keeper.kept)) == 1
    sends_before = len(keeper.kept)
    finding = await looked(bench)
    assert finding.situation is StepSituation.NOT_SENT
    assert private.host in finding.sentence
    assert len(keeper.kept) == sends_before
    assert bench.outbox.dispatch("hash").steps[0].state is StepState.SENT
    bench.moves.rpc("evm_setNextBlockTimestamp", deadline)
    bench.mine()
    assert (await looked(bench)).situation is StepSituation.DROPPED
    assert bench.received() == 0


async def test_it_is_included_when_the_private_endpoint_brings_it_in(
    bench: Bench, private: Proxy, keeper: Keeper, sends: RpcClient
) -> None:
    promised(bench, private)
    bench.waits.meanwhile = [
        lambda: None,
        lambda: node_rpc.broadcast(bench.moves.url, keeper.kept[0]),
    ]

    dispatch = await bench.sender(sends, private_host=private.host).apply(
        "hash", bench.signer, at=bench.waits.now
    )

    assert dispatch.steps[0].state is StepState.INCLUDED
    assert bench.received() == 1


async def test_a_private_endpoint_that_is_down_leaves_the_bytes_for_later(
    bench: Bench, private: Proxy, keeper: Keeper, sends: RpcClient
) -> None:
    promised(bench, private)
    sender = bench.sender(sends, private_host=private.host)
    private.__exit__(None, None, None)

    with pytest.raises(NotSentError, match=private.host):
        await sender.apply("hash", bench.signer, at=bench.waits.now)
    [step] = bench.outbox.dispatch("hash").steps
    down = await looked(bench)
    with private:
        async with RpcClient(bench.network, [private.url], limits=QUICK) as later:
            short = replace(PATIENCE, inclusion_seconds=1)
            up = await bench.sender(later, short, private.host).resume("hash", 0)

    assert step.state is StepState.SIGNED
    assert step.newest is not None
    assert down.situation is StepSituation.NOT_SENT
    assert private.host in down.sentence
    assert up.steps[0].state is StepState.SENT
    assert keeper.kept == ["0x" + step.newest.transaction.raw.hex()]
    assert bench.received() == 0


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


async def test_what_was_promised_to_nobody_may_go_a_more_private_way(
    bench: Bench, private: Proxy, keeper: Keeper, sends: RpcClient
) -> None:
    bench.approved(bench.plan())
    short = replace(PATIENCE, inclusion_seconds=1)

    await bench.sender(sends, short, private.host).apply("hash", bench.signer, at=bench.waits.now)

    assert len(keeper.kept) == 1
    assert bench.received() == 0
