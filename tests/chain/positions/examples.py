"""Positions that exist on no chain, for arithmetic whose answer is known."""

from math import floor, log

from chain.contracts.hooks import hook_passport
from chain.contracts.networks import NATIVE
from chain.contracts.pool_key import PoolKey
from chain.math.fees import FeeGrowth, ProtocolFee
from chain.math.liquidity import amounts_for_liquidity
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.custody import Custody
from chain.protocols.pool import PoolSnapshot
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import PositionSnapshot, identify, range_status
from chain.rpc.records import Block

KEY = PoolKey("0x" + "11" * 20, "0x" + "22" * 20, 3000, 60, NATIVE)
OWNER = "0x" + "aa" * 20
LIQUIDITY = 10**24
NO_PROTOCOL_FEE = ProtocolFee(0, 0)
BLOCK = Block(500, "0x" + "05" * 32, "0x" + "04" * 32, 1_700_000_000, 0, 0, 0)


def tick_of(price: float) -> int:
    return floor(log(price) / log(1.0001))


def position(
    price: float,
    lower: float,
    upper: float,
    *,
    liquidity: int = LIQUIDITY,
    fees: tuple[int, int] = (0, 0),
    active: int | None = None,
    protocol_fee: ProtocolFee = NO_PROTOCOL_FEE,
) -> PositionSnapshot:
    ticks = tick_of(lower), tick_of(upper)
    tick = tick_of(price)
    sqrt_price = sqrt_price_at_tick(tick)
    bottom, top = map(sqrt_price_at_tick, ticks)
    amounts = amounts_for_liquidity(sqrt_price, bottom, top, liquidity, round_up=False)
    pool = PoolSnapshot(
        pool_id=KEY.pool_id,
        key=KEY,
        sqrt_price_x96=sqrt_price,
        tick=tick,
        lp_fee=KEY.fee,
        protocol_fee=protocol_fee,
        liquidity=liquidity if active is None else active,
        fee_growth=FeeGrowth(0, 0),
        hook=hook_passport(NATIVE, KEY.fee),
    )
    return PositionSnapshot(
        identity=identify(v4_position(7), KEY, *ticks),
        block=BLOCK,
        pool=pool,
        custody=Custody(OWNER, None, None),
        liquidity=liquidity,
        amount0=amounts.amount0,
        amount1=amounts.amount1,
        fees0=fees[0],
        fees1=fees[1],
        status=range_status(tick, *ticks),
    )
