"""kill −9 at every step of an apply, with every fault of a node: one effect a plan, none lost."""

import asyncio
import fcntl
import multiprocessing
import random
import signal
import sys
import time
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from chain.contracts.networks import Network
from chain.execution.outbox.delivery import Route
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.lookup import EMBEDDED
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import StepState
from chain.execution.outbox.resume import StepSituation, look
from chain.execution.outbox.sender import Patience, Sender
from tests.chain.execution import outbox_driver
from tests.chain.execution.outbox_driver import resume_missing
from tests.chain.execution.outbox_kit import planned, transfer
from tests.chain.execution.sending_kit import Bench, SendFault, bench_on
from tests.chain.moves import Moves
from tests.fakes.fault_server import FaultServer
from tests.samples import some_of
from tests.waiting import until

PROCESSES = multiprocessing.get_context("forkserver")
# With what it loads only when it asks a node: forty processes need not load that themselves.
PROCESSES.set_forkserver_preload(
    [
        *("tests.chain.execution.outbox_driver", "anyio._backends._asyncio", "httpcore2", "httpx2"),
        "eth_account",
    ]
)

MOMENTS = {
    "before commit": 12,
    "before signing": 2,
    "after signing": 2,
    "before sending": 2,
    "after sending": 2,
}
"""How often each moment comes in an apply of two steps.

The commits: the head seen, approval used; each step signed, sent, included at a new head, the
first looked at once more while the second waits; what is left discarded.
"""

MORE_LOOKS = 40
"""A look at a step that the node has not mined yet is one commit more, however many there are."""

POINTS = [(moment, time_) for moment, times in MOMENTS.items() for time_ in range(1, times + 1)]
FAULTS: dict[str, tuple[bool, str | None]] = {
    "accepts and times out": (True, None),
    "loses it and times out": (False, None),
    "accepts and says already known": (True, "already known"),
    "accepts and says nonce too low": (True, "nonce too low: next nonce 2, tx nonce 1"),
}


async def run(target: object, *arguments: object) -> int:
    """Run in a process of its own; how it ended."""
    child = PROCESSES.Process(target=target, args=arguments)  # type: ignore[arg-type]
    child.start()
    await asyncio.to_thread(child.join, 30)
    assert child.exitcode is not None
    return child.exitcode


def two_steps(bench: Bench) -> None:
    first = bench.nonce()
    plan = bench.plan(transfer(first, step="exit"), transfer(first + 1, step="enter"))
    bench.approved(plan)
    # A reorg of one block must not reach the block the plan was built on.
    bench.mine()


async def recovered(bench: Bench, database: Path) -> list[StepSituation]:
    """Start again: name every state, then follow it to the end and count the effects."""
    with Outbox.open(database) as outbox:
        sent_before = bench.nonce("pending")
        findings = await look(
            outbox,
            bench.client,
            chain_id=bench.network.chain_id,
            clock=time.time,
            evidence=EMBEDDED,
        )
        assert bench.nonce("pending") == sent_before, "a look sends nothing"
        dispatch = outbox.dispatch("hash")
        open_steps = {step.position for step in dispatch.steps if not step.settled}
        if dispatch.consumed_at is None:
            assert not any(step.versions for step in dispatch.steps)
            assert bench.received() == 0
            return []
        assert dispatch.ended or open_steps <= {finding.step.position for finding in findings}
        assert all(finding.sentence for finding in findings)
        assert all(finding.situation is not StepSituation.UNKNOWN for finding in findings)

        over = dispatch.ended is not None
        if not over:
            await resume_missing(outbox, bench.client, Route(bench.client))
        bench.moves.rpc("anvil_mine", hex(1))
        bench.moves.rpc("anvil_mine", hex(64))
        sender = Sender(
            outbox=outbox,
            reads=bench.client,
            route=Route(bench.client),
            chain_id=bench.network.chain_id,
            clock=time.time,
            patience=Patience(0.01, 5, 0.5 if over else 5, 0.1),
            evidence=EMBEDDED,
        )
        dispatch = await sender.watch("hash")
        done = [step for step in dispatch.steps if step.state is StepState.FINAL]
        signed = [step for step in dispatch.steps if step.versions]
        assert bench.received() == len(done)
        if over:
            assert bench.nonce("pending") == sent_before
        else:
            assert dispatch.is_finished, dispatch
            assert done == signed
            assert bench.nonce() == dispatch.steps[0].transaction.nonce + len(signed)
            if len(done) == 1:
                assert dispatch.safe_state == "closed, both tokens in the wallet"
        assert all(len(step.versions) <= 1 for step in dispatch.steps)
        with pytest.raises(OutboxError):
            await sender.apply("hash", bench.signer, at=bench.waits.now)
        assert bench.received() == len(done)
    return [finding.situation for finding in findings]


