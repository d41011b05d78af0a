"""Whether logs tell all: a pool's swaps must end at its price and pay what its fees grew by.

An endpoint that leaves logs out, now and then or always, looks like a quiet pool. What the contract
itself keeps tells the two apart: the price moves by swaps alone, and `feeGrowthGlobal` by swaps and
donations, in v3 by swaps and flash loans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from chain.contracts.networks import Network
from chain.contracts.pool_key import DYNAMIC_FEE, PoolId
from chain.contracts.storage import decode_slot0, pool_slots
from chain.contracts.v3_pool import is_v3_pool
from chain.history.events import FeeTerms, by_protocol, opening_of, pool_logs
from chain.pools import v3
from chain.pools.v3 import is_there, mark_calls
from chain.read.block_reader import OneBlock, read_slots
from chain.read.logs import scan_logs
from chain.rpc.client import RpcClient
from chain.rpc.records import BlockRef
from chain.rpc.requests import CallOutcome

_WRAP = 1 << 256
_FIXED = float(1 << 128)
_TOLERANCE = 0.0001
"""Of what the fees grew by: how far swaps moved the price tells it to a hundred thousandth. A swap
that is left out of a steady move is not noticed; what it paid is counted with the next one."""


class PoolMark(Struct, frozen=True, array_like=True):
    """What the contract keeps of a pool at a block."""

    sqrt_price_x96: int
    growth0: int
    growth1: int


class LogProof(Struct, frozen=True, array_like=True):
    """The last block at which a pool's swaps were held against its state, and what came since."""

    block: int
    mark: PoolMark
    counted0: float = 0.0
    """What the swaps since then paid for a unit of liquidity, by how far each moved the price; so
    is `counted1`."""
    counted1: float = 0.0
    rounded: float = 0.0
    """How much more of either may have been paid, since every fee is rounded up to a unit."""

    def with_swaps(self, growth0: float, growth1: float, rounded: float) -> LogProof:
        return replace(
            self,
            counted0=self.counted0 + growth0,
            counted1=self.counted1 + growth1,
            rounded=self.rounded + rounded,
        )


async def read_marks(
    client: RpcClient, network: Network, pools: Iterable[PoolId], at: BlockRef
) -> dict[PoolId, PoolMark]:
    named = list(pools)
    calls = {pool: mark_calls(pool) for pool in named if is_v3_pool(pool)}
    slots = {pool: pool_slots(pool) for pool in named if pool not in calls}
    wanted = [
        slot
        for pool_slots in slots.values()
        for slot in (pool_slots.slot0, pool_slots.fee_growth_global0, pool_slots.fee_growth_global1)
    ]
    asked = [call for several in calls.values() for call in several]
    answers = await read_slots(OneBlock(client, network, at), network, wanted, asked)
    told = dict(zip(asked, answers.outcomes, strict=True))
    of_v3 = {pool: _v3_mark([told[call] for call in several]) for pool, several in calls.items()}
    return of_v3 | {pool: _mark(answers.words, pool) for pool in slots}


def _v3_mark(outcomes: Sequence[CallOutcome]) -> PoolMark:
    """Nothing where the pool was not made yet."""
    slot0, *growth = outcomes
    if not is_there(slot0):
        return PoolMark(0, 0, 0)
    price = v3.decode_slot0(slot0).sqrt_price_x96
    return PoolMark(price, *(v3.decode_number("uint256", outcome) for outcome in growth))


def _mark(words: Mapping[int, int], pool: PoolId) -> PoolMark:
    slots = pool_slots(pool)
    return PoolMark(
        decode_slot0(words[slots.slot0]).sqrt_price_x96,
        words[slots.fee_growth_global0],
        words[slots.fee_growth_global1],
    )


async def read_beginnings(
    client: RpcClient,
    network: Network,
    pools: Sequence[PoolId],
    first: int,
    last: int,
    *,
    most_calls: int,
) -> dict[PoolId, PoolMark]:
    """Of pools that were opened in these blocks: at which price, with nothing paid yet."""
    opened: list[tuple[PoolId, int]] = []
    for several in by_protocol(pools):
        told_by = pool_logs(network, several)
        logs = scan_logs(
            client, told_by.address, [told_by.opened], first, last, most_calls=most_calls
        )
        opened += [opening_of(log) async for part in logs for log in part.logs]
    return {pool: PoolMark(price, 0, 0) for pool, price in opened}


def price_fault(last_price: int | None, mark: PoolMark) -> str:
    """Why the last price that swaps tell cannot be the last; empty where it is."""
    if last_price is None or last_price == mark.sqrt_price_x96:
        return ""
    return "the swaps that it gives do not end at the pool's price"


def growth_fault(proof: LogProof, mark: PoolMark) -> str:
    """Why swaps since the proof cannot be all; empty where they are."""
    grown0 = ((mark.growth0 - proof.mark.growth0) % _WRAP) / _FIXED
    grown1 = ((mark.growth1 - proof.mark.growth1) % _WRAP) / _FIXED
    if _covers(proof, grown0, proof.counted0) and _covers(proof, grown1, proof.counted1):
        return ""
    return "the fees of the swaps that it gives are not those that the pool was paid"


def _covers(proof: LogProof, grown: float, told: float) -> bool:
    """Swaps that are left out leave less told than grew. More is no fault: a swap may have jumped
    over prices at which nobody provides, and nobody is paid."""
    return told >= grown * (1 - _TOLERANCE) - proof.rounded


def is_comparable(terms: FeeTerms) -> bool:
    """A changing fee does not tell which part of it was the protocol's at the time."""
    return terms.key_fee != DYNAMIC_FEE or not any(terms.protocol_fee)
