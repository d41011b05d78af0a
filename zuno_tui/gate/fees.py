"""What is paid for gas: the block's own base fee, and a tip that no single endpoint sets."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from chain.execution.building_facts import FeeCaps
from chain.gas import read_gas_price
from chain.quantity import Unknown
from chain.rpc.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.rpc.client import RpcClient
    from chain.rpc.types import Block
    from zuno_tui.gate.connections import Witness

_HEADROOM = 2
"""A base fee may rise by an eighth a block: twice lasts for five full blocks."""


async def agreed_fees(witnesses: Sequence[Witness], block: Block, found: FeeCaps) -> FeeCaps:
    """The lower tip of two endpoints, the middle one of more; as found where only one is set."""
    told = await asyncio.gather(*(_tip(one.client, block) for one in witnesses))
    tips = sorted(tip for tip in told if tip is not None)
    if not tips:
        return found
    tip = tips[(len(tips) - 1) // 2]
    base = block.base_fee_per_gas
    if base is None:
        return FeeCaps(tip, tip)
    return FeeCaps(_HEADROOM * base + tip, tip)


async def _tip(client: RpcClient, block: Block) -> int | None:
    try:
        price = await read_gas_price(client, block.number)
    except RpcError:
        return None
    return None if isinstance(price, Unknown) else price.value.priority_fee
