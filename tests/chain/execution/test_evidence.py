"""What two endpoints show alike, what is found at a later step, and a way that was promised."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import pytest
from msgspec.structs import replace

from chain.contracts.addresses import keccak
from chain.contracts.networks import Network
from chain.execution.outbox.delivery import NotThisWayError, Route
from chain.execution.outbox.lookup import Evidence, NamedReader
from chain.execution.outbox.records import Dispatch, Doubt, EndCode, PlanStep, StepState
from chain.execution.outbox.resume import StepFinding, StepSituation, look
from chain.execution.outbox.sender import Fees, NotSentError, Sender, cancellation, speed_up
from chain.execution.transaction import UnsignedTransaction
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError, Unreachable
from chain.rpc.records import Receipt
from chain.rpc.requests import Reader, Request
from tests.chain.execution.outbox_kit import GWEI, HALF_WAY, transfer
from tests.chain.execution.sending_kit import PATIENCE, QUICK, Bench
from tests.chain.moves import Moves
from tests.fakes.proxy import Proxy

Told = Callable[[Request[Any], Any], Any]

T = TypeVar("T")

MADE = "0x" + "aa" * 32


@dataclass
class Endpoint(Reader):
    """Reads the chain and tells some of its answers in its own way."""

    client: RpcClient
    told: Told

    async def settle(self, requests: Sequence[Request[T]]) -> list[T | RpcError]:
        outcomes = await self.client.settle(requests)
        return [
            self.told(request, outcome) for request, outcome in zip(requests, outcomes, strict=True)
        ]


def witnessed(bench: Bench, *ways: Told) -> Sender:
    """A sender with one endpoint for each way of answering; it reads through the first."""
    endpoints = [Endpoint(bench.client, told) for told in ways]
    evidence = Evidence(tuple(NamedReader(str(at), one) for at, one in enumerate(endpoints)))
    patience = replace(PATIENCE, witness_seconds=20)
    return replace(bench.sender(), reads=endpoints[0], evidence=evidence, patience=patience)


def honest(_request: Request[Any], outcome: Any) -> Any:
    return outcome


def hides_receipts(request: Request[Any], outcome: Any) -> Any:
    return None if request.method == "eth_getTransactionReceipt" else outcome


def hides_transactions(request: Request[Any], outcome: Any) -> Any:
    hidden = ("eth_getTransactionReceipt", "eth_getTransactionByHash")
    return None if request.method in hidden else outcome


def names_another(request: Request[Any], outcome: Any) -> Any:
    """Shows another transaction where the wallet's own is."""
    if request.method == "eth_getBlockByNumber" and request.params[1] is True:
        return tuple(replace(one, hash=MADE) for one in outcome)
    return hides_transactions(request, outcome)


def silent(_request: Request[Any], _outcome: Any) -> Any:
    return Unreachable("is away", endpoint="the node")


@dataclass
class Liar:
    """Tells of every receipt something else."""

    lie: dict[str, Any]

    def __call__(self, _request: Request[Any], outcome: Any) -> Any:
        return replace(outcome, **self.lie) if isinstance(outcome, Receipt) else outcome


REVERTS = {"succeeded": False}
ANOTHER_BLOCK = {"block_hash": "0x" + "ee" * 32}


def two_steps(bench: Bench) -> None:
    first = bench.nonce()
    bench.approved(bench.plan(transfer(first, step="exit"), transfer(first + 1, step="enter")))


async def test_two_that_agree_let_a_plan_go_on(bench: Bench) -> None:
    two_steps(bench)
    sender = witnessed(bench, honest, honest)
    dispatch = await sender.apply("hash", bench.signer, at=bench.waits.now)
    assert [step.state for step in dispatch.steps] == [StepState.INCLUDED] * 2
    assert bench.received() == 2


