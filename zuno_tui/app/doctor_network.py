"""What the doctor asks over the network: endpoints, contracts and where sends go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.contracts.checksum import checksummed
from chain.contracts.code_hashes import shipped_code_hashes
from chain.contracts.keccak import keccak
from chain.rpc import requests
from chain.rpc.errors import RpcError
from zuno_tui.app.endpoint_trial import Check, CheckState, endpoint_checks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from chain.contracts.networks import Address
    from chain.rpc.client import RpcClient
    from zuno_tui.app.session import Session


async def network_checks(session: Session) -> AsyncIterator[Check]:
    from chain.rpc.client import RpcClient

    endpoints = session.settings.endpoints_for(session.network)
    if not endpoints:
        yield Check(
            "RPC",
            CheckState.BROKEN,
            "no endpoint is set",
            f"zuno --network {session.network.name} --rpc URL, or [rpc] in {session.home.settings}",
            about_network=True,
        )
    # One client an endpoint: failover would hide the one that is not well.
    for number, url in enumerate(endpoints, 1):
        name = "RPC" if len(endpoints) == 1 else f"RPC {number}"
        async with RpcClient(session.network, (url,)) as client:
            try:
                async for check in endpoint_checks(client, name):
                    yield check
                yield await _contracts_check(session, client)
            except RpcError as error:
                yield Check(
                    name, CheckState.BROKEN, error.sentence, _mend(session), about_network=True
                )


async def sending_check(session: Session) -> Check:
    """Where signed transactions would go; a private endpoint that is down takes none."""
    from chain.rpc.client import RpcClient

    url = session.settings.send_endpoint_for(session.network)
    if url is None:
        return Check("sends", CheckState.WELL, "go through the endpoints above")
    async with RpcClient(session.network, (url,)) as client:
        host = client.endpoints[0].label
        try:
            await client.ask(requests.chain_id())
        except RpcError as error:
            mend = "Nothing is signed until it answers. It is named under [send] in settings.toml."
            return Check("sends", CheckState.BROKEN, error.sentence, mend, about_network=True)
    return Check("sends", CheckState.WELL, f"go through {host} alone, which answers")


async def subscription_checks(session: Session) -> AsyncIterator[Check]:
    """Who announces new blocks; one that does not is no fault, since polling goes on."""
    for url in session.sockets:
        from chain.rpc.new_heads import try_subscription

        try:
            host = await try_subscription(session.network, url)
            yield Check("new blocks", CheckState.WELL, f"are announced by {host}")
        except RpcError as error:
            yield Check(
                "new blocks",
                CheckState.CAUTION,
                error.sentence,
                "They are polled for meanwhile. The wss:// URL is named under [rpc].",
            )


def _mend(session: Session) -> str:
    if session.network.name == "devnet":
        return "Start it in another terminal: zuno devnet"
    return f"Set another endpoint: zuno --network {session.network.name} --rpc URL"


async def _contracts_check(session: Session, client: RpcClient) -> Check:
    contracts = session.network.contracts
    places = {
        "PoolManager": contracts.pool_manager,
        "PositionManager": contracts.position_manager,
        "StateView": contracts.state_view,
        "V4Quoter": contracts.quoter,
        "Permit2": contracts.permit2,
        "Multicall3": contracts.multicall3,
    }
    if contracts.universal_router:
        places["UniversalRouter"] = contracts.universal_router
    codes = await client.settle([requests.code(at, "latest") for at in places.values()])
    found = {
        address: code
        for address, code in zip(places.values(), codes, strict=True)
        if not isinstance(code, RpcError) and code
    }
    missing = [name for name, address in places.items() if address not in found]
    if missing:
        return Check(
            "contracts",
            CheckState.BROKEN,
            f"no code at {', '.join(missing)}",
            "This endpoint does not serve Uniswap v4 here. Set another: zuno --rpc URL",
            about_network=True,
        )
    return _code_check(session, found)


def _code_check(session: Session, codes: Mapping[Address, bytes]) -> Check:
    """Whether the code is what is shipped with zuno, where anything is."""
    known = shipped_code_hashes(session.network)
    hashes = {address: "0x" + keccak(code).hex() for address, code in codes.items()}
    other = [each for each, hash_ in hashes.items() if known.get(each, hash_) != hash_]
    if other:
        return Check(
            "contracts",
            CheckState.BROKEN,
            f"other code than it should be at {', '.join(map(checksummed, other))}",
            "Nothing is signed on this endpoint's word. Set another: zuno --rpc URL",
            about_network=True,
        )
    return Check(
        "contracts",
        CheckState.WELL,
        f"all {len(codes)} have code, {len(known)} as shipped with zuno",
    )