async def killed(bench: Bench, database: Path, url: str, moment: str, countdown: int) -> int:
    two_steps(bench)
    return await run(
        outbox_driver.apply,
        url,
        str(database),
        "hash",
        bench.waits.now,
        moment,
        countdown,
        2.0,
    )


@pytest.mark.parametrize(("moment", "countdown"), some_of(POINTS, 3, seed=130))
async def test_killed_at_every_moment(
    bench: Bench, tmp_path: Path, moment: str, countdown: int
) -> None:
    database = tmp_path / "zuno.db"
    code = await killed(bench, database, bench.moves.url, moment, countdown)
    # The last commit comes only where the node had not mined a step yet when it was looked for.
    over = (moment, countdown) == ("before commit", MOMENTS["before commit"])
    assert code == -signal.SIGKILL or (over and code == outbox_driver.DONE)
    await recovered(bench, database)


@pytest.mark.parametrize("moment", some_of(((name,) for name in MOMENTS), 1, seed=1))
async def test_there_is_no_further_moment(bench: Bench, tmp_path: Path, moment: str) -> None:
    database = tmp_path / "zuno.db"
    further = MORE_LOOKS if moment == "before commit" else 1
    code = await killed(bench, database, bench.moves.url, moment, MOMENTS[moment] + further)
    assert code == outbox_driver.DONE
    assert await recovered(bench, database) == [StepSituation.INCLUDED, StepSituation.INCLUDED]
    assert bench.received() == 2


@pytest.mark.parametrize(
    ("moment", "fault"), some_of(product(["before sending", "after sending"], FAULTS), 2, seed=3)
)
async def test_killed_while_the_node_misbehaves(
    bench: Bench, tmp_path: Path, fault: str, moment: str
) -> None:
    database = tmp_path / "zuno.db"
    forwards, message = FAULTS[fault]
    async with FaultServer(SendFault(bench.moves.url, forwards, message, faults=1)) as server:
        code = await killed(bench, database, server.url, moment, 1)
    assert code == -signal.SIGKILL
    named = await recovered(bench, database)
    sent = moment == "after sending" and forwards
    assert named[0] is (StepSituation.INCLUDED if sent else StepSituation.NOT_SENT)


@pytest.mark.parametrize(
    ("meanwhile", "expected"),
    [
        (None, StepSituation.PENDING),
        (("anvil_dropAllTransactions",), StepSituation.NOT_SENT),
        (("evm_mine",), StepSituation.INCLUDED),
    ],
)
async def test_killed_while_it_waits_for_a_block(
    bench: Bench, tmp_path: Path, meanwhile: tuple[str] | None, expected: StepSituation
) -> None:
    database = tmp_path / "zuno.db"
    bench.moves.rpc("evm_setAutomine", False)
    assert await killed(bench, database, bench.moves.url, "after sending", 1) == -signal.SIGKILL
    if meanwhile:
        bench.moves.rpc(*meanwhile)
    assert (await recovered(bench, database))[0] is expected


async def test_killed_and_then_reorganised(bench: Bench, tmp_path: Path) -> None:
    database = tmp_path / "zuno.db"
    code = await killed(bench, database, bench.moves.url, "before signing", 2)
    assert code == -signal.SIGKILL
    bench.moves.reorg(1)
    assert bench.received() == 0
    named = await recovered(bench, database)
    assert named == [StepSituation.OVER]
    assert bench.received() == 0


@pytest.mark.parametrize("commit", some_of(zip((9, 10, 11), strict=True), 1, seed=0))
async def test_a_reorganisation_leaves_the_step_that_stands(
    bench: Bench, tmp_path: Path, commit: int
) -> None:
    """The second step's block was seen, and is lost: the first stands, so nothing restarted."""
    database = tmp_path / "zuno.db"
    code = await killed(bench, database, bench.moves.url, "before commit", commit)
    assert code == -signal.SIGKILL
    assert bench.received() == 2
    bench.moves.reorg(1)
    assert bench.received() == 1
    await recovered(bench, database)
    assert bench.outbox.dispatch("hash").steps[0].state is StepState.FINAL


