"""Made-up positions of v3 for a node that replays them: its contracts, and its swaps."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from chain.contracts import abi
from chain.contracts.addresses import keccak
from chain.math.ticks import sqrt_price_at_tick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from chain.contracts.networks import Address, Network

_SWAP = abi.topic("Swap(address,address,int256,int256,uint160,uint128,int24)")
_POOL_CODE = bytes.fromhex("e34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54")
_POSITION_TYPES = (
    *("uint96", "address", "address", "address", "uint24", "int24", "int24"),
    *("uint128", "uint256", "uint256", "uint128", "uint128"),
)
_POOL_LIQUIDITY = 10**20
_SPACING = 10
_PIPS = 10**6


class _Position(NamedTuple):
    owner: Address
    fee: int
    lower: int
    upper: int
    liquidity: int
    growth0: int
    growth1: int


class V3Storage:
    """Pools of one pair with a fee of their own each, and what the position manager keeps."""

    def __init__(self, network: Network, random: Random, pools: int) -> None:
        assert network.v3 is not None
        assert network.wrapped_native is not None
        assert network.stable is not None
        self.manager, factory = network.v3.position_manager, network.v3.factory
        self._random = random
        tokens = sorted((network.wrapped_native, network.stable), key=lambda each: int(each, 16))
        self._tokens = tokens[0], tokens[1]
        self.fees = [100 + number for number in range(pools)]
        self.pools = {self._address(factory, fee): fee for fee in self.fees}
        self.ticks = dict.fromkeys(self.pools, 0)
        self.growth = {pool: [0, 0] for pool in self.pools}
        self.positions: dict[int, _Position] = {}
        self._of_owner: dict[Address, list[int]] = defaultdict(list)
        self._ranges: dict[bytes, int] = defaultdict(int)

    def _address(self, factory: Address, fee: int) -> Address:
        salt = keccak(abi.encode(("address", "address", "uint24"), (*self._tokens, fee)))
        made = keccak(b"\xff" + abi.address_bytes(factory) + salt + _POOL_CODE)
        return "0x" + made[12:].hex()

    def mint(self, owner: Address, number: int) -> None:
        random = self._random
        centre, half = _SPACING * random.randint(-30, 30), _SPACING * random.randint(5, 100)
        growth = [-random.randint(0, 10**30) % 2**256 for _ in range(2)]
        fee, liquidity = self.fees[number % len(self.fees)], random.randint(10**12, 10**18)
        self.positions[number] = _Position(
            owner, fee, centre - half, centre + half, liquidity, growth[0], growth[1]
        )
        self._of_owner[owner].append(number)
        key = self._range_key(centre - half, centre + half)
        self._ranges[key] = max(self._ranges[key], liquidity)

    def _range_key(self, lower: int, upper: int) -> bytes:
        ends = (each.to_bytes(3, "big", signed=True) for each in (lower, upper))
        return keccak(abi.address_bytes(self.manager) + b"".join(ends))

    def swaps(self, count: int) -> Iterator[tuple[Address, list[str], str]]:
        """Address, topics and data of the swaps of one more block."""
        for _ in range(count):
            pool = self._random.choice(list(self.pools))
            before = self.ticks[pool]
            tick = self.ticks[pool] = before + self._random.randint(-40, 40)
            start, end = (sqrt_price_at_tick(each) / 2**96 for each in (before, tick))
            moved = (1 / end - 1 / start, end - start)
            paid = 0 if moved[0] > 0 else 1
            fee = self.pools[pool]
            self.growth[pool][paid] += round(moved[paid] * fee / (_PIPS - fee) * 2**128)
            amounts = [round(each * _POOL_LIQUIDITY) for each in moved]
            types = ("int256", "int256", "uint160", "uint128", "int24")
            values = (*amounts, sqrt_price_at_tick(tick), _POOL_LIQUIDITY, tick)
            stranger = "0x" + "00" * 31 + "07"
            yield pool, [_SWAP, stranger, stranger], "0x" + abi.encode(types, values).hex()

    def ask_manager(self, data: bytes) -> bytes:
        return self._manager_answers[data[:4]](data[4:])

    @property
    def _manager_answers(self) -> dict[bytes, Callable[[bytes], bytes]]:
        def owned(given: bytes) -> bytes:
            held, index = self._of_owner["0x" + given[12:32].hex()], int.from_bytes(given[32:64])
            return _word(held[index] if index < len(held) else 0)

        return {
            abi.selector("balanceOf(address)"): lambda given: _word(
                len(self._of_owner["0x" + given[-20:].hex()])
            ),
            abi.selector("tokenOfOwnerByIndex(address,uint256)"): owned,
            abi.selector("ownerOf(uint256)"): lambda given: _word(
                int(self.positions[int.from_bytes(given)].owner, 16)
            ),
            abi.selector("positions(uint256)"): lambda given: self._record(int.from_bytes(given)),
        }

    def _record(self, number: int) -> bytes:
        nobody, each = "0x" + "00" * 20, self.positions[number]
        growth = (each.growth0, each.growth1)
        place = (*self._tokens, each.fee, each.lower, each.upper)
        return abi.encode(_POSITION_TYPES, (0, nobody, *place, each.liquidity, *growth, 0, 0))

    def ask_pool(self, pool: Address, data: bytes) -> bytes:
        return self._pool_answers[data[:4]](pool, data[4:])

    @property
    def _pool_answers(self) -> dict[bytes, Callable[[Address, bytes], bytes]]:
        def slot0(pool: Address, _: bytes) -> bytes:
            tick = self.ticks[pool]
            words = (sqrt_price_at_tick(tick), tick % 2**256, 0, 1, 1, 0, 1)
            return b"".join(map(_word, words))

        def in_pool(_: Address, given: bytes) -> bytes:
            return b"".join(map(_word, (self._ranges[given], 0, 0, 0, 0)))

        return {
            abi.selector("slot0()"): slot0,
            abi.selector("liquidity()"): lambda *_: _word(_POOL_LIQUIDITY),
            abi.selector("feeGrowthGlobal0X128()"): lambda pool, _: _word(self.growth[pool][0]),
            abi.selector("feeGrowthGlobal1X128()"): lambda pool, _: _word(self.growth[pool][1]),
            abi.selector("tickSpacing()"): lambda *_: _word(_SPACING),
            abi.selector("ticks(int24)"): lambda *_: bytes(7 * 32) + _word(1),
            abi.selector("positions(bytes32)"): in_pool,
        }


def _word(value: int) -> bytes:
    return value.to_bytes(32, "big")
