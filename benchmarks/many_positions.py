"""A node that replays wallets with thousands of positions: made-up storage, real encodings."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from subprocess import PIPE, Popen
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.v3_storage import V3Storage
from chain.base.units import PIPS
from chain.contracts import abi
from chain.contracts.addresses import keccak
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.contracts.storage import EXTSLOAD
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import identify
from chain.protocols.v4.events import INITIALIZE, SWAP
from chain.protocols.v4.holdings import TRANSFER
from chain.protocols.v4.storage import layout_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chain.contracts.networks import Address
    from chain.protocols.snapshot import PositionIdentity

POOLS = 200
_FIRST_BLOCK = 1
_MINTED_IN = 10
_MINTED_A_BLOCK = 10_000
"""No answer is longer than what a reader takes."""
_HEAD = 1_000
_START = 1_800_000_000
_BLOCK_SECONDS = 12
_NO_BLOOM = "0x" + "00" * 256
_SWAPS_A_BLOCK = 5
_POOL_LIQUIDITY = 10**20


class Node(NamedTuple):
    url: str
    wallets: tuple[Address, ...]


@contextmanager
def many_positions(count: int, *, wallets: int = 1, of_v3: int = 0) -> Iterator[Node]:
    """The node as a process of its own, so that its work is not counted as the reader's.

    Beside `count` positions of v4 it may have some of v3.
    """
    given = map(str, (count, wallets, of_v3))
    command = [sys.executable, "-m", "benchmarks.many_positions", *given]
    with Popen(command, stdout=PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            url = json.loads(child.stdout.readline())["url"]
            yield Node(url, tuple(_wallet(number) for number in range(wallets)))
        finally:
            child.terminate()


class _World:
    """The storage of `count` positions in a few hundred pools, and a head that moves.

    The wallets hold them in turn.
    """

    def __init__(self, count: int, wallets: int, of_v3: int) -> None:
        self.network = network_named("devnet")
        self.random = Random(7)
        self.head = _HEAD
        self.owners = {number: _wallet(number % wallets) for number in range(1, count + 1)}
        self.balances = Counter(self.owners.values())
        self.words: dict[bytes, bytes] = {}
        self.infos: dict[int, bytes] = {}
        self.logs: list[dict[str, object]] = []
        self.pools = [self._pool_key(number) for number in range(POOLS)]
        self.ticks = dict.fromkeys((key.pool_id for key in self.pools), 0)
        self.slots0: dict[str, bytes] = {}
        self.growth_slots: dict[str, tuple[int, int]] = {}
        self.positions = [self._position(number) for number in range(1, count + 1)]
        for index, key in enumerate(self.pools):
            self._open(key, index)
        self.v3 = V3Storage(self.network, Random(8), POOLS if of_v3 else 0)
        for number in range(1, of_v3 + 1):
            self.v3.mint(_wallet(number % wallets), number)

    def _open(self, key: PoolKey, index: int) -> None:
        """The log of a pool's beginning, at the price of tick 0."""
        words = ("0x" + one[2:].rjust(64, "0") for one in (key.currency0, key.currency1))
        types = ("uint24", "int24", "address", "uint160", "int24")
        data = abi.encode(types, (key.fee, key.tick_spacing, key.hooks, sqrt_price_at_tick(0), 0))
        topics = [INITIALIZE, key.pool_id, *words]
        manager = self.network.contracts.pool_manager
        self.logs.append(self._log(manager, topics, "0x" + data.hex(), _MINTED_IN, index))

    def _pool_key(self, number: int) -> PoolKey:
        stable = self.network.stable or ""
        return PoolKey(NATIVE, stable, 100 + number, 10, NATIVE)

    def _position(self, number: int) -> PositionIdentity:
        random = self.random
        key = self.pools[number % POOLS]
        centre, half = 10 * random.randint(-30, 30), 10 * random.randint(5, 100)
        one = identify(v4_position(number), key, centre - half, centre + half)
        layout = layout_of(one, self.network.contracts.position_manager)
        growth = 10**30
        liquidity = random.randint(10**12, 10**18)
        self.slots0[one.pool_id] = layout.pool.slot0.to_bytes(32, "big")
        self._put(layout.pool.slot0, _slot0(self.ticks[one.pool_id], key.fee))
        self.growth_slots[one.pool_id] = (
            layout.pool.fee_growth_global0,
            layout.pool.fee_growth_global1,
        )
        self._put(layout.pool.liquidity, _POOL_LIQUIDITY)
        self._put(layout.position.liquidity, liquidity)
        # Fees grew before the pool's own count began: the difference counts, modulo 2^256.
        self._put(layout.position.fee_growth_inside0_last, -random.randint(0, growth) % 2**256)
        self._put(layout.position.fee_growth_inside1_last, -random.randint(0, growth) % 2**256)
        prefix = bytes.fromhex(one.pool_id[2:])[:25]
        info = int.from_bytes(prefix, "big") << 56
        info |= (one.tick_upper % 2**24) << 32 | (one.tick_lower % 2**24) << 8
        self.infos[number] = info.to_bytes(32, "big")
        wallet = "0x" + self.owners[number][2:].rjust(64, "0")
        topics = [TRANSFER, "0x" + "00" * 32, wallet, f"0x{number:064x}"]
        manager = self.network.contracts.position_manager
        minted_in = _MINTED_IN + number // _MINTED_A_BLOCK
        self.logs.append(self._log(manager, topics, "0x", minted_in, number))
        return one

    def move(self) -> None:
        """One more block, in which some pools are swapped in."""
        self.head += 1
        for index in range(_SWAPS_A_BLOCK):
            key = self.random.choice(self.pools)
            before = self.ticks[key.pool_id]
            tick = self.ticks[key.pool_id] = before + self.random.randint(-40, 40)
            self.words[self.slots0[key.pool_id]] = _slot0(tick, key.fee).to_bytes(32, "big")
            types = ("int128", "int128", "uint160", "uint128", "int24", "uint24")
            amounts = self._swap(key, before, tick)
            values = (*amounts, sqrt_price_at_tick(tick), _POOL_LIQUIDITY, tick, key.fee)
            topics = [SWAP, key.pool_id, "0x" + "00" * 32]
            data = "0x" + abi.encode(types, values).hex()
            manager = self.network.contracts.pool_manager
            self.logs.append(self._log(manager, topics, data, self.head, index))
        swaps = self.v3.swaps(_SWAPS_A_BLOCK if self.v3.pools else 0)
        for index, (pool, topics, data) in enumerate(swaps, start=_SWAPS_A_BLOCK):
            self.logs.append(self._log(pool, topics, data, self.head, index))

    def _swap(self, key: PoolKey, before: int, after: int) -> tuple[int, int]:
        """What was paid and got for the move; its fee goes to everybody in range."""
        start, end = (sqrt_price_at_tick(tick) / 2**96 for tick in (before, after))
        moved0, moved1 = 1 / end - 1 / start, end - start
        slot0, slot1 = self.growth_slots.get(key.pool_id, (0, 0))
        slot, moved = (slot0, moved0) if moved0 > 0 else (slot1, moved1)
        grown = round(moved * key.fee / (PIPS - key.fee) * 2**128)
        self._put(slot, _integer(self.words.get(slot.to_bytes(32, "big"), bytes(32))) + grown)
        paid = round(moved * _POOL_LIQUIDITY * PIPS / (PIPS - key.fee))
        if moved0 > 0:
            return -paid, round(-moved1 * _POOL_LIQUIDITY)
        return round(-moved0 * _POOL_LIQUIDITY), -max(paid, 1)

    def block(self, number: int) -> dict[str, object]:
        return {
            "number": hex(number),
            "hash": _hash(number),
            "parentHash": _hash(number - 1),
            "timestamp": hex(_START + number * _BLOCK_SECONDS),
            "baseFeePerGas": hex(10**9),
            "gasUsed": "0x0",
            "gasLimit": hex(30_000_000),
        }

    def call(self, target: str, data: bytes) -> bytes:
        if target == self.v3.manager:
            return self.v3.ask_manager(data)
        if target in self.v3.pools:
            return self.v3.ask_pool(target, data)
        if target == self.network.contracts.pool_manager:
            words = [
                self.words.get(data[at : at + 32], bytes(32)) for at in range(68, len(data), 32)
            ]
            assert data[:4] == abi.selector(EXTSLOAD)
            return (32).to_bytes(32, "big") + len(words).to_bytes(32, "big") + b"".join(words)
        return self._answers[data[:4]](data[4:])

    @property
    def _answers(self) -> dict[bytes, Callable[[bytes], bytes]]:
        def number(value: int) -> bytes:
            return value.to_bytes(32, "big")

        return {
            abi.selector("getCurrentBlockTimestamp()"): lambda _: number(
                _START + self.head * _BLOCK_SECONDS
            ),
            abi.selector("getBlockNumber()"): lambda _: number(self.head),
            abi.selector("getLastBlockHash()"): lambda _: bytes.fromhex(_hash(self.head - 1)[2:]),
            abi.selector("nextTokenId()"): lambda _: number(len(self.owners) + 1),
            abi.selector("balanceOf(address)"): lambda given: number(
                self.balances["0x" + given[-20:].hex()]
            ),
            abi.selector("ownerOf(uint256)"): lambda given: number(
                int(self.owners[_integer(given)], 16)
            ),
            abi.selector("getApproved(uint256)"): lambda _: bytes(32),
            abi.selector("positionInfo(uint256)"): lambda given: self.infos[_integer(given)],
            abi.selector("getPoolAndPositionInfo(uint256)"): self._pool_and_info,
        }

    def _pool_and_info(self, given: bytes) -> bytes:
        key = self.positions[_integer(given) - 1].pool_key
        types = ("address", "address", "uint24", "int24", "address")
        return abi.encode(types, key.values) + self.infos[_integer(given)]

    def _put(self, slot: int, word: int) -> None:
        self.words[slot.to_bytes(32, "big")] = word.to_bytes(32, "big")

    def _log(
        self, address: str, topics: list[str], data: str, block: int, index: int
    ) -> dict[str, object]:
        return {
            "address": address,
            "topics": topics,
            "data": data,
            "blockNumber": hex(block),
            "blockHash": _hash(block),
            "transactionHash": _hash(10**9 + block),
            "transactionIndex": "0x0",
            "logIndex": hex(index),
            "removed": False,
        }

    def answer(self, method: str, params: list[object]) -> object:  # noqa: PLR0911, one a method
        match method, params:
            case "eth_chainId", _:
                return hex(self.network.chain_id)
            case "bench_move", _:
                self.move()
                return None
            case "eth_getBlockByNumber", [str() as ref, *_]:
                return self.block(self._number(ref))
            case "eth_getBlockByHash", [str() as wanted, *_]:
                return self.block(next(n for n in range(self.head + 1) if _hash(n) == wanted))
            case "eth_getLogs", [dict() as wanted]:
                return [one for one in self.logs if self._caught(one, wanted)]
            case "eth_call", [{"to": str() as target, "data": str() as data}, *_]:
                return "0x" + self._aggregated(target, bytes.fromhex(data[2:])).hex()
            case "eth_getCode", _:
                return "0x"
            case "eth_feeHistory", _:
                return {
                    "oldestBlock": hex(self.head),
                    "baseFeePerGas": [hex(10**9)] * 2,
                    "gasUsedRatio": [0.5],
                    "reward": [[hex(10**8)]],
                }
            case (("eth_gasPrice" | "eth_maxPriorityFeePerGas"), _):
                return hex(10**9)
        raise ValueError(method)

    def _aggregated(self, target: str, data: bytes) -> bytes:
        if target != self.network.contracts.multicall3:
            return self.call(target, data)
        [calls] = abi.decode(["(address,bool,bytes)[]"], data[4:])
        return abi.encode(
            ["(bool,bytes)[]"], [[(True, self.call(to, given)) for to, _, given in calls]]
        )

    def _number(self, ref: str) -> int:
        return int(ref, 16) if ref.startswith("0x") else self.head

    def _caught(self, log: dict[str, object], wanted: dict[str, object]) -> bool:
        block = int(str(log["blockNumber"]), 16)
        first, last = self._number(str(wanted["fromBlock"])), self._number(str(wanted["toBlock"]))
        told_by = wanted["address"]
        told_by = told_by if isinstance(told_by, list) else [told_by]
        if log["address"] not in told_by or not first <= block <= last:
            return False
        topics, filters = log["topics"], wanted["topics"]
        assert isinstance(topics, list)
        assert isinstance(filters, list)
        return len(filters) <= len(topics) and all(
            one is None or (topic in one if isinstance(one, list) else topic == one)
            for one, topic in zip(filters, topics, strict=False)
        )


def _wallet(number: int) -> Address:
    return f"0x{'a1' * 16}{number:08x}"


def _slot0(tick: int, fee: int) -> int:
    return fee << 208 | (tick % 2**24) << 160 | sqrt_price_at_tick(tick)


def _integer(word: bytes) -> int:
    return int.from_bytes(word, "big")


def _hash(number: int) -> str:
    return "0x" + keccak(number.to_bytes(32, "big")).hex()


def _serve(count: int, wallets: int, of_v3: int) -> None:
    world = _World(count, wallets, of_v3)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            several = isinstance(asked, list)
            replies = [
                {
                    "jsonrpc": "2.0",
                    "id": one["id"],
                    "result": world.answer(one["method"], list(one["params"])),
                }
                for one in (asked if several else [asked])
            ]
            body = json.dumps(replies if several else replies[0]).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sys.stdout.write(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}) + "\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    _serve(*map(int, sys.argv[1:]))
