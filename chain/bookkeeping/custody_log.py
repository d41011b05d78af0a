"""Every arrival and departure of a wallet's positions, read once and kept where it is final."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins

from chain.contracts.networks import Address  # noqa: TC001
from chain.positions.holdings import TRANSFER, owner_words
from chain.read.logs import ScanProgress, scan_parts
from chain.rpc import requests
from chain.rpc.records import Block

if TYPE_CHECKING:
    from collections.abc import Callable

    from chain.positions.overview import Sources
    from chain.rpc.records import Log

_NAMESPACE = "custody log"


class CustodyChange(Struct, frozen=True, array_like=True):
    """A position that went from one address to another; from nobody when it was minted."""

    token_id: int
    block_number: int
    log_index: int
    transaction_hash: str
    sender: Address
    recipient: Address


class _CustodyLog(Struct, frozen=True):
    through: int
    hash: str
    changes: tuple[CustodyChange, ...]


async def read_custody_log(
    sources: Sources,
    owner: Address,
    until: int,
    *,
    watch: Callable[[ScanProgress], None] = lambda _: None,
) -> tuple[CustodyChange, ...]:
    """All that concern this wallet up to a block, oldest first."""
    network = sources.network
    key = f"{network.chain_id}/{network.contracts.position_manager}/{owner}"
    kept = sources.store.read(_CustodyLog, _NAMESPACE, key)
    landmark = requests.block("earliest" if kept is None else kept.through)
    final, there = await sources.client.settle([requests.block("finalized"), landmark])
    if kept is not None and not (isinstance(there, Block) and there.hash == kept.hash):
        kept = None
    first = network.first_block if kept is None else kept.through + 1
    changes = [] if kept is None else list(kept.changes)
    settled = min(final.number, until) if isinstance(final, Block) else first - 1
    word = owner_words([owner])
    filters = [(TRANSFER, word), (TRANSFER, None, word)]
    manager = network.contracts.position_manager
    for start, end in ((first, settled), (max(first, settled + 1), until)):
        async for part in scan_parts(sources.client, manager, filters, start, end):
            changes += map(_change, part.logs)
            if part.header is not None and part.end <= settled:
                # Whoever is stopped goes on from here.
                log = _CustodyLog(part.end, part.header.hash, tuple(changes))
                sources.store.put(_NAMESPACE, key, to_builtins(log), now=sources.clock())
            watch(ScanProgress(first, until, part.end, len(changes)))
    return tuple(changes)


def _change(log: Log) -> CustodyChange:
    sender, recipient = ("0x" + topic[-40:] for topic in log.topics[1:3])
    token_id = int(log.topics[3], 16)
    place = log.block_number, log.log_index, log.transaction_hash
    return CustodyChange(token_id, *place, sender, recipient)
