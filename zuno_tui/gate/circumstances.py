"""Reading what drift is judged by: the wish's subject, its wallet and the hook at one block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.hooks import NO_HOOK
from chain.rpc import requests
from zuno_tui.gate.drift import Circumstances
from zuno_tui.gate.hook_code import read_hook_code

if TYPE_CHECKING:
    from chain.networks import Address
    from chain.overview import Sources
    from zuno_tui.gate.subjects import Subject


async def read_circumstances(sources: Sources, subject: Subject, wallet: Address) -> Circumstances:
    """At the block the subject was read at."""
    block, pool, position = subject.block, subject.pool, subject.position
    nonce = await sources.client.ask(requests.transaction_count(wallet, block.hash))
    hook_code = None
    if pool is not None and pool.key.hooks != NO_HOOK:
        hook_code = await read_hook_code(sources, pool.key.hooks, block.hash)
    return Circumstances(
        owner=None if position is None else position.owner,
        liquidity=None if position is None else position.liquidity,
        pool_id=None if pool is None else pool.key.pool_id,
        hook_code=hook_code,
        subscriber=None if position is None else position.custody.subscriber,
        sqrt_price_x96=None if pool is None else pool.sqrt_price_x96,
        pool_fee=None if pool is None else pool.lp_fee,
        nonce=nonce,
        base_fee=block.base_fee_per_gas or 0,
    )


def network_time(sources: Sources, head_time: int) -> int:
    """By the network's own clock where it has one: the embedded chain's stands still or runs."""
    return head_time if sources.network.clock == "head" else int(sources.clock())
