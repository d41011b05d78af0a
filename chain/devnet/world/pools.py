"""The pools of the embedded chain: what trades in them, how deep, what it takes to move them."""

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import PIPS
from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import DYNAMIC_FEE, PoolId, PoolKey
from chain.contracts.storage import (
    bitmap_slot,
    decode_slot0,
    decode_tick_liquidity,
    pool_slots,
    tick_slots,
)
from chain.devnet.world.deployment import EXIT_GUARD, FEE_STEWARD, USDC, USDT, WBTC, WETH
from chain.devnet.world.price_path import MILLITICKS_PER_TENFOLD, Asset, sqrt_price_at
from chain.math.fees import swap_fee, unpack_protocol_fee
from chain.math.sqrt_price import amount0_delta, amount1_delta, divide_up
from chain.math.ticks import sqrt_price_at_tick, tick_at_sqrt_price

_ETHER_DECIMALS = 18


class Currency(Struct, frozen=True):
    address: Address
    decimals: int
    asset: Asset

    def dollars(self, amount: int, prices: Mapping[Asset, int]) -> int:
        """The worth of an amount in whole dollars' millionths."""
        root = sqrt_price_at(prices[self.asset])
        unit: int = 10**self.decimals
        return amount * root * root * 10**6 // unit >> 192


ETH_CURRENCY = Currency(NATIVE, _ETHER_DECIMALS, Asset.ETHER)
WETH_CURRENCY = Currency(WETH.address, WETH.decimals, Asset.ETHER)
USDC_CURRENCY = Currency(USDC.address, USDC.decimals, Asset.DOLLAR)
USDT_CURRENCY = Currency(USDT.address, USDT.decimals, Asset.TETHER)
WBTC_CURRENCY = Currency(WBTC.address, WBTC.decimals, Asset.BITCOIN)


class Crowd(Struct, frozen=True):
    """Trading that knows nothing: how often it comes, and what its fees make the pool pay."""

    weight: int
    """Visits out of a hundred."""
    pays: int
    """Fees in percent of what the market's movement takes from those who provide."""


class DevnetPool(Struct, frozen=True):
    name: str
    currency0: Currency
    currency1: Currency
    fee: int
    tick_spacing: int
    hooks: Address
    depth: int
    """Dollars provided by others."""
    crowd: Crowd
    breadth: tuple[int, int]
    """Half-widths in ticks of the medium and the narrow provider's range."""
    slack: int
    """Milliticks beyond the fee that arbitrage lets pass."""

    @property
    def key(self) -> PoolKey:
        return PoolKey(
            self.currency0.address, self.currency1.address, self.fee, self.tick_spacing, self.hooks
        )

    def milliticks(self, prices: Mapping[Asset, int]) -> int:
        """The pool's price, were it exactly the market's."""
        decimals = self.currency1.decimals - self.currency0.decimals
        ratio = prices[self.currency0.asset] - prices[self.currency1.asset]
        return ratio + decimals * MILLITICKS_PER_TENFOLD


_VOLATILE = (3500, 1000)
_PEGGED = (60, 12)

WETH_USDC_LOW = DevnetPool(
    "WETH/USDC 0.05%", WETH_CURRENCY, USDC_CURRENCY, 500, 10, NATIVE,
    12_000_000, Crowd(40, 98), _VOLATILE, 4_000
)  # fmt: skip
WETH_USDC = DevnetPool(
    "WETH/USDC 0.30%", WETH_CURRENCY, USDC_CURRENCY, 3000, 60, NATIVE,
    6_000_000, Crowd(15, 250), _VOLATILE, 6_000
)  # fmt: skip
ETH_USDC = DevnetPool(
    "ETH/USDC 0.30%", ETH_CURRENCY, USDC_CURRENCY, 3000, 60, NATIVE,
    5_000_000, Crowd(12, 150), _VOLATILE, 6_000
)  # fmt: skip
DYNAMIC = DevnetPool(
    "WETH/USDC dynamic", WETH_CURRENCY, USDC_CURRENCY, DYNAMIC_FEE, 60, FEE_STEWARD,
    3_000_000, Crowd(14, 150), _VOLATILE, 6_000
)  # fmt: skip
STABLE = DevnetPool(
    "USDC/USDT 0.01%", USDC_CURRENCY, USDT_CURRENCY, 100, 1, NATIVE,
    8_000_000, Crowd(6, 900), _PEGGED, 800
)  # fmt: skip
GUARDED = DevnetPool(
    "WETH/USDC 0.30% guarded", WETH_CURRENCY, USDC_CURRENCY, 3000, 60, EXIT_GUARD,
    1_500_000, Crowd(5, 90), _VOLATILE, 6_000
)  # fmt: skip
SLEEPY = DevnetPool(
    "WETH/WBTC 0.05%", WETH_CURRENCY, WBTC_CURRENCY, 500, 10, NATIVE,
    4_000_000, Crowd(2, 10), _VOLATILE, 40_000
)  # fmt: skip
USDC_WBTC = DevnetPool(
    "USDC/WBTC 0.30%", USDC_CURRENCY, WBTC_CURRENCY, 3000, 60, NATIVE,
    4_000_000, Crowd(6, 130), _VOLATILE, 6_000
)  # fmt: skip

