"""The states of past blocks that Anvil writes to disk, bounded in bytes.

Each file holds the whole chain: an hour of the demo's market would take gigabytes. A block whose
state is gone answers logs and receipts still; what is read of past states is a position when it
was changed. So those blocks stay, with the ones before them, and of all others fewer, the older.
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
"""What a leap of the market adds until the next look comes on top: 300 MB in all."""
_LOOK_SECONDS = 2.0
_ROOM = 0.2
"""The share that is freed at once, so that blocks are not asked for again with every look."""


class _Sent(Struct, frozen=True, rename={"sender": "from"}):
    sender: str


class _Block(Struct, frozen=True, rename="camel"):
    parent_hash: str
    transactions: tuple[_Sent, ...]


class PastStates:
    """The files of one node, by the hash of their block; `market` are those who only trade."""

    def __init__(self, folder: Path, node: NodeClient, market: Collection[str]) -> None:
        self._folder = folder
        self._node = node
        self._market = {address.lower() for address in market}
        self._blocks: dict[str, _Block | None] = {}

    def thin(self, most_bytes: int = MOST_BYTES) -> None:
        found = [(file, file.stat()) for file in self._folder.glob("*/0x*.json")]
        surplus = sum(status.st_size for _, status in found) - most_bytes
        if surplus <= 0:
            return
        surplus += int(_ROOM * most_bytes)
        found.sort(key=lambda pair: pair[1].st_mtime_ns)
        looked_back_at = self._looked_back_at([file.stem for file, _ in found])
        ordinary = [pair for pair in found if pair[0].stem not in looked_back_at]
        while found and surplus > 0:
            # Every second of the older half, so that the older ones stand further apart.
            pool = ordinary or found
            for file, status in pool[: len(pool) // 2 + 1 : 2]:
                file.unlink()
                surplus -= status.st_size
            ordinary = [pair for pair in ordinary if pair[0].exists()]
            found = [pair for pair in found if pair[0].exists()]

    def _looked_back_at(self, hashes: list[str]) -> set[str]:
        """Blocks in which others than the market did something, and those before them."""
        unknown = [block_hash for block_hash in hashes if block_hash not in self._blocks]
        asked = [("eth_getBlockByHash", (block_hash, True)) for block_hash in unknown]
        blocks = msgspec.convert(self._node.ask_all(asked), list[_Block | None])
        self._blocks |= dict(zip(unknown, blocks, strict=True))
        kept = set()
        for block_hash in hashes:
            block = self._blocks[block_hash]
            if block and any(sent.sender not in self._market for sent in block.transactions):
                kept |= {block_hash, block.parent_hash}
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
        with suppress(NodeError), NodeClient(url) as node:
            states = PastStates(folder, node, market)
            while not over.wait(_LOOK_SECONDS):
                # Anvil may take a file away itself while it is looked at.
                with suppress(FileNotFoundError):
                    states.thin(most)

    threading.Thread(target=watch, name="past states", daemon=True).start()
    try:
        yield
    finally:
        over.set()
