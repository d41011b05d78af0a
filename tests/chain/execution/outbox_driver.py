"""A process that applies a plan and kills itself, as a power cut would, at a point it is given."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from chain.contracts.networks import network_named
from chain.execution.outbox.delivery import Route
from chain.execution.outbox.journal import OutboxError
from chain.execution.outbox.lookup import EMBEDDED
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.resume import StepSituation, look
from chain.execution.outbox.sender import Patience, Sender
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from chain.rpc.requests import Reader, RequestLimits
from tests.chain.execution.outbox_kit import KeySigner, planned, transfer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.execution.transaction import SignedTransaction, UnsignedTransaction
    from chain.rpc.requests import Request

T = TypeVar("T")

UNANSWERED = 4
REFUSED = 3
DONE = 0
ENDS = (DONE, REFUSED, UNANSWERED)


@dataclass
class Death:
    """Comes at the n-th time of one kind of moment."""

    moment: str
    countdown: int

    def at(self, moment: str) -> None:
        if moment == self.moment:
            self.countdown -= 1
            if self.countdown == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def watch_commits(outbox: Outbox, death: Death) -> None:
    """Told of each statement before it runs: at its commit a change is not on disk yet."""
    writing = False

    def told(statement: str) -> None:
        nonlocal writing
        if statement.startswith("BEGIN"):
            writing = statement == "BEGIN IMMEDIATE"
        elif statement == "COMMIT" and writing:
            death.at("before commit")

    outbox._connection.set_trace_callback(told)


@dataclass
class DyingSigner:
    signer: KeySigner
    death: Death

    def sign(self, transaction: UnsignedTransaction) -> SignedTransaction:
        self.death.at("before signing")
        signed = self.signer.sign(transaction)
        self.death.at("after signing")
        return signed


@dataclass
class DyingSends(Reader):
    client: RpcClient
    death: Death

    async def settle(self, requests: Sequence[Request[T]]) -> list[T | RpcError]:
        self.death.at("before sending")
        outcomes = await self.client.settle(requests)
        self.death.at("after sending")
        return outcomes


def apply(
    url: str, database: str, hash_: str, at: float, moment: str, countdown: int, patience: float
) -> None:
    """Apply once; exit 0 when it came to its end, 3 when refused, 4 when the chain was silent."""
    asyncio.run(_apply(url, database, hash_, at, Death(moment, countdown), patience))


async def _apply(
    url: str, database: str, hash_: str, at: float, death: Death, patience: float
) -> None:
    network = network_named("devnet")
    limits = RequestLimits(connect_seconds=1.0, answer_seconds=1.0, total_seconds=5.0)
    with Outbox.open(Path(database)) as outbox:
        async with RpcClient(network, [url], limits=limits) as client:
            sender = Sender(
                outbox=outbox,
                reads=client,
                route=Route(DyingSends(client, death)),
                chain_id=network.chain_id,
                clock=time.time,
                patience=Patience(0.02, patience, patience, 0.1),
                evidence=EMBEDDED,
            )
            watch_commits(outbox, death)
            try:
                await sender.apply(hash_, DyingSigner(KeySigner(), death), at=at)
            except OutboxError:
                sys.exit(REFUSED)
            except RpcError:
                sys.exit(UNANSWERED)


def resume_and_die(url: str, database: str, moment: str, countdown: int) -> None:
    """Look, send again what no node has, and die while at it."""

    async def run() -> None:
        network = network_named("devnet")
        death = Death(moment, countdown)
        with Outbox.open(Path(database)) as outbox:
            watch_commits(outbox, death)
            async with RpcClient(network, [url]) as client:
                await resume_missing(outbox, client, Route(DyingSends(client, death)))

    asyncio.run(run())


async def resume_missing(outbox: Outbox, client: RpcClient, route: Route) -> list[StepSituation]:
    """What a person does who is told that no node has what was signed; what was told first."""
    network = network_named("devnet")
    findings = await look(
        outbox, client, chain_id=network.chain_id, clock=time.time, evidence=EMBEDDED
    )
    sender = Sender(
        outbox=outbox,
        reads=client,
        route=route,
        chain_id=network.chain_id,
        clock=time.time,
        patience=Patience(0.01, 0.2, 5, 0.1),
        evidence=EMBEDDED,
    )
    for finding in findings:
        if finding.situation is StepSituation.NOT_SENT:
            await sender.resume(finding.dispatch.hash, finding.step.position)
    return [finding.situation for finding in findings]


def plan(database: str, number: int) -> None:
    """Write one plan into a journal that may not be there yet."""
    name = f"plan {number}"
    with Outbox.open(Path(database)) as outbox:
        outbox.plan(planned(transfer(number), hash=name, plan_id=name), now=0)


def consume(database: str, hash_: str, at: float, gate: str) -> None:
    """Spend an approval once the gate is open; exit 0 for the one that did."""
    with Outbox.open(Path(database)) as outbox, Path(gate).open() as start:
        Path(f"{gate}.{os.getpid()}").touch()
        fcntl.flock(start, fcntl.LOCK_SH)
        with suppress(OutboxError):
            outbox.consume(hash_, now=at)
            sys.exit(DONE)
    sys.exit(REFUSED)
