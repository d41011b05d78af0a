"""The states of past blocks that Anvil writes to disk, bounded in bytes.

Each holds the whole chain. What is looked back at is a position when it was changed, and the block
before that: those states stay. All others tell less, the older they are.
"""

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from chain.base.units import MEGABYTE
from chain.devnet.json_rpc import NodeClient, NodeError

MOST_BYTES = 200 * MEGABYTE
"""A leap of the market adds to it until the next look: 300 MB in all."""
_LOOK_SECONDS = 2.0
_MOST_BYTES_A_SECOND = 100 * MEGABYTE
"""That Anvil writes in a leap: with room for more, the next look can wait."""
_FREED_AT_ONCE = 0.2


class _Sent(Struct, frozen=True, rename={"sender": "from"}):
    sender: str


class _Block(Struct, frozen=True, rename="camel"):
    parent_hash: str
    transactions: tuple[_Sent, ...]


def thin_states(
    folder: Path, node: NodeClient, market: Collection[str], most_bytes: int = MOST_BYTES
) -> int:
    """Remove files where there are too many; blocks of the `market` alone go first.

    Returns how many bytes more there is room for.
    """
    found = {file: file.stat() for file in folder.glob("*/0x*.json")}
    surplus = sum(status.st_size for status in found.values()) - most_bytes
    if surplus <= 0:
        return -surplus
    surplus += int(_FREED_AT_ONCE * most_bytes)
    files = sorted(found, key=lambda file: found[file].st_mtime_ns)
    kept = _looked_back_at([file.stem for file in files], node, market)
    while files and surplus > 0:
        pool = [file for file in files if file.stem not in kept] or files
        # Every second of the older half, so that the older ones stand further apart.
        for file in pool[: len(pool) // 2 + 1 : 2]:
            file.unlink()
            files.remove(file)
            surplus -= found[file].st_size
    return int(_FREED_AT_ONCE * most_bytes) - surplus


def _looked_back_at(hashes: list[str], node: NodeClient, market: Collection[str]) -> set[str]:
    answers = node.ask_all([("eth_getBlockByHash", (name, True)) for name in hashes])
    kept = set()
    for name, block in zip(hashes, msgspec.convert(answers, list[_Block | None]), strict=True):
        if block and any(sent.sender not in market for sent in block.transactions):
            kept |= {name, block.parent_hash}
    return kept


@contextmanager
def bounded_states(
    folder: Path, url: str, market: Collection[str], environment: Mapping[str, str]
) -> Iterator[None]:
    """Look at the folder now and then, for as long as the block lasts.

    Who takes a chain back to an old block needs that one's state: ZUNO_STATES_MB gives it room.
    """
    over, chosen = threading.Event(), environment.get("ZUNO_STATES_MB", "")
    most = int(chosen) * MEGABYTE if chosen.isdigit() else MOST_BYTES

    def watch() -> None:
        room = 0
        with NodeClient(url) as node:
            while not over.wait(max(_LOOK_SECONDS, room / _MOST_BYTES_A_SECOND)):
                # Anvil may take a file away itself, or be gone.
                with suppress(FileNotFoundError, NodeError):
                    room = thin_states(folder, node, market, most)

    threading.Thread(target=watch, name="past states", daemon=True).start()
    try:
        yield
    finally:
        over.set()
