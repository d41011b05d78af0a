"""What V4Quoter says a swap would pay, asked of several pools in one request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.abi import WORD, encode_call
from chain.rpc import requests
from chain.rpc.errors import Reverted, RpcError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.networks import Network
    from chain.pool_key import PoolKey
    from chain.rpc.reader import Reader
    from chain.rpc.types import BlockRef

_QUOTE = "quoteExactInputSingle(((address,address,uint24,int24,address),bool,uint128,bytes))"


async def quotes_across(
    reader: Reader,
    network: Network,
    pools: Sequence[PoolKey],
    amount_in: int,
    *,
    zero_for_one: bool,
    at: BlockRef,
) -> dict[PoolKey, int]:
    """By pool what this input buys; a pool that refuses is missing, and all without a quoter."""
    asked = (encode_call(_QUOTE, (pool.values, zero_for_one, amount_in, b"")) for pool in pools)
    outcomes = await reader.settle(
        [requests.call(network.contracts.quoter, data, at) for data in asked]
    )
    quotes: dict[PoolKey, int] = {}
    for pool, outcome in zip(pools, outcomes, strict=True):
        if isinstance(outcome, RpcError):
            if not isinstance(outcome, Reverted):
                raise outcome
        elif len(outcome) == 2 * WORD:
            quotes[pool] = int.from_bytes(outcome[:WORD], "big")
    return quotes
