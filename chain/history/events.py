"""The events of pools: whose logs tell them, whether they tell all, and what went through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import PIPS
from chain.contracts.networks import Network
from chain.contracts.pool_key import DYNAMIC_FEE, PoolId, PoolKey
from chain.math.fees import ProtocolFee, protocol_fee_within, swap_fee
from chain.math.sqrt_price import divide_up
from chain.protocols.past import PoolMark
from chain.protocols.pool import read_questions
from chain.protocols.protocol import LiquidityProtocol
from chain.protocols.registry import all_protocols, protocol_of_pool
from chain.read.block_reader import OneBlock
from chain.read.logs import scan_logs
from chain.rpc.client import RpcClient
from chain.rpc.records import BlockRef


class PricedSwap(Protocol):
    """What a swap tells of the price and of the fees, however much else is known of it."""

    @property
    def zero_for_one(self) -> bool: ...
    @property
    def amount_in(self) -> int: ...
    @property
    def sqrt_price_x96(self) -> int: ...
    @property
    def liquidity(self) -> int: ...
    @property
    def fee(self) -> int: ...


class SwapFees(NamedTuple):
    """Fees of one swap or of many, in units of each currency."""

    gross0: int = 0
    """What swappers paid, the protocol's part included."""
    gross1: int = 0
    providers0: int = 0
    """What was left to liquidity providers."""
    providers1: int = 0

    def plus(self, other: SwapFees) -> SwapFees:
        return SwapFees(*(mine + its for mine, its in zip(self, other, strict=True)))


class FeeTerms(NamedTuple):
    """What decides how a swap's fee is shared."""

    key_fee: int
    """Of the pool's key: the providers' fee, or the flag of a fee that changes."""
    protocol_fee: ProtocolFee
    """As `slot0` has it now; a static fee reveals where it was another one before."""
    tick_spacing: int = 1
    """Where ranges of the pool may begin and end."""
    protocol_within: bool = False
    """Whether the protocol takes its part out of the fee, as in v3, and not on top of it."""


class FeePool(Protocol):
    """Whatever tells a pool's fees."""

    @property
    def key(self) -> PoolKey: ...
    @property
    def protocol_fee(self) -> ProtocolFee: ...


def fee_terms(pool: FeePool) -> FeeTerms:
    key = pool.key
    return FeeTerms(key.fee, pool.protocol_fee, key.tick_spacing, key.protocol_within)


def fees(swaps: Iterable[PricedSwap], terms: FeeTerms) -> SwapFees:
    total = SwapFees()
    for swap in swaps:
        total = total.plus(fees_of_swap(swap, terms))
    return total


def fees_of_swap(swap: PricedSwap, terms: FeeTerms) -> SwapFees:
    """The fee inside a swap's input, to within one unit per initialised tick it crossed."""
    paid = swap.amount_in
    gross = divide_up(paid * swap.fee, PIPS)
    protocol_fee = protocol_fee_of(swap, terms)
    protocol = gross if protocol_fee == swap.fee else paid * protocol_fee // PIPS
    if swap.zero_for_one:
        return SwapFees(gross0=gross, providers0=gross - protocol)
    return SwapFees(gross1=gross, providers1=gross - protocol)


def protocol_fee_of(swap: PricedSwap, terms: FeeTerms) -> int:
    """Pips the protocol took of this swap's input."""
    now = terms.protocol_fee.towards(zero_for_one=swap.zero_for_one)
    if terms.key_fee == DYNAMIC_FEE or terms.protocol_within:
        return min(now, swap.fee)
    if swap_fee(now, terms.key_fee) == swap.fee:
        return now
    return protocol_fee_within(swap.fee, terms.key_fee) or 0


def by_protocol(pools: Iterable[PoolId]) -> list[tuple[LiquidityProtocol, list[PoolId]]]:
    """Pools of one protocol after the other; only what there is."""
    named = [(protocol_of_pool(pool_id), pool_id) for pool_id in pools]
    told = ((each, [pool_id for of, pool_id in named if of is each]) for each in all_protocols())
    return [(protocol, several) for protocol, several in told if several]


# An endpoint that leaves logs out, now and then or always, looks like a quiet pool. What the
# contract itself keeps tells the two apart: the price moves by swaps alone, and `feeGrowthGlobal`
# by swaps and donations, in v3 by swaps and flash loans.
_WRAP = 1 << 256
_FIXED = float(1 << 128)
_TOLERANCE = 0.0001
"""Of what the fees grew by: how far swaps moved the price tells it to a hundred thousandth. A swap
that is left out of a steady move is not noticed; what it paid is counted with the next one."""


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
    questions = {pool: protocol_of_pool(pool).mark(pool) for pool in pools}
    marks, _ = await read_questions(OneBlock(client, network, at), network, questions)
    return marks


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
    for protocol, several in by_protocol(pools):
        told_by = protocol.pool_logs(network, several)
        logs = scan_logs(
            client, told_by.address, [told_by.opened], first, last, most_calls=most_calls
        )
        opened += [protocol.pool_opening(log) async for part in logs for log in part.logs]
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
