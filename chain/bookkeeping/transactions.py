"""What transactions cost their sender, and what they swapped and wrapped besides positions."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.quantity import Known, Quantity, Unknown
from chain.contracts import abi
from chain.history.events import (
    MODIFY_LIQUIDITY,
    SWAP,
    ModifyLiquidityEvent,
    modify_liquidity_event,
    swap_event,
)
from chain.read.in_parts import settle_in_parts
from chain.rpc import requests
from chain.rpc.records import Block, Receipt

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network
    from chain.contracts.pool_key import PoolId
    from chain.positions.overview import Sources

_DEPOSIT = abi.topic("Deposit(address,uint256)")
_WITHDRAWAL = abi.topic("Withdrawal(address,uint256)")


class SwappedAmounts(Struct, frozen=True):
    """What a swapper received of each currency of a pool; negative for what they paid."""

    pool_id: PoolId
    amount0: int
    amount1: int


class SentTransaction(Struct, frozen=True):
    hash: str
    block: int
    time: int
    sender: Address
    cost: Quantity[int]
    """Gas and, where there is one, the parent chain's part, in the coin's smallest unit."""
    swaps: tuple[SwappedAmounts, ...]
    wrapped: int
    """How much of the coin the sender wrapped, less what they unwrapped."""
    changes: tuple[ModifyLiquidityEvent, ...]


async def read_transactions(
    sources: Sources, hashes: Collection[str]
) -> dict[str, SentTransaction]:
    """By hash; one whose receipt the node does not have is left out."""
    wanted = tuple(dict.fromkeys(hashes))
    answers = await settle_in_parts(sources.client, [requests.receipt(one) for one in wanted])
    receipts = [one for one in answers if isinstance(one, Receipt)]
    numbers = sorted({one.block_number for one in receipts})
    headers = await settle_in_parts(sources.client, [requests.block(one) for one in numbers])
    times = {one.number: one.timestamp for one in headers if isinstance(one, Block)}
    return {
        one.transaction_hash: _sent(sources.network, one, times[one.block_number])
        for one in receipts
        if one.block_number in times
    }


def _sent(network: Network, receipt: Receipt, time: int) -> SentTransaction:
    manager = network.contracts.pool_manager
    ours = [log for log in receipt.logs if log.address == manager]
    swaps = [swap_event(log) for log in ours if log.topics[0] == SWAP]
    return SentTransaction(
        hash=receipt.transaction_hash,
        block=receipt.block_number,
        time=time,
        sender=receipt.sender,
        cost=_cost(network, receipt),
        swaps=tuple(SwappedAmounts(one.pool_id, one.amount0, one.amount1) for one in swaps),
        wrapped=_wrapped(network, receipt),
        changes=tuple(
            modify_liquidity_event(log) for log in ours if log.topics[0] == MODIFY_LIQUIDITY
        ),
    )


def _cost(network: Network, receipt: Receipt) -> Quantity[int]:
    if network.stack == "op" and receipt.l1_fee is None:
        return Unknown("the node does not tell what the data cost on the parent chain")
    cost = receipt.gas_used * receipt.effective_gas_price + (receipt.l1_fee or 0)
    return Known(cost, "receipt", receipt.block_number)


def _wrapped(network: Network, receipt: Receipt) -> int:
    who = "0x" + "00" * 12 + receipt.sender.removeprefix("0x")
    signs = {_DEPOSIT: 1, _WITHDRAWAL: -1}
    return sum(
        signs[log.topics[0]] * int.from_bytes(log.data, "big")
        for log in receipt.logs
        if log.address == network.wrapped_native
        and log.topics
        and log.topics[0] in signs
        and log.topics[1:] == (who,)
    )
