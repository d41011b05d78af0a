"""Spikes of past hours: whole arrays at once are what triage says hour by hour."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from agents.trade.terms import DeskLimits
from agents.trade.triage import TradedHours, spike_of, spike_ratios, triage_rates
from chain.base.table_file import TableError
from chain.exchange.public.market import Candle

HOUR = 3_600
START = 1_704_067_200
"""2024-01-01 00:00 UTC."""


def drawn(count: int) -> list[Candle]:
    draws, price, candles = Random(8), 2_000.0, []
    for place in range(count):
        wild = 6.0 if place % 48 >= 40 else 1.0
        after = price * (1 + draws.gauss(0, 0.004 * wild))
        high, low = (edge(price, after) for edge in (max, min))
        volume = draws.uniform(50, 150) * (6.0 if place % 48 == 47 else 1.0)
        time = START + place * HOUR
        candles.append(Candle(time, price, high * 1.001, low * 0.999, after, volume, volume / 2))
        price = after
    return candles


def arrays(candles: list[Candle]) -> TradedHours:
    rows = [(one.time, one.high, one.low, one.close, one.volume) for one in candles]
    return TradedHours(*np.array(rows, dtype=np.float64).T)


def test_arrays_tell_what_triage_tells_hour_by_hour() -> None:
    candles, limits = drawn(400), DeskLimits()
    atr, volume = spike_ratios(arrays(candles), limits)
    least, spikes = limits.atr_hours + 14, 0
    for place in range(least - 1, len(candles)):
        spike = spike_of(candles[: place + 1], limits)
        assert spike is not None
        assert (atr[place], volume[place]) == pytest.approx((spike.atr_ratio, spike.volume_ratio))
        spikes += spike.is_one(limits)
    assert spikes >= 2
    assert np.isnan(atr[least - 2])

    rates = triage_rates(arrays(candles), limits)
    assert rates.months[0].month == "2024-01"
    assert spikes - 2 <= sum(one.spikes for one in rates.months) <= spikes
    assert rates.after_all.hours == sum(one.hours for one in rates.months)


def test_hours_beside_a_gap_are_not_judged() -> None:
    whole = arrays(drawn(300))
    late = whole.times.copy()
    late[200:] += HOUR
    judged = [triage_rates(one).after_all.hours for one in (whole, whole._replace(times=late))]

    assert judged[0] - judged[1] == 24 + 4
    with pytest.raises(TableError, match="judged"):
        triage_rates(arrays(drawn(50)))
