"""kill −9 at every moment of lending an account, of its batch and of taking it back: one effect."""

import signal
import time
from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

from chain.contracts.delegation import NOBODY, BatchCall, delegated_code, execute_batch
from chain.contracts.networks import Network
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.deployment import CONTRACTS
from chain.execution.outbox.delivery import Route
from chain.execution.outbox.lookup import EMBEDDED
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.resume import StepSituation, look
from chain.execution.outbox.sender import Patience, Sender
from chain.execution.transaction import Authorization
from tests.chain.execution import outbox_driver
from tests.chain.execution.outbox_driver import resume_missing
from tests.chain.execution.outbox_kit import RECIPIENT, transfer
from tests.chain.execution.sending_kit import Bench, SendFault, bench_on
from tests.chain.execution.test_outbox_kill import FAULTS, run
from tests.chain.moves import Moves
from tests.fakes.fault_server import FaultServer
from tests.samples import some_of

WALLET, DELEGATE = DEMO_WALLET.address, str(CONTRACTS.delegate)
KINDS = ("delegate", "batch", "undelegate")
MOMENTS = {
    "before commit": 6,
    "before signing": 1,
    "after signing": 1,
    "before sending": 1,
    "after sending": 1,
}
POINTS = [(moment, time_) for moment, times in MOMENTS.items() for time_ in range(1, times + 1)]


@pytest.fixture
async def bench(moves: Moves, network: Network, tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_on(moves, network, tmp_path / "zuno.db") as made:
        yield made


def planned(bench: Bench, kind: str) -> None:
    nonce = bench.nonce()
    if kind == "batch":
        calls = [BatchCall(RECIPIENT, 1, b"")] * 2
        one = transfer(
            nonce, step=kind, to=WALLET, value=0, data=execute_batch(calls, "execute"), gas=200_000
        )
    else:
        delegate = DELEGATE if kind == "delegate" else NOBODY
        one = replace(
            transfer(nonce, step=kind, to=WALLET, value=0, gas=120_000),
            authorization=Authorization(31337, delegate, nonce + 1),
        )
    if kind != "delegate":
        bench.moves.rpc("anvil_setCode", WALLET, "0x" + delegated_code(DELEGATE).hex())
    bench.approved(bench.plan(one))
    bench.mine()


def effects(bench: Bench, kind: str) -> int:
    """How often it happened."""
    if kind == "batch":
        assert bench.received() in (0, 2)
        return bench.received() // 2
    lent = bench.moves.rpc("eth_getCode", WALLET, "latest") != "0x"
    return int(lent is (kind == "delegate"))


async def carried_to_its_end(bench: Bench, database: Path, kind: str) -> StepSituation | None:
    """Start again, name what stands, send what is missing, and count what came of it."""
    first = bench.nonce()
    with Outbox.open(database) as outbox:
        findings = await look(
            outbox,
            bench.client,
            chain_id=bench.network.chain_id,
            clock=time.time,
            evidence=EMBEDDED,
        )
        dispatch = outbox.dispatch("hash")
        if dispatch.consumed_at is None:
            assert effects(bench, kind) == 0
            return None
        await resume_missing(outbox, bench.client, Route(bench.client))
        bench.mine(65)
        sender = Sender(
            outbox=outbox,
            reads=bench.client,
            route=Route(bench.client),
            chain_id=bench.network.chain_id,
            clock=time.time,
            patience=Patience(0.01, 5, 5, 0.1),
            evidence=EMBEDDED,
        )
        dispatch = await sender.watch("hash")
        (step,) = dispatch.steps
        assert dispatch.is_finished, dispatch
        assert effects(bench, kind) == len(step.versions) <= 1
        spent = step.transaction.nonces if step.versions else 0
        assert bench.nonce() == step.transaction.nonce + spent >= first
    return findings[0].situation if findings else None


async def killed(bench: Bench, database: Path, url: str, moment: str, countdown: int) -> int:
    return await run(
        outbox_driver.apply, url, str(database), "hash", bench.waits.now, moment, countdown, 2.0
    )


@pytest.mark.parametrize(
    ("kind", "moment", "countdown"),
    some_of(((kind, *point) for kind in KINDS for point in POINTS), 3, seed=116),
)
async def test_killed_at_every_moment(
    bench: Bench, tmp_path: Path, kind: str, moment: str, countdown: int
) -> None:
    planned(bench, kind)
    code = await killed(bench, tmp_path / "zuno.db", bench.moves.url, moment, countdown)
    # The last commit comes only where the node had not mined it yet when it was looked for.
    late = (moment, countdown) == ("before commit", MOMENTS["before commit"])
    assert code == -signal.SIGKILL or (late and code == outbox_driver.DONE)
    await carried_to_its_end(bench, tmp_path / "zuno.db", kind)


@pytest.mark.parametrize(("kind", "fault"), some_of(product(KINDS, FAULTS), 2, seed=44))
async def test_killed_while_the_node_misbehaves(
    bench: Bench, tmp_path: Path, kind: str, fault: str
) -> None:
    planned(bench, kind)
    forwards, message = FAULTS[fault]
    async with FaultServer(SendFault(bench.moves.url, forwards, message, faults=1)) as server:
        code = await killed(bench, tmp_path / "zuno.db", server.url, "after sending", 1)
    named = await carried_to_its_end(bench, tmp_path / "zuno.db", kind)
    # On a busy machine it may have given up before it could be killed.
    assert code in (-signal.SIGKILL, outbox_driver.REFUSED, outbox_driver.UNANSWERED)
    if code == -signal.SIGKILL:
        assert named is (StepSituation.INCLUDED if forwards else StepSituation.NOT_SENT)
