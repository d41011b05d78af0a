"""What gas costs: the suggested price, the tip, and the history of both."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from chain.devnet.node.fees import SUGGESTED_TIP, next_base_fee
from chain.devnet.node.rpc.faults import Json, failed, invalid
from chain.devnet.node.rpc.fields import array, number, shown
from chain.devnet.node.rpc.references import height, number_or_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chain.devnet.node.node import Node
    from chain.devnet.node.records import MinedBlock
    from chain.devnet.node.rpc.fields import Params

MAX_HISTORY = 1024
MAX_PERCENTILES = 100


def gas_price(node: Node, _params: Params) -> Json:
    return hex(next_base_fee(node.ledger.head) + SUGGESTED_TIP)


def fee_history(node: Node, params: Params) -> Json:
    wanted = min(params.take(number), MAX_HISTORY)
    newest = height(node, params.take(number_or_tag))
    percentiles = _percentiles(params.maybe(array, []))
    if newest is None:
        raise failed("request beyond head block")
    if wanted == 0:
        return {"oldestBlock": "0x0", "gasUsedRatio": []}
    oldest = max(newest - wanted + 1, 0)
    blocks = [node.ledger.block(item) for item in range(oldest, newest + 1)]
    base_fees = [block.header.base_fee_per_gas for block in blocks]
    history: dict[str, Json] = {
        "oldestBlock": hex(oldest),
        "baseFeePerGas": [hex(fee) for fee in (*base_fees, next_base_fee(blocks[-1].header))],
        "gasUsedRatio": [block.header.gas_used / block.header.gas_limit for block in blocks],
        "baseFeePerBlobGas": ["0x1"] * (len(blocks) + 1),
        "blobGasUsedRatio": [0] * len(blocks),
    }
    if percentiles:
        history["reward"] = [[hex(tip) for tip in tips_at(block, percentiles)] for block in blocks]
    return history


def tips_at(block: MinedBlock, percentiles: Sequence[float]) -> list[int]:
    """The tips at these percentiles of the block's gas, the cheapest gas first."""
    base_fee = block.header.base_fee_per_gas
    paid = sorted(
        (receipt.effective_gas_price - base_fee, receipt.gas_used) for receipt in block.receipts
    )
    if not paid:
        return [0] * len(percentiles)
    reached = list(accumulate(gas for _, gas in paid))
    tips: list[int] = []
    for percentile in percentiles:
        threshold = reached[-1] * percentile / 100
        position = next(i for i, gas in enumerate(reached) if gas >= threshold)
        tips.append(paid[position][0])
    return tips


def _percentiles(values: Sequence[Json]) -> list[float]:
    if len(values) > MAX_PERCENTILES:
        raise invalid(f"over the query limit {MAX_PERCENTILES}")
    percentiles: list[float] = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
            raise invalid(f"invalid reward percentile: {shown(value)}")
        if percentiles and value <= percentiles[-1]:
            raise invalid("invalid reward percentile: they must increase")
        percentiles.append(value)
    return percentiles


METHODS: Mapping[str, Callable[[Node, Params], Json]] = {
    "eth_gasPrice": gas_price,
    "eth_maxPriorityFeePerGas": lambda _node, _params: hex(SUGGESTED_TIP),
    "eth_blobBaseFee": lambda _node, _params: "0x1",
    "eth_feeHistory": fee_history,
}