POOLS = (WETH_USDC_LOW, WETH_USDC, ETH_USDC, DYNAMIC, STABLE, GUARDED, SLEEPY, USDC_WBTC)


_WORD_BITS = 256

ReadWord = Callable[[int], int]
"""Reads one storage word of the PoolManager."""


class PoolPoint(Struct, frozen=True):
    """Where a pool stands, or would stand after trades that are planned."""

    pool_id: PoolId
    tick_spacing: int
    sqrt_price_x96: int
    tick: int
    liquidity: int
    lp_fee: int
    protocol_fee: int

    def fee(self, *, zero_for_one: bool) -> int:
        """Pips a swapper pays in this direction."""
        protocol = unpack_protocol_fee(self.protocol_fee).towards(zero_for_one=zero_for_one)
        return swap_fee(protocol, self.lp_fee)


class Walk(Struct, frozen=True):
    """A swap to a price: its input, fees included, what comes out, and where the pool is then."""

    zero_for_one: bool
    amount_in: int
    amount_out: int
    end: PoolPoint


def read_point(read: ReadWord, pool_id: PoolId, tick_spacing: int) -> PoolPoint:
    slots = pool_slots(pool_id)
    slot0 = decode_slot0(read(slots.slot0))
    return PoolPoint(
        pool_id=pool_id,
        tick_spacing=tick_spacing,
        sqrt_price_x96=slot0.sqrt_price_x96,
        tick=slot0.tick,
        liquidity=read(slots.liquidity),
        lp_fee=slot0.lp_fee,
        protocol_fee=slot0.protocol_fee,
    )


def walk_to(read: ReadWord, start: PoolPoint, target: int) -> Walk:
    """Walk to a square-root price, crossing the ticks on the way."""
    zero_for_one = target < start.sqrt_price_x96
    fee = start.fee(zero_for_one=zero_for_one)
    point, amount_in, amount_out = start, 0, 0
    while point.sqrt_price_x96 != target:
        boundary, initialised = _next_tick(read, point, zero_for_one=zero_for_one)
        at_boundary = sqrt_price_at_tick(boundary)
        stop = max(at_boundary, target) if zero_for_one else min(at_boundary, target)
        amount_in += _step_input(point, stop, fee, zero_for_one=zero_for_one)
        amount_out += _step_output(point, stop, zero_for_one=zero_for_one)
        liquidity = point.liquidity
        if stop == at_boundary:
            net = _net_liquidity(read, point.pool_id, boundary) if initialised else 0
            liquidity += -net if zero_for_one else net
            tick = boundary - 1 if zero_for_one else boundary
        else:
            tick = tick_at_sqrt_price(stop)
        point = replace(point, sqrt_price_x96=stop, tick=tick, liquidity=liquidity)
    return Walk(zero_for_one, amount_in, amount_out, point)


def _step_input(point: PoolPoint, stop: int, fee: int, *, zero_for_one: bool) -> int:
    delta = amount0_delta if zero_for_one else amount1_delta
    amount = delta(point.sqrt_price_x96, stop, point.liquidity, round_up=True)
    return amount + divide_up(amount * fee, PIPS - fee)


def _step_output(point: PoolPoint, stop: int, *, zero_for_one: bool) -> int:
    delta = amount1_delta if zero_for_one else amount0_delta
    return delta(point.sqrt_price_x96, stop, point.liquidity, round_up=False)


def _net_liquidity(read: ReadWord, pool_id: PoolId, tick: int) -> int:
    return decode_tick_liquidity(read(tick_slots(pool_id, tick).liquidity)).net


def _next_tick(read: ReadWord, point: PoolPoint, *, zero_for_one: bool) -> tuple[int, bool]:
    """The next initialised tick in the current word of the bitmap, or the word's last tick."""
    compressed = point.tick // point.tick_spacing + (0 if zero_for_one else 1)
    position, bit = divmod(compressed, _WORD_BITS)
    word = read(bitmap_slot(point.pool_id, position))
    if zero_for_one:
        masked = word & ((1 << (bit + 1)) - 1)
        found = masked.bit_length() - 1 if masked else 0
    else:
        masked = word >> bit << bit
        found = (masked & -masked).bit_length() - 1 if masked else _WORD_BITS - 1
    return (position * _WORD_BITS + found) * point.tick_spacing, bool(masked)
