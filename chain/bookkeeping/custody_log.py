"""Every arrival and departure of a wallet's positions, read once and kept where it is final."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins

from chain.contracts.networks import Address  # noqa: TC001
from chain.positions.holdings import TRANSFER, owner_words
from chain.read.logs import ScanProgress, scan_logs
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
    network, store = sources.network, sources.store
    key = f"{network.chain_id}/{network.contracts.position_manager}/{owner}"
    kept = store.read(_CustodyLog, _NAMESPACE, key)
    if kept is not None:
        [there] = await sources.client.settle([requests.block(kept.through)])
        if not isinstance(there, Block) or there.hash != kept.hash:
            kept = None
    first = network.first_block if kept is None else kept.through + 1
    changes = [] if kept is None else list(kept.changes)
    word = owner_words([owner])
    filters = [(TRANSFER, word), (TRANSFER, None, word)]
    manager = network.contracts.position_manager
    async for scanned in scan_logs(sources.client, manager, filters, first, until):
        changes += map(_change, scanned.logs)
        watch(ScanProgress(first, until, scanned.last.number, len(changes)))
    [final] = await sources.client.settle([requests.block("finalized")])
    if isinstance(final, Block) and first <= final.number <= until:
        settled = tuple(one for one in changes if one.block_number <= final.number)
        log = _CustodyLog(final.number, final.hash, settled)
        store.put(_NAMESPACE, key, to_builtins(log), now=sources.clock())
    return tuple(changes)


def _change(log: Log) -> CustodyChange:
    sender, recipient = ("0x" + topic[-40:] for topic in log.topics[1:3])
    token_id = int(log.topics[3], 16)
    place = log.block_number, log.log_index, log.transaction_hash
    return CustodyChange(token_id, *place, sender, recipient)
