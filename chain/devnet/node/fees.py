"""What a unit of gas costs: EIP-1559, held up by a floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.base.units import GWEI

if TYPE_CHECKING:
    from chain.devnet.node.records import Header


BLOCK_GAS_LIMIT = 30_000_000
ELASTICITY = 2
MAX_CHANGE_DENOMINATOR = 8

# Blocks here are nearly empty, and EIP-1559 alone would let the fee decay to 7 wei within 150 of
# them: gas would be free and no plan could be too expensive. A full block still makes it rise.
BASE_FEE_FLOOR = GWEI
SUGGESTED_TIP = GWEI // 10


def next_base_fee(parent: Header) -> int:
    target = parent.gas_limit // ELASTICITY
    fee = parent.base_fee_per_gas
    change = fee * abs(parent.gas_used - target) // target // MAX_CHANGE_DENOMINATOR
    if parent.gas_used > target:
        return fee + max(change, 1)
    return max(fee - change, BASE_FEE_FLOOR)
