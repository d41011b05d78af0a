"""ENS: whose address a name is, and by which name that address goes; the chain alone is asked."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.clean_text import clean_text
from chain.base.errors import ZunoError
from chain.base.other_curves import without_other_curves
from chain.contracts.addresses import checksum
from chain.contracts.networks import NATIVE, Address, Network, network_named
from chain.names.web3_provider import reading_provider
from chain.rpc.client import RpcClient
from chain.rpc.errors import Reverted

if TYPE_CHECKING:
    from ens import AsyncENS


_LONGEST_NAME = 255
_OFFCHAIN_LOOKUP = bytes.fromhex("556f1830")
"""The revert of a resolver that keeps its answers on a server (EIP-3668)."""


class NameFault(StrEnum):
    INVALID = "invalid"
    UNKNOWN = "unknown"
    NO_ADDRESS = "no address"
    OFF_CHAIN = "off chain"
    NO_ENS = "no ens"


class EnsError(ZunoError):
    """A name that leads to no address."""

    def __init__(self, fault: NameFault, sentence: str) -> None:
        super().__init__(f"{sentence}\nGive the address itself: 0x and 40 hexadecimal digits.")
        self.fault = fault


class ResolvedName(Struct, frozen=True):
    name: str
    """As ENS writes it."""
    address: Address
    reverse: str | None
    """The name that the address itself goes by, where that name leads back to it."""


def is_name(text: str) -> bool:
    return "." in text


def network_of_names(network: Network) -> Network:
    """Where the names for a network are kept: there, or on Ethereum."""
    return network if network.ens_registry else network_named("ethereum")


async def resolve_name(client: RpcClient, name: str) -> ResolvedName:
    """Look a name up, and the name that its address goes by."""
    with without_other_curves():
        from web3.exceptions import BadFunctionCallOutput

    normal, registry = _normal(name), client.network.ens_registry
    if registry is not None:
        await client.head()  # an endpoint that lags behind might tell a former owner
        lookup = _Lookup(client, registry)
        try:
            address = await lookup.address(normal)
            return ResolvedName(clean_text(normal), address, await lookup.reverse(address))
        except BadFunctionCallOutput:
            pass
    raise EnsError(NameFault.NO_ENS, f"{client.network.title} has no ENS at this endpoint.")


def _normal(name: str) -> str:
    from ens.exceptions import InvalidName
    from ens.utils import normalize_name

    try:
        if len(name) <= _LONGEST_NAME:
            return str(normalize_name(name.strip()))
    except InvalidName:
        pass
    shown = clean_text(name, limit=80)
    raise EnsError(NameFault.INVALID, f"'{shown}' is not a name as ENS writes them.")


class _Lookup:
    """web3's ENS over our own client, which checks the chain and keeps to its limits."""

    def __init__(self, client: RpcClient, registry: Address) -> None:
        self._client = client
        self._names = self._connected(registry)
        self._off_chain = False

    async def address(self, name: str) -> Address:
        found = await self._names.address(name)
        if found is not None:
            return str(found).lower()
        shown = clean_text(name)
        if self._off_chain:
            raise EnsError(
                NameFault.OFF_CHAIN,
                f"{shown} is kept on a server, not on the chain, and servers are not asked.",
            )
        if (await self._names.owner(name)).lower() == NATIVE:
            raise EnsError(NameFault.UNKNOWN, f"Nobody has registered {shown}.")
        raise EnsError(NameFault.NO_ADDRESS, f"{shown} is registered, but names no address.")

    async def reverse(self, address: Address) -> str | None:
        from ens.exceptions import InvalidName

        try:
            found = await self._names.name(checksum(address))
        except InvalidName:
            return None
        return None if found is None else clean_text(found)

    def _connected(self, registry: Address) -> AsyncENS:
        from ens import AsyncENS
        from web3.middleware import Web3Middleware

        # Instead of web3's own: the client has judged the head's age by the network's clock.
        middleware = ((Web3Middleware, "stalecheck"),)
        provider = reading_provider(self._client, hear_revert=self._hear_revert)
        return AsyncENS(provider, checksum(registry), middleware)

    def _hear_revert(self, error: Reverted) -> None:
        self._off_chain |= error.data.startswith(_OFFCHAIN_LOOKUP)
