"""Bars that were made up, so that what comes of them can be computed beside."""

import numpy as np

from agents.backtest.hours import Floats, PoolBars

START = 1_700_000_000.0


def bars_along(
    prices: Floats, step: float = 3600.0, fees: float = 10.0, liquidity: float = 1e6
) -> PoolBars:
    """A bar a price, each reaching from the close before it to its own."""
    before = np.concatenate((prices[:1], prices[:-1]))
    return PoolBars(
        np.asarray(START + step * np.arange(1, len(prices) + 1), dtype=np.float64),
        prices,
        np.minimum(before, prices),
        np.maximum(before, prices),
        np.full_like(prices, fees),
        np.full_like(prices, liquidity),
    )


def random_prices(hours: int, sigma: float = 0.04, seed: int = 3, per_hour: int = 1) -> Floats:
    """A driftless walk of this daily volatility around 2,000."""
    random = np.random.default_rng(seed)
    steps = random.normal(0, sigma / np.sqrt(24 * per_hour), hours * per_hour)
    return np.asarray(2000 * np.exp(np.cumsum(steps)))
