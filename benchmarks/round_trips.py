"""Reading positions: requests at the socket and time, against web3.py asking field by field."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.store import Store
from chain.contracts import abi
from chain.contracts.calldata import Mint, SettlePair, modify_liquidities
from chain.contracts.networks import network_named
from chain.contracts.pool_key import POOL_KEY_TYPES, PoolKey
from chain.contracts.storage import decode_position_info
from chain.devnet.launch import devnet_process
from chain.positions.batch_reader import read_positions
from chain.protocols.reference import v4_position
from chain.protocols.v4.memory import PositionMemory
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.requests import RequestLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.contracts.networks import Network
    from chain.protocols.snapshot import PositionSnapshot

FEW = 20
MANY = 500
_MINTS_AT_ONCE = 30
_PATIENT = RequestLimits(answer_seconds=60, total_seconds=70)
_REQUEST = b"POST / HTTP/1.1\r\n"


class Cost(Struct, frozen=True):
    requests: int
    milliseconds: float

    def line(self, name: str, baseline: Cost | None = None) -> str:
        text = f"{name:<38} {self.requests:5} requests {self.milliseconds:8.0f} ms"
        if baseline is None:
            return text
        fewer = baseline.requests / self.requests
        faster = baseline.milliseconds / self.milliseconds
        return f"{text}   {fewer:5.0f} × fewer, {faster:5.1f} × faster"


def run() -> Iterator[str]:
    network = network_named("devnet")
    with devnet_process(world="small") as devnet, _counted(devnet.url) as counter:
        few = list(range(1, FEW + 1))
        baseline, told = _by_web3(counter, network, few)
        yield baseline.line(f"web3.py 8, {FEW} positions")
        with Store.in_memory() as store:
            cold, snapshots = _by_zuno(counter, network, store, few)
            warm, _ = _by_zuno(counter, network, store, few)
        ours = [(one.liquidity, one.pool.sqrt_price_x96) for one in snapshots]
        if ours != told:
            raise AssertionError("zuno and web3.py do not read the same chain")
        yield cold.line(f"zuno, {FEW} positions never seen before", baseline)
        yield warm.line(f"zuno, {FEW} positions again", baseline)
        many = [*few, *minted(devnet.url, network, MANY - FEW)]
        with Store.in_memory() as store:
            cold, _ = _by_zuno(counter, network, store, many)
            warm, _ = _by_zuno(counter, network, store, many)
        yield cold.line(f"zuno, {MANY} positions never seen before")
        yield warm.line(f"zuno, {MANY} positions again")


class _Counter:
    """A door in front of the node that counts the requests passing through it."""

    def __init__(self, node: tuple[str, int]) -> None:
        self._node = node
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.requests = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                node = socket.create_connection(self._node)
                for one, other, asks in ((client, node, True), (node, client, False)):
                    # Small packets must not wait for each other: that would burden the baseline.
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    threading.Thread(
                        target=self._pass_on, args=(one, other, asks), daemon=True
                    ).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _pass_on(self, source: socket.socket, sink: socket.socket, asks: bool) -> None:
        tail = b""
        with suppress(OSError):
            while data := source.recv(1 << 16):
                if asks:
                    seen = tail + data
                    self.requests += seen.count(_REQUEST)
                    tail = seen[-len(_REQUEST) + 1 :]
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def _counted(url: str) -> Iterator[_Counter]:
    host, port = url.removeprefix("http://").rstrip("/").split(":")
    counter = _Counter((host, int(port)))
    threading.Thread(target=counter.serve, daemon=True).start()
    try:
        yield counter
    finally:
        counter.close()


def _by_zuno(
    counter: _Counter, network: Network, store: Store, token_ids: list[int]
) -> tuple[Cost, list[PositionSnapshot]]:
    refs = [v4_position(token_id) for token_id in token_ids]

    async def read() -> list[PositionSnapshot]:
        memory = PositionMemory(store, network, time.time)
        async with RpcClient(network, [counter.url], limits=_PATIENT) as client:
            found = await read_positions(client, network, memory, refs)
        return [found[ref] for ref in refs]

    before, start = counter.requests, time.perf_counter()
    snapshots = asyncio.run(read())
    return Cost(counter.requests - before, (time.perf_counter() - start) * 1000), snapshots


def _by_web3(
    counter: _Counter, network: Network, token_ids: list[int]
) -> tuple[Cost, list[tuple[int, int]]]:
    from web3 import Web3  # the baseline's own second of import is not counted against it

    contracts = network.contracts
    node = Web3(Web3.HTTPProvider(counter.url))
    manager = node.eth.contract(
        Web3.to_checksum_address(contracts.position_manager), abi=_POSITION_MANAGER
    )
    view = node.eth.contract(Web3.to_checksum_address(contracts.state_view), abi=_STATE_VIEW)
    told: list[tuple[int, int]] = []
    before, start = counter.requests, time.perf_counter()
    for token_id in token_ids:
        manager.functions.ownerOf(token_id).call()
        key, word = manager.functions.getPoolAndPositionInfo(token_id).call()
        info = decode_position_info(word)
        ticks = info.tick_lower, info.tick_upper
        pool_id = bytes.fromhex(PoolKey(*key).pool_id[2:])
        sqrt_price, *_ = view.functions.getSlot0(pool_id).call()
        view.functions.getLiquidity(pool_id).call()
        salt = token_id.to_bytes(32, "big")
        held = view.functions.getPositionInfo(pool_id, manager.address, *ticks, salt).call()
        view.functions.getFeeGrowthInside(pool_id, *ticks).call()
        told.append((held[0], sqrt_price))
    return Cost(counter.requests - before, (time.perf_counter() - start) * 1000), told


def minted(url: str, network: Network, count: int) -> list[int]:
    """New positions, paid for by one of the embedded chain's own providers."""
    from chain.devnet.world.accounts import MEDIUM_PROVIDER
    from chain.devnet.world.pools import STABLE
    from chain.devnet.world.writing import sign_transaction

    manager = network.contracts.position_manager
    most = 2**128 - 1
    one = Mint(STABLE.key, -600, 600, 10**9, most, most, MEDIUM_PROVIDER.address)
    pay = SettlePair(STABLE.key.currency0, STABLE.key.currency1)

    async def mint() -> list[int]:
        async with RpcClient(network, [url], limits=_PATIENT) as client:
            next_id = requests.call(manager, abi.encode_call("nextTokenId()"))
            first = int.from_bytes(await client.ask(next_id), "big")
            for done in range(0, count, _MINTS_AT_ONCE):
                portion = min(_MINTS_AT_ONCE, count - done)
                nonce = requests.transaction_count(MEDIUM_PROVIDER.address)
                signed = sign_transaction(
                    MEDIUM_PROVIDER.key,
                    nonce=await client.ask(nonce),
                    to=manager,
                    gas=16_000_000,
                    max_fee_per_gas=10**11,
                    max_priority_fee_per_gas=10**9,
                    data=modify_liquidities((*[one] * portion, pay), 2**48 - 1),
                )
                sent = await client.ask(requests.send_raw(signed.raw))
                # A node mines at once, and may answer before it has.
                while await client.ask(requests.receipt(sent)) is None:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        return list(range(first, first + count))

    return asyncio.run(mint())


def _view(name: str, inputs: str, outputs: str) -> dict[str, object]:
    def parameters(types: str) -> list[dict[str, object]]:
        return [{"name": "", "type": one} for one in types.split()]

    return {
        "type": "function",
        "name": name,
        "stateMutability": "view",
        "inputs": parameters(inputs),
        "outputs": parameters(outputs),
    }


_POSITION_MANAGER = [
    _view("ownerOf", "uint256", "address"),
    {
        **_view("getPoolAndPositionInfo", "uint256", ""),
        "outputs": [
            {
                "name": "",
                "type": "tuple",
                "components": [{"name": "", "type": one} for one in POOL_KEY_TYPES],
            },
            {"name": "", "type": "uint256"},
        ],
    },
]
_STATE_VIEW = [
    _view("getSlot0", "bytes32", "uint160 int24 uint24 uint24"),
    _view("getLiquidity", "bytes32", "uint128"),
    _view("getPositionInfo", "bytes32 address int24 int24 bytes32", "uint128 uint256 uint256"),
    _view("getFeeGrowthInside", "bytes32 int24 int24", "uint256 uint256"),
]
