"""What happened in the one pool of a virtual chain: its swaps, told when somebody asks for them."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from chain.math.ticks import sqrt_price_at_tick, tick_at_sqrt_price
from chain.protocols.v4.events import MODIFY_LIQUIDITY, SWAP

TICK = -200_000
"""Some 2,000 dollars for an ether."""
LIQUIDITY = 10**18
_ROOT = sqrt_price_at_tick(TICK)
_DAY = 86_400
_FEE = 500
_CYCLE = 4_096


@dataclass(frozen=True)
class VirtualMarket:
    """So many swaps a day, evenly, around one price that they never leave by half a per cent."""

    swaps_a_day: int
    block_seconds: float

    def swaps(self, first: int, last: int) -> Iterator[tuple[int, int, str]]:
        """Block, place in it and data of every swap of these blocks."""
        blocks_a_swap = _DAY / self.block_seconds / self.swaps_a_day
        number = int(first / blocks_a_swap)
        place, before = 0, -1
        while True:
            block = int(number * blocks_a_swap)
            if block > last:
                return
            if block >= first:
                place = place + 1 if block == before else 0
                before = block
                yield block, 2 * place, _swap_data(number)
            number += 1

    def swaps_until(self, block: int) -> int:
        """How many there were from the chain's beginning to the end of this block."""
        if not self.swaps_a_day:
            return 0
        blocks_a_swap = _DAY / self.block_seconds / self.swaps_a_day
        count = max(int((block + 1) / blocks_a_swap) - 2, 0)
        while int(count * blocks_a_swap) <= block:
            count += 1
        return count

    def root(self, block: int) -> int:
        """The square root of the price at the end of a block."""
        count = self.swaps_until(block)
        return _root_after(count - 1) if count else _ROOT

    def growth(self, block: int) -> tuple[int, int]:
        """What all swaps up to a block paid for a unit of liquidity, as the contract keeps it."""
        cycles, rest = divmod(self.swaps_until(block), _CYCLE)
        sums = _growth_in_a_cycle()
        whole, part = sums[-1], sums[rest]
        return cycles * whole[0] + part[0], cycles * whole[1] + part[1]

    def logs(
        self, first: int, last: int, pool_id: str, manager: str
    ) -> Iterator[dict[str, object]]:
        sender = "0x" + "00" * 12 + "5a" * 20
        for block, place, data in self.swaps(first, last):
            yield log_of(manager, [SWAP, pool_id, sender], data, block, place)


def change_log(
    manager: str, pool_id: str, sender: str, block: int, token_id: int, span: tuple[int, int]
) -> dict[str, object]:
    """A position's liquidity as it is first provided."""
    data = "0x" + "".join(_word(one) for one in (*span, 10**15, token_id))
    topic = "0x" + "00" * 12 + sender[2:]
    return log_of(manager, [MODIFY_LIQUIDITY, pool_id, topic], data, block, 1)


def log_of(address: str, topics: list[str], data: str, block: int, place: int) -> dict[str, object]:
    return {
        "address": address,
        "topics": topics,
        "data": data,
        "blockNumber": hex(block),
        "transactionHash": f"0x{block:060x}{place:04x}",
        "transactionIndex": "0x0",
        "logIndex": hex(place),
        "removed": False,
    }


def _noise(number: int) -> int:
    """Swaps repeat after a cycle, so that anybody can tell what all of them paid."""
    text = str(number % _CYCLE).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest(), "big")


def _root_after(number: int) -> int:
    return _ROOT + _ROOT * (_noise(number) % 4_001 - 2_000) // 1_000_000


@lru_cache(maxsize=1)
def _growth_in_a_cycle() -> list[tuple[int, int]]:
    """After so many swaps of a cycle, by how far each moves the price."""
    sums, fixed = [(0, 0)], 1 << 128
    part = _FEE / (1_000_000 - _FEE)
    for number in range(_CYCLE):
        start, end = (_root_after(one) / 2**96 for one in (number - 1, number))
        growth0, growth1 = sums[-1]
        if _noise(number) % 2:
            growth0 += int(part * abs(1 / end - 1 / start) * fixed)
        else:
            growth1 += int(part * abs(end - start) * fixed)
        sums.append((growth0, growth1))
    return sums


def _swap_data(number: int) -> str:
    noise = _noise(number)
    paid = 10**15 + noise
    amounts = (
        (-paid, paid * _ROOT * _ROOT >> 192)
        if noise % 2
        else (paid, -(paid * _ROOT * _ROOT >> 192) - 1)
    )
    return "0x" + "".join(map(_word, amounts)) + _place_words(noise % 4_001 - 2_000)


@lru_cache(maxsize=4_001)
def _place_words(millionths: int) -> str:
    """Where a swap ended, so far from the one price: a busy week has many swaps and few places."""
    root = _ROOT + _ROOT * millionths // 1_000_000
    return "".join(map(_word, (root, LIQUIDITY, tick_at_sqrt_price(root), _FEE)))


def _word(value: int) -> str:
    return f"{value % (1 << 256):064x}"
