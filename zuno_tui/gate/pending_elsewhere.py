"""Transactions of the wallet that wait in a pool and that no plan of this home sent.

A step signed now would take the nonce of the first of them: it would be refused as underpriced, or
quietly put itself in the other's place.
"""

import asyncio
from collections.abc import Iterable, Sequence

from chain.contracts.networks import Address
from chain.execution.outbox.records import Dispatch
from chain.rpc import requests
from chain.rpc.errors import RpcError
from chain.rpc.requests import Reader

_LOOKS = 3
_BETWEEN_LOOKS = 0.5
"""Seconds: of two machines behind one address one may count a block that the other lacks."""


async def pending_elsewhere(
    readers: Sequence[Reader], wallet: Address, own: frozenset[int]
) -> tuple[int, ...]:
    """The nonces that wait at any endpoint and are not of `own`, once they did for a second."""
    for look in range(_LOOKS):
        if look:
            await asyncio.sleep(_BETWEEN_LOOKS)
        waiting = await asyncio.gather(*(_waiting(reader, wallet) for reader in readers))
        found = frozenset[int]().union(*waiting) - own
        if not found:
            return ()
    return tuple(sorted(found))


def nonces_sent(dispatches: Iterable[Dispatch], chain_id: int, wallet: Address) -> frozenset[int]:
    """Those of every transaction that plans of this home signed and the chain has not settled."""
    return frozenset(
        step.transaction.nonce
        for dispatch in dispatches
        if (dispatch.chain_id, dispatch.sender) == (chain_id, wallet)
        for step in dispatch.steps
        if step.versions and not step.settled
    )


def pending_words(nonces: Sequence[int]) -> str:
    """What waits, and what can be done about it."""
    named = ", ".join(map(str, nonces))
    single = len(nonces) == 1
    them = "it" if single else "them"
    return (
        f"{'A transaction' if single else f'{len(nonces)} transactions'} of this wallet, sent from "
        f"elsewhere, still {'waits' if single else 'wait'} to be included (nonce {named}). Wait "
        f"for {them}, or speed {them} up or cancel {them} in the wallet that sent {them}."
    )


async def _waiting(reader: Reader, wallet: Address) -> frozenset[int]:
    """What one endpoint holds; nothing where it does not tell."""
    try:
        included, everything = await reader.together(
            requests.transaction_count(wallet, "latest"),
            requests.transaction_count(wallet, "pending"),
        )
    except RpcError:
        return frozenset()
    return frozenset(range(included, everything))
