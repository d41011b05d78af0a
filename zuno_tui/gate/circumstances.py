"""Reading what drift is judged by: the wish's subject, its wallet and the hook at one block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.hooks import NO_HOOK
from chain.rpc import requests
from chain.rpc.client import AHEAD_SECONDS
from zuno_tui.gate.drift import Circumstances
from zuno_tui.gate.hook_code import read_hook_code
from zuno_tui.gate.refusal import GateRefusedError, RefusalCode

if TYPE_CHECKING:
    from chain.networks import Address
    from chain.overview import Sources
    from chain.rpc.types import Block
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


def earliest_time(sources: Sources, block: Block) -> int:
    """What deadlines and expirations start from: the earlier of the block's time and ours.

    A block from the future is refused: whoever makes up its time would make up every deadline.
    """
    if sources.network.clock == "head":
        return block.timestamp
    now = sources.clock()
    if block.timestamp > now + AHEAD_SECONDS:
        raise GateRefusedError(
            f"Block {block.number:,} is {block.timestamp - now:.0f} s ahead of this machine's "
            "clock. Nothing was signed. Check the clock, or ask another endpoint: --rpc URL",
            RefusalCode.FUTURE_HEAD,
        )
    return min(block.timestamp, int(now))
