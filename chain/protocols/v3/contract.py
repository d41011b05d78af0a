"""What the contract of a Uniswap v3 pool is asked, what it answers, and its events."""

from collections.abc import Sequence

from msgspec import Struct

from chain.contracts import abi
from chain.contracts.abi import AbiError
from chain.contracts.networks import Address
from chain.math.fees import FeeGrowth, ProtocolFee
from chain.protocols.past import SwapEvent, log_place, read_event
from chain.protocols.pool import PoolState
from chain.protocols.v3.pool_key import V3PoolKey
from chain.rpc.records import Log
from chain.rpc.requests import Call, CallOutcome

_WORD = 32
REFUSED = "A contract of Uniswap v3 refused a question it answers for every position."
_SLOT0_TYPES = ("uint160", "int24", "uint16", "uint16", "uint16", "uint8", "bool")
_TICK_TYPES = (
    *("uint128", "int128", "uint256", "uint256"),
    *("int56", "uint160", "uint32", "bool"),
)
_TICKS = abi.selector("ticks(int24)")


class V3Slot0(Struct, frozen=True):
    sqrt_price_x96: int
    tick: int
    protocol_parts: tuple[int, int]
    """One in so many units of a fee is the protocol's, for token0 and token1; 0 for none."""

    def protocol_fee(self, fee: int) -> ProtocolFee:
        """In pips of the input, where in v3 it is a part of the fee."""
        return ProtocolFee(*(fee // part if part else 0 for part in self.protocol_parts))


def pool_call(pool: Address, signature: str, *values: object, words: int = 0) -> Call:
    return Call(pool, abi.encode_call(signature, *values), words)


def tick_call(pool: Address, tick: int) -> Call:
    data = _TICKS + tick.to_bytes(_WORD, "big", signed=True)
    return Call(pool, data, len(_TICK_TYPES))


def mark_calls(pool: Address) -> tuple[Call, ...]:
    """The price and what all liquidity was ever paid."""
    asked = ("slot0()", "feeGrowthGlobal0X128()", "feeGrowthGlobal1X128()")
    return tuple(pool_call(pool, signature) for signature in asked)


def state_calls(pool: Address) -> tuple[Call, Call]:
    return pool_call(pool, "slot0()"), pool_call(pool, "liquidity()")


def v3_state(key: V3PoolKey, outcomes: Sequence[CallOutcome]) -> PoolState | None:
    """By the outcomes of `state_calls`; None where there is no such pool, or nobody opened it."""
    if not is_there(outcomes[0]):
        return None
    slot0, liquidity = decode_slot0(outcomes[0]), decode_number("uint128", outcomes[1])
    if not slot0.sqrt_price_x96:
        return None
    protocol = slot0.protocol_fee(key.fee)
    providers = key.fee - max(protocol)
    return PoolState(
        key, key.pool_id, slot0.sqrt_price_x96, slot0.tick, providers, protocol, liquidity
    )


def is_there(outcome: CallOutcome) -> bool:
    """Whether a contract answered: a call to an address without code says nothing, and succeeds."""
    return not outcome.success or bool(outcome.data)


def decode_slot0(outcome: CallOutcome) -> V3Slot0:
    price, tick, _, _, _, protocol, _ = abi.decode(_SLOT0_TYPES, told_by(outcome))
    return V3Slot0(price, tick, (protocol % 16, protocol >> 4))


def decode_tick_net(outcome: CallOutcome) -> int:
    """The liquidity that a tick adds when it is crossed upwards."""
    _, net, *_ = abi.decode(_TICK_TYPES, told_by(outcome))
    return int(net)


def decode_outside(outcome: CallOutcome) -> FeeGrowth:
    """What was earned on the other side of a tick: its third and fourth word."""
    data = told_by(outcome)
    if len(data) != _WORD * len(_TICK_TYPES):
        raise AbiError("A pool of Uniswap v3 did not answer with a tick.")
    third, fourth = data[2 * _WORD : 3 * _WORD], data[3 * _WORD : 4 * _WORD]
    return FeeGrowth(int.from_bytes(third), int.from_bytes(fourth))


def decode_number(kind: str, outcome: CallOutcome) -> int:
    (number,) = abi.decode((kind,), told_by(outcome))
    return int(number)


def told_by(outcome: CallOutcome) -> bytes:
    if not outcome.success:
        raise AbiError(REFUSED)
    return outcome.data


V3_INITIALIZE = abi.topic("Initialize(uint160,int24)")
V3_SWAP = abi.topic("Swap(address,address,int256,int256,uint160,uint128,int24)")
V3_FLASH = abi.topic("Flash(address,address,uint256,uint256,uint256,uint256)")
V3_SET_PROTOCOL = abi.topic("SetFeeProtocol(uint8,uint8,uint8,uint8)")


def v3_swap_event(log: Log, fee: int) -> SwapEvent:
    """The pool is who says it; the fee, which it does not say, is the one it was made with."""
    sender, _, rest = read_event(
        log, V3_SWAP, ("address", "address"), ("int256", "int256", "uint160", "uint128", "int24")
    )
    # What the pool received, where v4 tells what the swapper did.
    amount0, amount1, price, liquidity, tick = rest
    return SwapEvent(
        log_place(log), log.address, sender, -amount0, -amount1, price, liquidity, tick, fee
    )


def v3_opening_price(log: Log) -> int:
    ((sqrt_price, _),) = read_event(log, V3_INITIALIZE, (), ("uint160", "int24"))
    return int(sqrt_price)
