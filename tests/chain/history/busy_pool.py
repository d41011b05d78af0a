"""A node whose pool is swapped in at every block, however many: nothing of it is kept in memory."""

from collections.abc import Sequence

from chain.protocols.past import PoolMark
from chain.protocols.v4.events import SWAP, swap_event
from chain.rpc.endpoint import KnownRange
from chain.rpc.errors import TooLarge
from chain.rpc.records import Block, Log
from chain.rpc.requests import Request

POOL = "0x" + "ab" * 32
BEGAN = 1_760_000_000
_MASK = (1 << 64) - 1
_BEFORE = PoolMark(1 << 96, 0, 0)
_SENDER = "0x" + "00" * 31 + "01"


class BusyNode:
    """Two-second blocks with so many swaps each; answers of over so many logs are refused."""

    def __init__(self, blocks: int, swaps_a_block: int, most_logs: int = 10_000) -> None:
        self.blocks = blocks
        self._swaps_a_block = swaps_a_block
        self._most_logs = most_logs
        self.logs_told = 0
        self.refused = 0
        self.log_range: KnownRange | None = None
        self.calls_at_once = 10
        self.is_limited = False
        self.labels = ("node",)
        self._marks: list[PoolMark] = []

    def learn_log_range(self, known: KnownRange) -> None:
        self.log_range = known

    async def head(self) -> Block:
        return self.block(self.blocks)

    def block(self, number: int) -> Block:
        return Block(number, f"0x{number:064x}", f"0x{number - 1:064x}", self.time(number), 1, 0, 1)

    def time(self, number: int) -> int:
        return BEGAN + 2 * number

    def logs_of(self, number: int) -> list[Log]:
        return [self._log(number, index) for index in range(self._swaps_a_block)]

    def _log(self, number: int, index: int) -> Log:
        # A price that walks up and down by parts of a tick, and liquidity that changes at times.
        noise = _mixed(number * 64 + index)
        root = (1 << 96) + (noise << 24)
        liquidity = 10**20 + _mixed(number // 50) // 7
        paid = 10**15 + _mixed(noise)
        amounts = (-paid, paid) if noise % 2 else (paid, -paid)
        fields = (*amounts, root, liquidity, 0, 500)
        data = b"".join(field.to_bytes(32, "big", signed=True) for field in fields)
        words = f"0x{number:064x}"
        return Log(
            "0x" + "99" * 20, (SWAP, POOL, _SENDER), data, number, words, words, 0, index, False
        )

    def mark(self, number: int) -> PoolMark:
        """The price after the last swap up to a block, and what the moves up to it have paid."""
        while len(self._marks) <= number:
            before = self._marks[-1] if self._marks else _BEFORE
            root, growth0, growth1 = before.sqrt_price_x96, before.growth0, before.growth1
            for log in self.logs_of(len(self._marks)):
                swap = swap_event(log)
                part = swap.fee / (1_000_000 - swap.fee) * 2.0**128
                start, end = root / 2**96, swap.sqrt_price_x96 / 2**96
                if swap.zero_for_one:
                    growth0 += int(part * abs(1 / end - 1 / start))
                else:
                    growth1 += int(part * abs(end - start))
                root = swap.sqrt_price_x96
            self._marks.append(PoolMark(root, growth0, growth1))
        return self._marks[number] if number >= 0 else _BEFORE

    async def settle(self, requests: Sequence[Request[object]]) -> list[object]:
        return [self._answer(one) for one in requests]

    def _answer(self, request: Request[object]) -> object:
        if request.method == "eth_getBlockByNumber":
            number = int(str(request.params[0]), 16)
            return self.block(number) if number <= self.blocks else None
        query = request.params[0]
        assert isinstance(query, dict)
        first, last = int(query["fromBlock"], 16), int(query["toBlock"], 16)
        if (last - first + 1) * self._swaps_a_block > self._most_logs:
            self.refused += 1
            return TooLarge(1, endpoint="node")
        found = tuple(log for number in range(first, last + 1) for log in self.logs_of(number))
        self.logs_told += len(found)
        return found


def _mixed(value: int) -> int:
    """Sixty-four bits that no packing makes smaller."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _MASK
    return value ^ value >> 31
