"""The events of pools of Uniswap v3, each told by the pool itself."""

from chain.contracts import abi
from chain.protocols.past import SwapEvent, log_place, read_event
from chain.rpc.records import Log

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
