"""What is unusual right now, by arithmetic alone; no model is asked, and no expert is spared."""

from collections.abc import Sequence

from msgspec import Struct

from agents.trade.indicators import ATR_BARS, average_true_ranges, mean
from agents.trade.terms import DeskLimits, MarketAnomaly
from chain.exchange.public.market import Candle

VOLUME_HOURS = 24
_LAST = 3


class TriageInput(Struct, frozen=True, kw_only=True):
    """What triage looks at; None where it is unknown, which finds nothing."""

    hours: tuple[Candle, ...]
    """Closed hours, the oldest first."""
    interest_change: float | None = None
    """Of open interest within the last hour, as a fraction."""
    liquidated_usd: float | None = None
    """Within a real hour, both sides."""
    imbalances: tuple[float, ...] = ()
    """Of consecutive samples of the book, the newest last."""
    dvol_z: float | None = None
    week_volatility: float | None = None
    quarter_volatility: float | None = None
    """What options of a week and of three months at the money imply."""


class Spike(Struct, frozen=True):
    """How the last hour compares with those before it."""

    atr_ratio: float
    volume_ratio: float

    def is_one(self, limits: DeskLimits) -> bool:
        return self.atr_ratio >= limits.atr_spike and self.volume_ratio >= limits.volume_spike


def spike_of(hours: Sequence[Candle], limits: DeskLimits) -> Spike | None:
    """None where there are too few hours, or nothing was traded to compare with."""
    used = hours[-(limits.atr_hours + ATR_BARS) :]
    ranges = average_true_ranges(used)
    volumes = [candle.volume for candle in hours[-VOLUME_HOURS - 1 : -1]]
    if len(ranges) <= _LAST or len(volumes) < VOLUME_HOURS:
        return None
    usual_range, usual_volume = mean(ranges[:-_LAST]), mean(volumes)
    if usual_range <= 0 or usual_volume <= 0:
        return None
    return Spike(mean(ranges[-_LAST:]) / usual_range, hours[-1].volume / usual_volume)


def anomalies(seen: TriageInput, limits: DeskLimits | None = None) -> tuple[MarketAnomaly, ...]:
    limits = limits or DeskLimits()
    found = []
    spike = spike_of(seen.hours, limits)
    if spike is not None and spike.is_one(limits):
        found.append(_kind_of_spike(seen.interest_change, limits))
    if seen.liquidated_usd is not None and seen.liquidated_usd > limits.cluster_usd:
        found.append(MarketAnomaly.LIQUIDATION_CLUSTER)
    if _is_imbalanced(seen.imbalances, limits):
        found.append(MarketAnomaly.MICROSTRUCTURE_IMBALANCE)
    if is_options_panic(seen.dvol_z, seen.week_volatility, seen.quarter_volatility, limits):
        found.append(MarketAnomaly.OPTIONS_PANIC)
    return tuple(found)


def is_options_panic(
    dvol_z: float | None, week: float | None, quarter: float | None, limits: DeskLimits
) -> bool:
    spiked = dvol_z is not None and dvol_z >= limits.dvol_z
    return spiked or (week is not None and quarter is not None and week > quarter)


def _kind_of_spike(change: float | None, limits: DeskLimits) -> MarketAnomaly:
    if change is None or abs(change) <= limits.interest_dead_band:
        return MarketAnomaly.UNCONFIRMED_SPIKE
    return MarketAnomaly.TRUE_BREAKOUT if change > 0 else MarketAnomaly.LIQUIDATION_CASCADE


def _is_imbalanced(samples: Sequence[float], limits: DeskLimits) -> bool:
    latest = samples[-limits.imbalance_samples :]
    if len(latest) < limits.imbalance_samples:
        return False
    return all(imbalance > limits.imbalance for imbalance in latest) or all(
        imbalance < -limits.imbalance for imbalance in latest
    )
