"""A sender on the embedded chain, with a clock that only moves when it is waited on."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from chain.contracts.networks import Network
from chain.devnet.world.accounts import DEMO_WALLET
from chain.execution.outbox.delivery import Route
from chain.execution.outbox.outbox import Outbox
from chain.execution.outbox.records import Anchor, Dispatch, PlannedDispatch
from chain.execution.outbox.sender import Patience, Sender
from chain.execution.transaction import UnsignedTransaction
from chain.rpc.client import RpcClient
from chain.rpc.requests import Reader, RequestLimits
from tests.chain.execution.outbox_kit import RECIPIENT, KeySigner, planned, transfer
from tests.chain.moves import Moves
from tests.fakes.fault_server import Asked, Connection, FaultServer
from tests.fakes.honest_node import HonestNode

QUICK = RequestLimits(
    connect_seconds=0.5, answer_seconds=0.4, total_seconds=3.0, pause_seconds=0.01
)
PATIENCE = Patience(poll_seconds=2, inclusion_seconds=60, finality_seconds=600, resend_seconds=5)


@dataclass
class Waits:
    """Time passes only here, and here the chain does what the test has it do meanwhile."""

    meanwhile: list[Callable[[], object]] = field(default_factory=list)
    now: float = 1000.0
    looks: int = 0

    def clock(self) -> float:
        self.looks += 1
        assert self.looks < 10_000, "nothing is waited for"
        return self.now

    async def __call__(self, seconds: float) -> None:
        self.now += seconds
        if self.meanwhile:
            self.meanwhile.pop(0)()


@dataclass
class Bench:
    moves: Moves
    network: Network
    outbox: Outbox
    client: RpcClient
    signer: KeySigner = field(default_factory=KeySigner)
    waits: Waits = field(default_factory=Waits)

    def sender(
        self,
        sends: Reader | None = None,
        patience: Patience = PATIENCE,
        private_host: str | None = None,
    ) -> Sender:
        return Sender(
            outbox=self.outbox,
            reads=self.client,
            route=Route(sends or self.client, private_host),
            chain_id=self.network.chain_id,
            clock=self.waits.clock,
            sleep=self.waits,
            patience=patience,
        )

    async def apply(self, plan: PlannedDispatch, sends: Reader | None = None) -> Dispatch:
        self.approved(plan)
        return await self.sender(sends).apply(plan.hash, self.signer, at=self.waits.now)

    def approved(self, plan: PlannedDispatch) -> None:
        self.outbox.plan(plan, now=self.waits.now)
        self.outbox.approve(plan.hash, now=self.waits.now)

    def plan(
        self,
        *transactions: UnsignedTransaction,
        plan_id: str = "plan",
        hash: str = "hash",  # noqa: A002 - the field's own name
        deadline: int | None = None,
    ) -> PlannedDispatch:
        head = self.moves.rpc("eth_getBlockByNumber", "latest", False)
        anchor = Anchor(int(head["number"], 16), head["hash"])
        given = transactions or (transfer(self.nonce()),)
        return planned(*given, plan_id=plan_id, hash=hash, anchor=anchor, deadline=deadline)

    def nonce(self, at: str = "latest") -> int:
        return int(self.moves.rpc("eth_getTransactionCount", DEMO_WALLET.address, at), 16)

    def received(self) -> int:
        """How often a transfer of one wei had its effect."""
        return int(self.moves.rpc("eth_getBalance", RECIPIENT, "latest"), 16)

    def mine(self, blocks: int = 1) -> None:
        self.moves.rpc("anvil_mine", hex(blocks))

    def head_time(self) -> int:
        return int(self.moves.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)


@asynccontextmanager
async def bench_on(moves: Moves, network: Network, database: Path) -> AsyncIterator[Bench]:
    """A bench whose every change of the chain is undone."""
    with moves.undone(), Outbox.open(database) as outbox:
        async with RpcClient(network, [moves.url], limits=QUICK) as client:
            yield Bench(moves, network, outbox, client)


@dataclass
class SendFault:
    """A proxy before the chain that is honest but about sending."""

    url: str
    forwards: bool
    """Whether the chain gets the transaction all the same."""
    message: str | None
    """What is said about it; None is a silence until the client gives up."""
    sends: int = 0
    faults: int = 10**9
    """After this many sends it has become honest."""

    async def __call__(self, asked: Asked, connection: Connection, node: HonestNode) -> None:
        body = asked.calls if asked.is_batch else asked.calls[0]
        is_send = asked.calls[0]["method"] == "eth_sendRawTransaction"
        self.sends += is_send
        faulty = is_send and self.sends <= self.faults
        answer = b""
        if not faulty or self.forwards:
            async with httpx2.AsyncClient(verify=False) as http:
                answer = (await http.post(self.url, json=body, timeout=None)).content
        if not faulty:
            await connection.respond(answer)
        elif self.message is not None:
            error = {"code": -32000, "message": self.message}
            refusal = {"jsonrpc": "2.0", "id": asked.calls[0]["id"], "error": error}
            await connection.respond(json.dumps(refusal).encode())


@asynccontextmanager
async def through(fault: SendFault, network: Network) -> AsyncIterator[RpcClient]:
    async with (
        FaultServer(fault) as server,
        RpcClient(network, [server.url], limits=QUICK) as client,
    ):
        yield client
