"""The endpoints the gate has beside the one it reads through: where sends go, who is asked too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from chain.execution.outbox.delivery import Route
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import NoEndpoint, RpcError

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from zuno_tui.settings import Settings


class Witness(Struct, frozen=True):
    """One endpoint by itself, whose answers no other can stand in for."""

    host: str
    client: RpcClient


class Connections(Struct, frozen=True):
    route: Route
    witnesses: tuple[Witness, ...] = ()
    """Every endpoint that reads, where two or more are set; none where there is only one."""
    host: str = "the endpoint"
    """The first of those that read."""
    alone: bool = False
    """Whether one endpoint may vouch where others are silent."""

    def readers(self, first: RpcClient) -> tuple[RpcClient, ...]:
        """Whoever can be asked: the usual way first, then each endpoint by itself."""
        return (first, *(witness.client for witness in self.witnesses))


@asynccontextmanager
async def open_connections(
    settings: Settings, network: Network, reads: RpcClient
) -> AsyncIterator[Connections]:
    async with AsyncExitStack() as stack:

        async def alone(url: str) -> RpcClient:
            return await stack.enter_async_context(RpcClient(network, (url,)))

        route = Route(reads)
        private = settings.send_endpoint_for(network)
        if private is not None:
            sends = await alone(private)
            route = Route(sends, sends.endpoints[0].label)
        by_host = _by_host(settings.endpoints_for(network))
        several = by_host if len(by_host) > 1 else {}
        witnesses = [Witness(host, await alone(url)) for host, url in several.items()]
        if private is None:
            route = Route(reads, others=tuple(one.client for one in witnesses))
        yield Connections(route, tuple(witnesses), next(iter(by_host)), settings.alone)


def _by_host(urls: Sequence[str]) -> dict[str, str]:
    """One URL for each host: two keys of one provider are one witness, which tells one lie."""
    found: dict[str, str] = {}
    for url in urls:
        found.setdefault(urlsplit(url).netloc.rpartition("@")[2], url)
    return found


async def refuse_silent_route(route: Route) -> None:
    """Sign nothing for a private endpoint that is not there to take it."""
    if route.private_host is None:
        return
    try:
        await route.endpoint.ask(requests.chain_id())
    except RpcError as error:
        raise NoEndpoint(
            f"{error.sentence} Sends go through it alone. Nothing was signed.",
            "Try again when it answers, or name another under [send] in settings.toml.",
        ) from error