@pytest.mark.parametrize("lie", [REVERTS, ANOTHER_BLOCK])
@pytest.mark.parametrize("place", [0, 1])
async def test_of_two_one_that_lies_makes_it_unclear_and_the_next_is_not_signed(
    bench: Bench, lie: dict[str, Any], place: int
) -> None:
    two_steps(bench)
    ways: list[Told] = [honest, honest]
    ways[place] = Liar(lie)
    dispatch = await witnessed(bench, *ways).apply("hash", bench.signer, at=bench.waits.now)
    first, second = dispatch.steps
    assert (first.state, first.reason) == (StepState.UNCLEAR, Doubt.NO_SECOND_WITNESS)
    assert second.state is StepState.DISCARDED
    assert len(bench.signer.signed) == 1
    assert dispatch.safe_state is None
    assert bench.received() == 1


@pytest.mark.parametrize("lie", [REVERTS, ANOTHER_BLOCK])
async def test_of_three_one_that_lies_changes_nothing(bench: Bench, lie: dict[str, Any]) -> None:
    two_steps(bench)
    sender = witnessed(bench, Liar(lie), honest, honest)
    dispatch = await sender.apply("hash", bench.signer, at=bench.waits.now)
    assert [step.state for step in dispatch.steps] == [StepState.INCLUDED] * 2


@pytest.mark.parametrize("other", [hides_receipts, silent])
async def test_a_second_that_never_shows_it_leaves_it_unclear(bench: Bench, other: Told) -> None:
    two_steps(bench)

    def afterwards(request: Request[Any], outcome: Any) -> Any:
        # It knows the chain at first; then it shows nothing of what happens there.
        return (other if bench.signer.signed else honest)(request, outcome)

    sender = witnessed(bench, honest, afterwards)
    dispatch = await sender.apply("hash", bench.signer, at=bench.waits.now)
    assert dispatch.steps[0].state is StepState.UNCLEAR
    assert len(bench.signer.signed) == 1


async def test_one_that_lags_is_waited_for(bench: Bench) -> None:
    two_steps(bench)
    nonce = bench.nonce()

    def behind(request: Request[Any], outcome: Any) -> Any:
        if bench.waits.now < 1010:
            if request.method == "eth_getTransactionReceipt":
                return None
            if request.method == "eth_getTransactionCount":
                return nonce
        return outcome

    sender = witnessed(bench, honest, behind)
    dispatch = await sender.apply("hash", bench.signer, at=bench.waits.now)
    assert bench.waits.now >= 1010
    assert [step.state for step in dispatch.steps] == [StepState.INCLUDED] * 2
    assert [change.state for change in bench.outbox.history("hash") if change.position == 0] == [
        StepState.PLANNED,
        StepState.APPROVED,
        StepState.SIGNED,
        StepState.SENT,
        StepState.INCLUDED,
    ]


async def test_a_look_says_unclear_and_a_later_one_heals_it(bench: Bench) -> None:
    bench.approved(bench.plan())
    await bench.sender().apply("hash", bench.signer, at=bench.waits.now)
    [step] = bench.outbox.dispatch("hash").steps

    async def looked(*ways: Told) -> StepSituation:
        sender = witnessed(bench, *ways)
        [finding] = await look(
            bench.outbox,
            sender.reads,
            chain_id=bench.network.chain_id,
            clock=lambda: bench.waits.now,
            evidence=sender.evidence,
        )
        return finding.situation

    assert step.state is StepState.INCLUDED
    assert await looked(Liar(REVERTS), honest) is StepSituation.UNCLEAR
    assert bench.outbox.dispatch("hash").steps[0].state is StepState.UNCLEAR
    assert await looked(honest, honest) is StepSituation.INCLUDED


async def test_one_endpoint_cannot_say_that_a_nonce_was_taken(bench: Bench) -> None:
    """Its receipts are late and its nonces are not: for over four seconds, and alone in it."""
    bench.approved(bench.plan())
    sender = witnessed(bench, hides_receipts, honest)
    dispatch = await sender.apply("hash", bench.signer, at=bench.waits.now)
    assert dispatch.ended is None
    assert dispatch.steps[0].state is StepState.UNCLEAR


