"""What gas costs after the observed block, in wei and in dollars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.facts import GasFacts
from agents.numbers.costs import GAS_UNITS, Recipe
from agents.observing.errors import GasUnknownError
from agents.observing.figures import figure
from chain.gas import Weight, read_gas_cost
from chain.quantity import Known, Unknown

if TYPE_CHECKING:
    from fractions import Fraction

    from chain.gas import GasCost
    from chain.networks import Network
    from chain.quantity import Quantity
    from chain.rpc.client import RpcClient
    from chain.rpc.types import Block

# Where data is paid for on a parent chain, every move is charged as the longest: two approvals,
# an exit, a swap and a mint, a little over three thousand bytes together.
LONGEST_MOVE = Weight(gas=GAS_UNITS[Recipe.RERANGE_WITH_SWAP], size=3_200)


async def read_gas(client: RpcClient, network: Network, block: Block) -> Known[GasCost]:
    """The cost of the longest move after this block."""
    cost = await read_gas_cost(client, network, [LONGEST_MOVE], block.number)
    if isinstance(cost, Unknown):
        raise GasUnknownError(cost.reason)
    return cost


def gas_facts(cost: GasCost, usd_per_wei: Quantity[Fraction]) -> GasFacts:
    return GasFacts(
        wei_per_gas=cost.execution // LONGEST_MOVE.gas,
        l1_data_fee_wei=cost.data_fee + cost.operator_fee,
        usd_per_wei=figure(usd_per_wei),
    )
