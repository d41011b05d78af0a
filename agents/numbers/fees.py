"""What a range earns and what it loses to better-informed traders, in the unit its value is in.

A position of liquidity L holds V = L(2√P − √P_a − P/√P_b). Its loss to rebalancing (LVR) runs at
V·M·σ²/8 with M = 1/(1 − ½(√(P_a/P) + √(P/P_b))); V·M = 2L√P, the value the same liquidity would
have over the full range, so the rate is σ²·L√P/4 for any range around the price.
"""

from __future__ import annotations

from math import exp, sqrt

from agents.numbers.edges import TICK_LOG, Edges

_HALF_TICK_LOG = TICK_LOG / 2


def full_range_value(liquidity: int, price: float, unit1_value: float) -> float:
    """2L√P: what this liquidity would be worth over the full range, `price` being a tick.

    `unit1_value` is the worth of one smallest unit of currency1.
    """
    return 2 * liquidity * exp(price * _HALF_TICK_LOG) * unit1_value


def position_value(liquidity: int, price: float, edges: Edges, unit1_value: float) -> float:
    """V = L(2√P − √P_a − P/√P_b), or its one-sided form when the price is outside."""
    root_price = exp(price * _HALF_TICK_LOG)
    # Outside, the near edge takes the price's place; the other token's two terms cancel.
    held0 = exp(min(edges.below, 0.0) * _HALF_TICK_LOG) - exp(
        -max(edges.above, 0.0) * _HALF_TICK_LOG
    )
    held1 = exp(min(edges.above, 0.0) * _HALF_TICK_LOG) - exp(
        -max(edges.below, 0.0) * _HALF_TICK_LOG
    )
    return liquidity * root_price * (held0 + held1) * unit1_value


def liquidity_share(own: int, others: int) -> float:
    """Own part of the active liquidity once it is in; `others` must not contain it already."""
    if own < 0 or others < 0:
        raise ValueError("Liquidity cannot be negative.")
    return own / (own + others) if own else 0.0


def others_liquidity(active: int, own: int, *, inside: bool) -> int:
    """The pool's active liquidity without a position that is part of it only while in range."""
    return max(0, active - own) if inside else active


def diluted(active_worth: float, others_worth: float, own_worth: float) -> float:
    """What is left of a pool's rate once this liquidity shares in it, by full-range worths.

    The rate was paid to `active_worth`; afterwards the same fees go to the others and the own.
    """
    shared = others_worth + own_worth
    return active_worth / shared if shared > 0 else 0.0


def implied_daily_sigma(daily_fee_rate: float) -> float:
    """σ_IV = √(8 · full-range fee rate): the volatility these fees pay for.

    An LP earns only while the market moves less than this.
    """
    return sqrt(8 * daily_fee_rate)