@pytest.mark.parametrize(
    ("moment", "countdown"),
    some_of(
        [("before commit", 1), ("before commit", 2), ("before sending", 1), ("after sending", 1)],
        1,
        seed=0,
    ),
)
async def test_killed_again_while_resuming(
    bench: Bench, tmp_path: Path, moment: str, countdown: int
) -> None:
    database = tmp_path / "zuno.db"
    assert await killed(bench, database, bench.moves.url, "before sending", 1) == -signal.SIGKILL
    url = bench.moves.url
    code = await run(outbox_driver.resume_and_die, url, str(database), moment, countdown)
    assert code == -signal.SIGKILL
    await recovered(bench, database)


async def test_processes_that_apply_at_once_have_one_effect(bench: Bench, tmp_path: Path) -> None:
    database = tmp_path / "zuno.db"
    two_steps(bench)
    arguments = (bench.moves.url, str(database), "hash", bench.waits.now, "never", 1, 5.0)
    codes = await asyncio.gather(*(run(outbox_driver.apply, *arguments) for _ in range(3)))
    assert sorted(codes) == [outbox_driver.DONE, outbox_driver.REFUSED, outbox_driver.REFUSED]
    assert bench.received() == 2
    await recovered(bench, database)


@pytest.mark.real_time
async def test_of_processes_that_use_an_approval_at_once_one_does(tmp_path: Path) -> None:
    database = tmp_path / "zuno.db"
    with Outbox.open(database) as outbox:
        for number in range(2):
            name = f"approval {number}"
            plan = planned(transfer(number), hash=name, plan_id=name)
            outbox.plan(plan, now=0)
            outbox.approve(name, now=0)
    for number in range(2):
        gate = tmp_path / f"gate {number}"
        with gate.open("w") as closed:
            fcntl.flock(closed, fcntl.LOCK_EX)
            arguments = (str(database), f"approval {number}", 1.0, str(gate))
            ending = asyncio.gather(*(run(outbox_driver.consume, *arguments) for _ in range(4)))
            await until(lambda: len([*tmp_path.glob(f"{gate.name}.*")]) == 4)  # noqa: B023
        codes = await ending
        assert sorted(codes) == [outbox_driver.DONE, *[outbox_driver.REFUSED] * 3]


SLICES = 20
KILLS_A_SLICE = 50


@pytest.mark.soak
@pytest.mark.parametrize("part", range(SLICES))
async def test_a_thousand_kills(moves: Moves, network: Network, tmp_path: Path, part: int) -> None:
    """Every moment with every fault, pool and reorg, drawn by a seed for each slice.

    A fault may end an apply before the moment that was drawn: only a process that died counts.
    """
    draw = random.Random(part)
    kills: Counter[str] = Counter()
    runs, died_again, slowest = 0, 0, 0.0
    while kills.total() < KILLS_A_SLICE:
        runs += 1
        assert runs < 3 * KILLS_A_SLICE
        database = tmp_path / f"{runs}.db"
        moment, countdown = draw.choice(POINTS)
        forwards, message = draw.choice([(True, None), *FAULTS.values()])
        faults = draw.choice((0, 1, 2))
        async with bench_on(moves, network, database) as bench:
            fault = SendFault(moves.url, forwards, message, faults=faults)
            async with FaultServer(fault) as server:
                code = await killed(bench, database, server.url, moment, countdown)
            assert code in (-signal.SIGKILL, *outbox_driver.ENDS)
            if code == -signal.SIGKILL:
                kills[f"{moment} {countdown}"] += 1
            meanwhile = draw.choice(("nothing", "reorg", "resume and die"))
            if meanwhile == "reorg":
                bench.moves.reorg(1)
            elif meanwhile == "resume and die":
                where = draw.choice(POINTS)
                again = await run(outbox_driver.resume_and_die, moves.url, str(database), *where)
                died_again += again == -signal.SIGKILL
            started = time.monotonic()
            await recovered(bench, database)
            slowest = max(slowest, time.monotonic() - started)
    sys.stdout.write(
        f"\nslice {part}: {kills.total()} kills in {runs} runs, {died_again} killed again while "
        f"resuming, recovered in at most {slowest:.1f} s: {dict(sorted(kills.items()))}\n"
    )
