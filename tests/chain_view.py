"""A chain on a node of its own, seen and changed as tests do: without keys and without fees."""

import atexit
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from chain.contracts.networks import Address
from chain.devnet.anvil import genesis_block, running_anvil
from chain.devnet.json_rpc import NodeClient, NodeRefusedError
from chain.devnet.world.worlds import World, opened_world
from tests import node_rpc

GENESIS_TIME = 1_700_000_000
BLOCK_SECONDS = 12
_GAS = 16_000_000
"""Just under what one transaction may have since Osaka."""


@dataclass(frozen=True)
class Outcome:
    """How a call or a transaction ended."""

    success: bool
    output: bytes = b""
    logs: tuple[Mapping[str, Any], ...] = ()
    created: Address | None = None
    gas_used: int = 0
    failure: str = ""


@dataclass(frozen=True)
class Header:
    number: int
    hash: str
    timestamp: int
    base_fee: int
    gas_used: int


@dataclass(frozen=True)
class ChainView:
    node: NodeClient
    at: str = "latest"

    @property
    def url(self) -> str:
        return self.node.url

    def __call__(self, method: str, *params: object) -> Any:
        return self.node.ask(method, *params)

    @property
    def head(self) -> Header:
        return self.header("latest")

    def header(self, at: int | str) -> Header:
        ref = hex(at) if isinstance(at, int) else at
        block = self("eth_getBlockByNumber", ref, False)
        return Header(
            int(block["number"], 16),
            block["hash"],
            int(block["timestamp"], 16),
            int(block["baseFeePerGas"], 16),
            int(block["gasUsed"], 16),
        )

    def logs(self, address: Address, *topics: str | list[str] | None) -> list[dict[str, Any]]:
        """Every log of a contract since the beginning."""
        wanted = {"address": address, "topics": topics, "fromBlock": "0x0", "toBlock": "latest"}
        found: list[dict[str, Any]] = self("eth_getLogs", wanted)
        return found

    def storage(self, address: Address, slot: int) -> int:
        return int(self("eth_getStorageAt", address, f"0x{slot:064x}", self.at), 16)

    def balance(self, address: Address) -> int:
        return int(self("eth_getBalance", address, self.at), 16)

    def nonce(self, address: Address) -> int:
        return int(self("eth_getTransactionCount", address, self.at), 16)

    def call(self, to: Address, data: bytes, sender: Address | None = None) -> Outcome:
        call = {"to": to, "data": "0x" + data.hex()} | ({"from": sender} if sender else {})
        try:
            answer = self.node.ask_text("eth_call", call, self.at)
        except NodeRefusedError as error:
            data_of = error.data if isinstance(error.data, str) else "0x"
            return Outcome(False, bytes.fromhex(data_of[2:]), failure=error.message)
        return Outcome(True, bytes.fromhex(answer[2:]))

    def apply(
        self,
        sender: Address,
        to: Address | None,
        data: bytes,
        *,
        value: int = 0,
        gas: int = _GAS,
    ) -> Outcome:
        """A transaction of anybody's, in a block of its own, that costs nothing."""
        self("anvil_impersonateAccount", sender)
        self("anvil_setNextBlockBaseFeePerGas", "0x0")
        fields = {
            "from": sender,
            "data": "0x" + data.hex(),
            "value": hex(value),
            "gas": hex(gas),
            "maxFeePerGas": "0x0",
            "maxPriorityFeePerGas": "0x0",
        }
        automine = self("anvil_getAutomine")
        self("evm_setAutomine", False)
        sent = self("eth_sendTransaction", fields | ({"to": to} if to else {}))
        self("evm_mine")
        self("evm_setAutomine", automine)
        receipt = self("eth_getTransactionReceipt", sent)
        return Outcome(
            receipt["status"] == "0x1",
            logs=tuple(receipt["logs"]),
            created=receipt["contractAddress"],
            gas_used=int(receipt["gasUsed"], 16),
        )

    def set_storage(self, address: Address, slot: int, value: int) -> None:
        self("anvil_setStorageAt", address, f"0x{slot:064x}", f"0x{value:064x}")

    def set_code(self, address: Address, code: bytes) -> None:
        self("anvil_setCode", address, "0x" + code.hex())

    def mine(self, timestamp: int | None = None) -> None:
        if timestamp is not None:
            self("evm_setNextBlockTimestamp", timestamp)
        self("evm_mine")

    def reorg(self, depth: int) -> None:
        """Replace the last blocks by empty ones, each a second later so that its hash differs."""
        head = self.head.number
        times = [self.header(number).timestamp for number in range(head - depth + 1, head + 1)]
        self.rollback(depth)
        for time in times:
            self.mine(time + 1)

    def rollback(self, depth: int) -> None:
        self("anvil_rollback", depth)


@contextmanager
def bare_chain(
    accounts: Mapping[Address, Mapping[str, Any]] | None = None, *, chain_id: int = 31337
) -> Iterator[ChainView]:
    """A chain with nothing on it but these accounts, in the shape of a genesis file."""
    genesis = genesis_block(
        accounts or {},
        chain_id=chain_id,
        timestamp=GENESIS_TIME,
        gas_limit=60_000_000,
        base_fee=10**9,
    )
    with (
        running_anvil(
            (
                *("--chain-id", str(chain_id), "--accounts", "0"),
                *("--gas-limit", "60000000", "--disable-min-priority-fee"),
            ),
            genesis=genesis,
        ) as anvil,
        NodeClient(anvil.url) as node,
    ):
        node.ask("anvil_setBlockTimestampInterval", BLOCK_SECONDS)
        yield ChainView(node)


def contracts_at(codes: Mapping[Address, bytes]) -> dict[Address, dict[str, Any]]:
    """Accounts for `bare_chain` that hold these codes."""
    return {
        address: {"balance": "0x0", "code": "0x" + code.hex()} for address, code in codes.items()
    }


@contextmanager
def own_small_world() -> Iterator[tuple[World, ChainView]]:
    """The small world on a node of its own, to be taken back further than it was lent."""
    with opened_world(7, "small") as world:
        yield world, ChainView(world.node)


@dataclass
class _Pool:
    """Nodes with the small world, each lent out to one chain at a time."""

    nodes: list[tuple[World, ChainView]] = field(default_factory=list)
    idle: list[int] = field(default_factory=list)
    snapshots: dict[int, object] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)

    def lend(self) -> int:
        if not self.idle:
            world = self.stack.enter_context(opened_world(7, "small"))
            self.nodes.append((world, ChainView(world.node)))
            self.idle.append(len(self.nodes) - 1)
        place = self.idle.pop(0)
        chain = self.nodes[place][1]
        if place in self.snapshots:
            node_rpc.take_back(chain.url, self.snapshots[place])
        self.snapshots[place] = chain("evm_snapshot")
        return place


_POOL = _Pool()
atexit.register(_POOL.stack.close)


def small_world() -> World:
    """To be asked what it is, never to be changed."""
    if not _POOL.nodes:
        _POOL.idle.append(_POOL.lend())
    return _POOL.nodes[0][0]


def fresh_chain() -> ChainView:
    """The small world as its history left it, to be changed by one test."""
    return _POOL.nodes[_POOL.lend()][1]


def give_chains_back() -> None:
    """When a test is over, so that the next one starts no nodes of its own."""
    _POOL.idle[:] = range(len(_POOL.nodes))
