"""A seeded market's prices walked through the real contracts, one swap or several a block."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from chain.contracts import abi
from chain.contracts.pool_key import PoolKey
from chain.devnet.world.accounts import ARBITRAGEUR, MEDIUM_PROVIDER
from chain.devnet.world.price_path import MILLITICKS, Asset, Calendar, Draws, Mood, SeededPath
from chain.math.ticks import sqrt_price_at_tick
from chain.rpc.requests import Call, aggregate, decode_aggregate
from tests.chain.moves import Moves

MINUTES_APART = {Mood.CALM: 20, Mood.TREND: 20, Mood.SHOCK: 4}


def seeded_steps(seed: int, points: int) -> Iterator[tuple[Mood, int]]:
    """Ticks from one look at the market to the next, through calm, trend, calm and shock."""
    draws = Draws(seed)
    path = SeededPath(draws, Calendar(draws))
    start = 0
    for _ in range(4):
        phase = path.phase_at(start)
        apart = MINUTES_APART[phase.mood]
        prices = [path.at(start + apart * number)[Asset.ETHER] for number in range(points + 1)]
        for before, after in itertools.pairwise(prices):
            yield phase.mood, round((after - before) / MILLITICKS)
        start = phase.end


@dataclass
class WalkedPool:
    """One pool, pushed from tick to tick by a trader."""

    moves: Moves
    key: PoolKey

    def state(self) -> tuple[int, int, int]:
        """Square-root price, tick and active liquidity."""
        contracts = self.moves.network.contracts
        raw = bytes.fromhex(self.key.pool_id[2:])
        questions = [
            Call(contracts.state_view, abi.encode_call(signature, raw))
            for signature in ("getSlot0(bytes32)", "getLiquidity(bytes32)")
        ]
        call = {"to": contracts.multicall3, "data": "0x" + aggregate(questions).hex()}
        answer = bytes.fromhex(self.moves.rpc("eth_call", call, "latest")[2:])
        slot0, liquidity = (one.data for one in decode_aggregate(answer))
        sqrt_price, tick, _, _ = abi.decode(("uint160", "int24", "uint24", "uint24"), slot0)
        return sqrt_price, tick, int.from_bytes(liquidity, "big")

    @property
    def tick(self) -> int:
        return self.state()[1]

    def push(self, ticks: int, *, mined: bool = True) -> None:
        """Swap so much that the price moves by about so many ticks."""
        if ticks == 0:
            return
        sqrt_price, tick, liquidity = self.state()
        target = sqrt_price_at_tick(tick + ticks)
        if ticks > 0:
            amount = liquidity * (target - sqrt_price) >> 96
        else:
            amount = (liquidity * (sqrt_price - target) << 96) // (sqrt_price * target)
        fee = self.key.fee
        amount = max(1, amount) * 1_000_000 // (1_000_000 - fee)
        self.moves.swap(ARBITRAGEUR, self.key, amount, zero_for_one=ticks < 0, mined=mined)

    def dart(self, ticks: int) -> None:
        """There and back within one block: its end is where it began."""
        self.moves.rpc("evm_setAutomine", False)
        self.push(ticks, mined=False)
        self.push(-ticks, mined=False)
        self.moves.rpc("evm_mine")
        self.moves.rpc("evm_setAutomine", True)

    def mint_around(self, random: Random, count: int, owner: str) -> list[int]:
        """Narrow positions on both sides of the price, for the price to go in and out of."""
        spacing, tick = self.key.tick_spacing, self.tick
        ranges = []
        for _ in range(count):
            centre = (tick + random.randint(-250, 250)) // spacing
            half = random.randint(1, 12)
            ranges.append(((centre - half) * spacing, (centre + half) * spacing))
        return self.moves.mint(MEDIUM_PROVIDER, self.key, ranges, 10**12, owner)
