"""Our client as a provider of web3.py, for reading: failover, pacing, and agreement where asked.

It sends nothing: what is signed is signed at the desk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.base import strict_json
from chain.base.errors import Failure, ZunoError
from chain.base.other_curves import without_other_curves
from chain.rpc.client import RpcClient
from chain.rpc.errors import Reverted, RpcError
from chain.rpc.records import Json
from chain.rpc.requests import Request

if TYPE_CHECKING:
    from web3.providers import AsyncBaseProvider
    from web3.types import RPCResponse

BLOCK_PARAMS: Mapping[str, int] = {
    "eth_call": 1,
    "eth_getBalance": 1,
    "eth_getCode": 1,
    "eth_getStorageAt": 2,
    "eth_getTransactionCount": 1,
}
"""What is agreed upon, and which parameter says at what block."""
READING = frozenset(
    (
        *BLOCK_PARAMS,
        *("eth_blockNumber", "eth_chainId", "eth_estimateGas", "eth_feeHistory", "eth_gasPrice"),
        *("eth_getBlockByHash", "eth_getBlockByNumber", "eth_getBlockReceipts", "eth_getLogs"),
        *("eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_maxPriorityFeePerGas"),
        *("eth_syncing", "net_version", "web3_clientVersion"),
    )
)
"""Every method that is answered."""
_ENOUGH = 2
_REVERT_CODE = 3


class NotForReadingError(ZunoError):
    """A method that is not known to read alone."""


class NotAgreedError(ZunoError):
    """No two endpoints gave the same answer."""

    failure = Failure.NETWORK


def reading_provider(
    client: RpcClient,
    *,
    agree: bool = False,
    hear_revert: Callable[[Reverted], None] = lambda _: None,
) -> AsyncBaseProvider:
    """For `AsyncWeb3` and `AsyncENS`. To `agree` is to believe of state only what two endpoints
    say of one block; with one endpoint nothing is ever agreed upon."""
    with without_other_curves():
        from web3.providers import AsyncBaseProvider
        from web3.types import RPCError

    class ReadingProvider(AsyncBaseProvider):
        global_ccip_read_enabled = False

        async def make_request(self, method: str, params: Iterable[Json]) -> RPCResponse:
            try:
                result = await _answer(client, method, tuple(params), agree=agree)
            except Reverted as error:
                hear_revert(error)
                data = "0x" + error.data.hex()
                told = RPCError(code=_REVERT_CODE, message="execution reverted", data=data)
                return {"jsonrpc": "2.0", "id": 1, "error": told}
            return {"jsonrpc": "2.0", "id": 1, "result": result}

    return ReadingProvider()


async def _answer(
    client: RpcClient, method: str, params: tuple[Json, ...], *, agree: bool
) -> object:
    if method not in READING:
        raise NotForReadingError(
            f"{method} is not answered here: this connection reads. Sign and send at the desk."
        )
    place = BLOCK_PARAMS.get(method)
    request: Request[object] = Request(method, params, lambda value: value, block_param=place)
    if agree and place is not None:
        if len(params) == place:
            request = replace(request, params=(*params, "latest"))
        return await _agreed(client, request)
    return await client.ask(request)


async def _agreed(client: RpcClient, request: Request[object]) -> object:
    assert request.block_param is not None
    if request.params[request.block_param] in ("latest", None):
        # A head is never the same at two endpoints for long: both are asked about one block.
        request = request.at((await client.head()).hash)
    told = await client.ask_each(request)
    answers = {name: each for name, each in told.items() if not isinstance(each, RpcError)}
    said = Counter(map(_written, answers.values()))
    (words, times), (_, next_times) = (*said.most_common(2), ("", 0), ("", 0))[:2]
    if times >= _ENOUGH and times > next_times:
        return next(each for each in answers.values() if _written(each) == words)
    reverts = [each for each in told.values() if isinstance(each, Reverted)]
    if len(reverts) >= _ENOUGH and len({each.data for each in reverts}) == 1:
        raise reverts[0]
    faults = "; ".join(f"{name}: {each}" for name, each in told.items() if name not in answers)
    raise NotAgreedError(
        f"No two endpoints agree on {request.method}: {len(answers)} answered, "
        f"{len(said)} ways. {faults}".strip()
        + "\nName more endpoints, or leave out the one you do not trust: --rpc URL,URL,URL"
    )


def _written(value: object) -> str:
    return strict_json.canonical(value).decode()
