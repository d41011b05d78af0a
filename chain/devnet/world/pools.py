"""The pools of the embedded chain: what trades in them, how deep they are, how busy."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from chain.contracts.networks import NATIVE, Address
from chain.contracts.pool_key import DYNAMIC_FEE, PoolKey
from chain.devnet.world.deployment import USDC, USDT, WBTC, WETH
from chain.devnet.world.hook_code import EXIT_GUARD, FEE_STEWARD
from chain.devnet.world.price_path import MILLITICKS_PER_TENFOLD, Asset, sqrt_price_at

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
            self.currency0.address,
            self.currency1.address,
            self.fee,
            self.tick_spacing,
            self.hooks,
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
    12_000_000, Crowd(40, 98), _VOLATILE, 4_000,
)  # fmt: skip
WETH_USDC = DevnetPool(
    "WETH/USDC 0.30%", WETH_CURRENCY, USDC_CURRENCY, 3000, 60, NATIVE,
    6_000_000, Crowd(15, 250), _VOLATILE, 6_000,
)  # fmt: skip
ETH_USDC = DevnetPool(
    "ETH/USDC 0.30%", ETH_CURRENCY, USDC_CURRENCY, 3000, 60, NATIVE,
    5_000_000, Crowd(12, 150), _VOLATILE, 6_000,
)  # fmt: skip
DYNAMIC = DevnetPool(
    "WETH/USDC dynamic", WETH_CURRENCY, USDC_CURRENCY, DYNAMIC_FEE, 60, FEE_STEWARD,
    3_000_000, Crowd(14, 150), _VOLATILE, 6_000,
)  # fmt: skip
STABLE = DevnetPool(
    "USDC/USDT 0.01%", USDC_CURRENCY, USDT_CURRENCY, 100, 1, NATIVE,
    8_000_000, Crowd(6, 900), _PEGGED, 800,
)  # fmt: skip
GUARDED = DevnetPool(
    "WETH/USDC 0.30% guarded", WETH_CURRENCY, USDC_CURRENCY, 3000, 60, EXIT_GUARD,
    1_500_000, Crowd(5, 90), _VOLATILE, 6_000,
)  # fmt: skip
SLEEPY = DevnetPool(
    "WETH/WBTC 0.05%", WETH_CURRENCY, WBTC_CURRENCY, 500, 10, NATIVE,
    4_000_000, Crowd(2, 10), _VOLATILE, 40_000,
)  # fmt: skip
USDC_WBTC = DevnetPool(
    "USDC/WBTC 0.30%", USDC_CURRENCY, WBTC_CURRENCY, 3000, 60, NATIVE,
    4_000_000, Crowd(6, 130), _VOLATILE, 6_000,
)  # fmt: skip

POOLS = (WETH_USDC_LOW, WETH_USDC, ETH_USDC, DYNAMIC, STABLE, GUARDED, SLEEPY, USDC_WBTC)
