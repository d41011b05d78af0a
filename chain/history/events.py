"""The events of pools: whose logs tell them, whether they tell all, and what went through."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import PIPS
from chain.contracts import abi
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import DYNAMIC_FEE, PoolId, PoolKey
from chain.contracts.storage import decode_slot0, pool_slots
from chain.contracts.v3_pool import V3PoolKey, is_v3_pool
from chain.math.fees import ProtocolFee, protocol_fee_within, swap_fee
from chain.math.sqrt_price import divide_up
from chain.pools import v3
from chain.pools.v3 import is_there, mark_calls
from chain.read.block_reader import EventError, OneBlock, read_slots
from chain.read.logs import Topics, scan_logs
from chain.rpc.client import RpcClient
from chain.rpc.records import BlockRef, Log
from chain.rpc.requests import CallOutcome

INITIALIZE = abi.topic("Initialize(bytes32,address,address,uint24,int24,address,uint160,int24)")
SWAP = abi.topic("Swap(bytes32,address,int128,int128,uint160,uint128,int24,uint24)")
MODIFY_LIQUIDITY = abi.topic("ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)")
DONATE = abi.topic("Donate(bytes32,address,uint256,uint256)")

V3_INITIALIZE = abi.topic("Initialize(uint160,int24)")
V3_SWAP = abi.topic("Swap(address,address,int256,int256,uint160,uint128,int24)")
V3_FLASH = abi.topic("Flash(address,address,uint256,uint256,uint256,uint256)")
V3_SET_PROTOCOL = abi.topic("SetFeeProtocol(uint8,uint8,uint8,uint8)")


class LogPlace(Struct, frozen=True, order=True):
    """Where in the chain an event stands; events compare in the order they happened."""

    block_number: int
    log_index: int
    block_hash: str
    transaction_hash: str


class InitializeEvent(Struct, frozen=True):
    place: LogPlace
    key: PoolKey
    sqrt_price_x96: int
    tick: int


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


class SwapEvent(Struct, frozen=True):
    place: LogPlace
    pool_id: PoolId
    sender: Address
    amount0: int
    """What the swapper received, negative for what they paid; so is `amount1`."""
    amount1: int
    sqrt_price_x96: int
    """After the swap; so are liquidity and tick."""
    liquidity: int
    tick: int
    fee: int
    """Pips of the input, liquidity providers' and protocol's together."""

    @property
    def zero_for_one(self) -> bool:
        return self.amount0 < 0

    @property
    def amount_in(self) -> int:
        """Units paid, fee included, of the currency the direction names."""
        return -self.amount0 if self.zero_for_one else -self.amount1


class ModifyLiquidityEvent(Struct, frozen=True):
    place: LogPlace
    pool_id: PoolId
    sender: Address
    tick_lower: int
    tick_upper: int
    liquidity_delta: int
    salt: int
    """The token id when the PositionManager is the sender."""


def initialize_event(log: Log) -> InitializeEvent:
    pool_id, currency0, currency1, rest = _read(
        log,
        INITIALIZE,
        ("bytes32", "address", "address"),
        ("uint24", "int24", "address", "uint160", "int24"),
    )
    fee, tick_spacing, hooks, sqrt_price, tick = rest
    key = PoolKey(currency0, currency1, fee, tick_spacing, hooks)
    if key.pool_id != _hex(pool_id):
        raise EventError("An Initialize log names a pool id that is not the id of its key.")
    return InitializeEvent(_place(log), key, sqrt_price, tick)


def swap_event(log: Log) -> SwapEvent:
    pool_id, sender, rest = _read(
        log,
        SWAP,
        ("bytes32", "address"),
        ("int128", "int128", "uint160", "uint128", "int24", "uint24"),
    )
    return SwapEvent(_place(log), _hex(pool_id), sender, *rest)


def v3_swap_event(log: Log, fee: int) -> SwapEvent:
    """The pool is who says it; the fee, which it does not say, is the one it was made with."""
    sender, _, rest = _read(
        log, V3_SWAP, ("address", "address"), ("int256", "int256", "uint160", "uint128", "int24")
    )
    # What the pool received, where v4 tells what the swapper did.
    amount0, amount1, price, liquidity, tick = rest
    return SwapEvent(
        _place(log), log.address, sender, -amount0, -amount1, price, liquidity, tick, fee
    )


def v3_opening_price(log: Log) -> int:
    ((sqrt_price, _),) = _read(log, V3_INITIALIZE, (), ("uint160", "int24"))
    return int(sqrt_price)


def modify_liquidity_event(log: Log) -> ModifyLiquidityEvent:
    pool_id, sender, rest = _read(
        log, MODIFY_LIQUIDITY, ("bytes32", "address"), ("int24", "int24", "int256", "uint256")
    )
    return ModifyLiquidityEvent(_place(log), _hex(pool_id), sender, *rest)


def _read(log: Log, topic: str, indexed: tuple[str, ...], data: tuple[str, ...]) -> list[Any]:
    """The indexed values one by one, then the tuple of those in the data."""
    if len(log.topics) != len(indexed) + 1 or log.topics[0] != topic:
        raise EventError("A log was taken for an event it is not.")
    try:
        return [*_indexed(indexed, log.topics[1:]), abi.decode(data, log.data)]
    except abi.AbiError as error:
        raise EventError(f"A log of a pool does not decode: {error}") from error


@lru_cache(maxsize=1_000)
def _indexed(types: tuple[str, ...], topics: tuple[str, ...]) -> tuple[Any, ...]:
    """Decoded once for the many logs of one pool and one sender."""
    return abi.decode(types, b"".join(bytes.fromhex(word[2:]) for word in topics))


def _place(log: Log) -> LogPlace:
    return LogPlace(log.block_number, log.log_index, log.block_hash, log.transaction_hash)


def _hex(word: bytes) -> PoolId:
    return "0x" + word.hex()


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
    return FeeTerms(key.fee, pool.protocol_fee, key.tick_spacing, isinstance(key, V3PoolKey))


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


class PoolLogs(Struct, frozen=True):
    """Whose logs to ask for, and what they must carry."""

    address: Address | tuple[Address, ...]
    swaps: Topics
    opened: Topics
    paid_otherwise: Topics
    """What changes the fees that liquidity was paid, and is no swap at the usual terms."""


def pool_logs(network: Network, pools: Sequence[PoolId]) -> PoolLogs:
    """Of pools of one protocol."""
    named = tuple(pools)
    if is_v3_pool(named[0]):
        return PoolLogs(named, (V3_SWAP,), (V3_INITIALIZE,), ((V3_FLASH, V3_SET_PROTOCOL),))
    manager = network.contracts.pool_manager
    return PoolLogs(manager, (SWAP, named), (INITIALIZE, named), (DONATE, named))


def by_protocol(pools: Iterable[PoolId]) -> list[list[PoolId]]:
    """Pools of v4, then those of v3; only what there is."""
    named = list(pools)
    told = (
        [pool_id for pool_id in named if is_v3_pool(pool_id) is of_v3] for of_v3 in (False, True)
    )
    return [several for several in told if several]


def swap_of(log: Log, terms: Mapping[PoolId, FeeTerms]) -> SwapEvent:
    if log.topics[0] == V3_SWAP:
        return v3_swap_event(log, terms[log.address].key_fee)
    return swap_event(log)


def opening_of(log: Log) -> tuple[PoolId, int]:
    """The pool that a log of its beginning is about, and its first price."""
    if log.topics[0] == V3_INITIALIZE:
        return log.address, v3_opening_price(log)
    event = initialize_event(log)
    return event.key.pool_id, event.sqrt_price_x96


# An endpoint that leaves logs out, now and then or always, looks like a quiet pool. What the
# contract itself keeps tells the two apart: the price moves by swaps alone, and `feeGrowthGlobal`
# by swaps and donations, in v3 by swaps and flash loans.
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
