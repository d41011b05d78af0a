"""A position from tick −1,000 to 1,000 in a pool whose price is wherever a test wants it."""

from agents.monitor.rules.baseline import INSIDE, Baseline
from agents.monitor.rules.situation import Situation
from chain.contracts.hooks import hook_passport
from chain.contracts.networks import NATIVE, network_named
from chain.contracts.pool_key import PoolKey
from chain.math.fees import FeeGrowth, unpack_protocol_fee
from chain.math.ticks import sqrt_price_at_tick
from chain.protocols.custody import Custody
from chain.protocols.pool import PoolSnapshot
from chain.protocols.reference import v4_position
from chain.protocols.snapshot import PositionSnapshot, identify, range_status
from chain.rpc.records import Block
from chain.tokens import Token
from chain.tokens.pair import Pair
from tests.agents.monitor.made_up_alerts import NOW, WALLET

NETWORK = network_named("ethereum")
LOWER, UPPER = -1_000, 1_000
KEY = PoolKey("0x" + "01" * 20, "0x" + "02" * 20, 3_000, 10, NATIVE)
ONE = Token(KEY.currency0, "ONE", 18, verified=True, suspicious=False)
TWO = Token(KEY.currency1, "TWO", 18, verified=True, suspicious=False)


def block(number: int) -> Block:
    return Block(
        number, f"0x{number:064x}", f"0x{number - 1:064x}", int(NOW) + 12 * number, 1, 0, 1
    )


def position(tick: int, *, number: int = 7, at: int = 100) -> PositionSnapshot:
    pool = PoolSnapshot(
        pool_id=KEY.pool_id,
        key=KEY,
        sqrt_price_x96=sqrt_price_at_tick(tick),
        tick=tick,
        lp_fee=3_000,
        protocol_fee=unpack_protocol_fee(0),
        liquidity=10**18,
        fee_growth=FeeGrowth(0, 0),
        hook=hook_passport(NATIVE, KEY.fee),
    )
    return PositionSnapshot(
        identity=identify(v4_position(number), KEY, LOWER, UPPER),
        block=block(at),
        pool=pool,
        custody=Custody(WALLET, None, None),
        liquidity=10**15,
        amount0=0,
        amount1=0,
        fees0=0,
        fees1=0,
        status=range_status(tick, LOWER, UPPER),
    )


def at_tick(tick: int) -> Situation:
    held = position(tick)
    return Situation(
        network=NETWORK,
        position=held,
        pair=Pair(ONE, TWO, inverted=False),
        standing=INSIDE,
        out_since=None,
        baseline=Baseline.of(held, INSIDE, None),
    )


def situation() -> Situation:
    """In the middle of its range, with nothing the matter."""
    return at_tick(0)
