"""Excursions found a second time: by looking at every block, from nothing but raw JSON-RPC."""

import re
from collections.abc import Callable, Sequence
from typing import Any

_SWAP_TOPIC = "0x40e9cecb9f5f1f1c5b9c97dec2917b7ee92e57ba5563708daca94dd84ad7112f"


def reference_excursions(
    lower: int,
    upper: int,
    margin: int,
    settle: int,
    *,
    start: tuple[int, int],
    ticks: Sequence[tuple[int, int]],
    head: int,
) -> list[tuple[int, int | None]]:
    """Begin and end of each excursion; None for the end of one that has none yet.

    Every block becomes a letter, and excursions are what a regular expression finds in the word.
    """
    first, tick = start
    changes = dict(ticks)
    word = ""
    for block in range(first, head + 1):
        tick = changes.get(block, tick)
        outside = tick < lower or tick >= upper
        clear = lower + margin <= tick < upper - margin
        word += "o" if outside else "c" if clear else "n"
    found = re.finditer(rf"o.*?(c|n{{{settle + 1}}}|$)", word)
    return [(first + one.start(), first + one.end() - 1 if one.group(1) else None) for one in found]


def swap_ticks(
    rpc: Callable[..., Any], pool_manager: str, pool_id: str, first: int, last: int
) -> list[tuple[int, int]]:
    """Block and tick of the last swap of every block, decoded by hand."""
    logs = rpc(
        "eth_getLogs",
        {
            "address": pool_manager,
            "topics": [_SWAP_TOPIC, pool_id],
            "fromBlock": hex(first),
            "toBlock": hex(last),
        },
    )
    last_of: dict[int, tuple[int, int]] = {}
    for log in logs:
        block, index = int(log["blockNumber"], 16), int(log["logIndex"], 16)
        word = int(log["data"][2 + 4 * 64 : 2 + 5 * 64], 16)
        tick = word - (1 << 256) if word >> 255 else word
        if block not in last_of or index > last_of[block][0]:
            last_of[block] = (index, tick)
    return [(block, tick) for block, (_, tick) in sorted(last_of.items())]
