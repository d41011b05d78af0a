"""What a trade is expected to bring, on numbers that arithmetic made, and the veto on it."""

from __future__ import annotations

from msgspec import Struct

FUNDING_HOURS = 8.0


class TradeCosts(Struct, frozen=True):
    """Fractions of notional."""

    fees: float
    """Both ways."""
    slippage: float
    """Both ways."""
    funding: float
    """Over the time it is held; below 0 where it is received."""

    @property
    def total(self) -> float:
        return self.fees + self.slippage + self.funding


class TradeOutlook(Struct, frozen=True):
    """In percent of notional, after costs."""

    profit_pct: float
    loss_pct: float
    win_probability_pct: float

    @property
    def expected_pct(self) -> float:
        return expected_value(self.win_probability_pct / 100, self.profit_pct, self.loss_pct)

    @property
    def break_even_pct(self) -> float:
        """The probability at which nothing is expected."""
        whole = self.profit_pct + self.loss_pct
        return 100.0 if whole <= 0 or self.profit_pct <= 0 else self.loss_pct / whole * 100


def expected_value(probability: float, profit: float, loss: float) -> float:
    return probability * profit - (1 - probability) * loss


def is_vetoed(expected: float) -> bool:
    """Whether nothing is to be gained; exactly nothing is nothing."""
    return not expected > 0


def outlook(
    entry: float, stop: float, profit: float, probability_pct: float, costs: TradeCosts
) -> TradeOutlook:
    gain, loss = abs(profit / entry - 1), abs(stop / entry - 1)
    return TradeOutlook(
        (gain - costs.total) * 100,
        (loss + costs.total) * 100,
        probability_pct,
    )


def fair_probability_pct(entry: float, stop: float, profit: float) -> float:
    """How often a price that drifts nowhere reaches the profit before the stop."""
    risk, reward = abs(entry - stop), abs(profit - entry)
    return risk / (risk + reward) * 100


def shrunk_probability_pct(claimed_pct: float, resolved: int, needed: int) -> float:
    """A claim counts as far as the desk's own trades have ended; before any it is 50 %."""
    return 50 + (claimed_pct - 50) * min(resolved / needed, 1.0)


def scaled_allocation(allocation_pct: float, risk_budget_pct: float) -> float:
    """What is left of an allocation after the regime's budget."""
    return allocation_pct * risk_budget_pct / 100


def funding_cost(rate: float, sign: int, hours: float) -> float:
    """What a position pays while it is held, at the rate of now."""
    return sign * rate * hours / FUNDING_HOURS
