"""The code of the contracts a plan calls: read at its block, held against what was first seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chain.hooks import NO_HOOK
from chain.keccak import keccak
from chain.networks import NATIVE
from chain.rpc import requests

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chain.networks import Address, Network
    from chain.overview import Sources
    from chain.rpc.types import BlockRef


class CodeHashes(NamedTuple):
    now: Mapping[Address, str]
    pinned: Mapping[Address, str]
    """As they were when this home first met each contract."""


def called_contracts(
    network: Network, tokens: Iterable[Address], hook: Address = NO_HOOK
) -> tuple[Address, ...]:
    """Everything a plan's transactions call or lead to."""
    contracts = network.contracts
    candidates = (
        *(contracts.position_manager, contracts.permit2, contracts.universal_router),
        *(*tokens, hook),
    )
    return tuple(dict.fromkeys(each for each in candidates if each is not None and each != NATIVE))


async def read_code_hashes(
    sources: Sources, addresses: Iterable[Address], at: BlockRef
) -> CodeHashes:
    """Contracts are pinned when they are first met; an address without code never is."""
    wanted = list(dict.fromkeys(addresses))
    codes = await sources.client.together(*(requests.code(each, at) for each in wanted))
    now = {
        address: "0x" + keccak(code).hex()
        for address, code in zip(wanted, codes, strict=True)
        if code
    }
    namespace = f"contract-code-{sources.network.chain_id}"
    known = sources.store.get_many(namespace, now)
    met = {address: seen for address, seen in now.items() if address not in known}
    sources.store.put_many(namespace, met, now=sources.clock())
    pinned = {address: str(known.get(address, seen)) for address, seen in now.items()}
    return CodeHashes(now, pinned)
