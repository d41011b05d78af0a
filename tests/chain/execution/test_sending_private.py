"""Sends through a private endpoint: seen by nobody else, kept when it is down, not given up."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from chain.contracts.addresses import keccak
from chain.contracts.networks import Network
from chain.execution.outbox.delivery import NotThisWayError
from chain.execution.outbox.records import PlannedDispatch, StepState
from chain.execution.outbox.resume import StepFinding, StepSituation, look
from chain.execution.outbox.sender import Fees, NotSentError, cancellation, speed_up
from chain.rpc.client import RpcClient
from tests import node_rpc
from tests.chain.execution.outbox_kit import GWEI
from tests.chain.execution.sending_kit import PATIENCE, QUICK, Bench, bench_on
from tests.chain.moves import Moves
from tests.fakes.proxy import Proxy

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
async def bench(moves: Moves, network: Network, tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_on(moves, network, tmp_path / "outbox.db") as made:
        yield made


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
