"""Whose code accounts run, told alike wherever it is shown."""

import asyncio
from collections.abc import Sequence

from chain.contracts.addresses import checksum
from chain.contracts.delegation import delegate_in, delegate_named
from chain.contracts.networks import Address, Network
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from zuno_tui.app.session import Session

_PATIENCE = 5.0


async def read_account_codes(
    session: Session, accounts: Sequence[Address]
) -> dict[Address, bytes | None]:
    """Of each on the chosen network; None where nobody tells."""
    endpoints = session.settings.endpoints_for(session.network)
    if not endpoints or not accounts:
        return dict.fromkeys(accounts)
    asked = [requests.code(account, "latest") for account in accounts]
    limits = session.settings.request_limits
    async with RpcClient(session.network, endpoints, limits=limits) as client:
        try:
            async with asyncio.timeout(_PATIENCE):
                told = await client.settle(asked)
        except (TimeoutError, RpcError):
            return dict.fromkeys(accounts)
    return {
        account: None if isinstance(code, RpcError) else code
        for account, code in zip(accounts, told, strict=True)
    }


def account_words(network: Network, code: bytes | None) -> str:
    if code is None:
        return "unknown"
    if not code:
        return "not delegated: plans go as several transactions"
    delegate = delegate_in(code)
    if delegate is None:
        return "a contract"
    known = delegate_named(network, delegate)
    if known is not None:
        orders = "" if known.orders else ", no standing orders"
        return f"delegated: plans go as one transaction{orders}"
    return f"delegated to {checksum(delegate)}, left alone: plans go as several transactions"