async def test_a_nonce_taken_is_believed_after_ten_seconds_of_two(bench: Bench) -> None:
    told: list[tuple[StepState, float]] = []

    def noted(step: PlanStep) -> None:
        told.append((step.state, bench.waits.now))

    bench.approved(bench.plan())
    sender = replace(witnessed(bench, names_another, names_another), changed=noted)
    dispatch = await sender.apply("hash", bench.signer, at=bench.waits.now)
    assert dispatch.ended is not None
    assert dispatch.ended.code is EndCode.NONCE_SPENT
    times = dict(told)
    assert times[StepState.REPLACED] - times[StepState.UNCLEAR] >= 10


async def test_what_is_in_a_block_was_not_replaced_however_late_its_receipt(bench: Bench) -> None:
    bench.approved(bench.plan())
    late = witnessed(bench, hides_receipts, hides_receipts)
    dispatch = await late.apply("hash", bench.signer, at=bench.waits.now)
    assert dispatch.ended is None
    assert dispatch.steps[0].state is StepState.SENT

    dispatch = await witnessed(bench, honest, honest).resume("hash", 0)
    assert dispatch.steps[0].state is StepState.INCLUDED


async def test_a_nonce_is_spent_elsewhere_only_where_that_other_transaction_is_seen(
    bench: Bench,
) -> None:
    bench.approved(bench.plan())
    blind = witnessed(bench, hides_transactions, hides_transactions)
    dispatch = await blind.apply("hash", bench.signer, at=bench.waits.now)
    assert dispatch.ended is None, "its block shows that it is in there itself"

    def shows_no_block(request: Request[Any], outcome: Any) -> Any:
        if request.method == "eth_getBlockByNumber" and request.params[1] is True:
            return None
        return hides_transactions(request, outcome)

    unsure = witnessed(bench, shows_no_block, shows_no_block)
    dispatch = await unsure.resume("hash", 0)
    assert dispatch.ended is None
    assert dispatch.steps[0].state is StepState.UNCLEAR


@pytest.mark.parametrize("ways", [(names_another,) * 2, (names_another,) * 3])
async def test_an_end_that_was_concluded_wrongly_is_lifted_when_the_receipt_comes(
    bench: Bench, ways: tuple[Told, ...]
) -> None:
    bench.approved(bench.plan())
    ended = await witnessed(bench, *ways).apply("hash", bench.signer, at=bench.waits.now)
    assert ended.ended is not None

    sender = witnessed(bench, honest, honest)
    await look(
        bench.outbox,
        sender.reads,
        chain_id=bench.network.chain_id,
        clock=lambda: bench.waits.now,
        evidence=sender.evidence,
    )

    after = bench.outbox.dispatch("hash")
    assert after.ended is None
    assert after.steps[0].state is StepState.INCLUDED


@dataclass
class Swallows(Reader):
    """Says that it took a transaction, and keeps it to itself."""

    client: RpcClient
    swallowed: int = 0

    async def settle(self, requests: Sequence[Request[T]]) -> list[T | RpcError]:
        if [request.method for request in requests] != ["eth_sendRawTransaction"]:
            return await self.client.settle(requests)
        self.swallowed += 1
        return [cast("T", MADE)]


async def test_what_the_first_endpoint_swallows_goes_out_through_the_others(bench: Bench) -> None:
    bench.approved(bench.plan())
    first = Swallows(bench.client)
    sender = replace(
        witnessed(bench, honest, honest), route=Route(first, others=(first, bench.client))
    )

    dispatch = await sender.apply("hash", bench.signer, at=bench.waits.now)

    assert first.swallowed > 1
    assert dispatch.steps[0].state is StepState.INCLUDED
    assert bench.received() == 1


@dataclass
class Trials:
    """What is found when a step is tried, one answer after the other."""

    answers: list[Callable[[], str | None]]
    blocks: list[str] = field(default_factory=list)

    async def __call__(self, transaction: UnsignedTransaction, block_hash: str) -> str | None:
        assert transaction.step == "enter"
        self.blocks.append(block_hash)
        return self.answers.pop(0)()


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
