"""What triage finds, at its boundaries, and on real hours."""

import csv
import gzip
import sys
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from agents.trade.terms import LIMIT_SOURCES, DeskLimits, MarketAnomaly
from agents.trade.triage import TriageInput, anomalies, spike_of
from chain.exchange.public.market import Candle
from tests.agents.trade.cases import hours
from tests.market_data import market_data
from tests.printed import printed

LIMITS = DeskLimits()
SPIKES = {
    MarketAnomaly.TRUE_BREAKOUT,
    MarketAnomaly.LIQUIDATION_CASCADE,
    MarketAnomaly.UNCONFIRMED_SPIKE,
}


def spiked(*, volume: float = 200.0) -> tuple[Candle, ...]:
    """Three wide hours at the end, the last of them this busy."""
    candles = hours()
    for place in (-3, -2, -1):
        one = candles[place]
        candles[place] = one._replace(high=one.close + 80, low=one.close - 80)
    candles[-1] = candles[-1]._replace(volume=volume, taker_buy=volume / 2)
    return tuple(candles)


def test_every_limit_says_where_it_comes_from() -> None:
    assert set(LIMIT_SOURCES) == set(DeskLimits.__struct_fields__)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (0.0051, MarketAnomaly.TRUE_BREAKOUT),
        (0.005, MarketAnomaly.UNCONFIRMED_SPIKE),
        (0.0, MarketAnomaly.UNCONFIRMED_SPIKE),
        (None, MarketAnomaly.UNCONFIRMED_SPIKE),
        (-0.005, MarketAnomaly.UNCONFIRMED_SPIKE),
        (-0.0051, MarketAnomaly.LIQUIDATION_CASCADE),
    ],
)
def test_a_spike_is_named_by_open_interest(change: float | None, found: MarketAnomaly) -> None:
    seen = TriageInput(hours=spiked(), interest_change=change)

    assert anomalies(seen) == (found,)


def test_a_spike_needs_both_legs_each_at_its_boundary() -> None:
    exact = spike_of(spiked(), LIMITS)
    assert exact is not None
    assert exact.volume_ratio == 2.0
    at_once = replace(LIMITS, atr_spike=exact.atr_ratio)
    just_over = replace(LIMITS, atr_spike=exact.atr_ratio + 1e-9)

    assert exact.is_one(at_once)
    assert not exact.is_one(just_over)
    quiet = spike_of(spiked(volume=199.99), LIMITS)
    assert quiet is not None
    assert not quiet.is_one(LIMITS)


def test_too_few_or_untraded_hours_find_nothing() -> None:
    assert spike_of(hours(20), LIMITS) is None
    assert spike_of(hours(volume=0.0), LIMITS) is None
    assert anomalies(TriageInput(hours=())) == ()


@pytest.mark.parametrize(("usd", "is_one"), [(100_000.0, False), (100_001.0, True), (None, False)])
def test_a_cluster_is_over_100k_in_an_hour(usd: float | None, is_one: bool) -> None:
    found = anomalies(TriageInput(hours=tuple(hours()), liquidated_usd=usd))

    assert (MarketAnomaly.LIQUIDATION_CLUSTER in found) is is_one


@pytest.mark.parametrize(
    ("samples", "is_one"),
    [
        ((0.701, 0.701, 0.701), True),
        ((-0.701, -0.9, -0.8), True),
        ((0.70, 0.70, 0.70), False),
        ((0.9, 0.9), False),
        ((0.9, -0.9, 0.9), False),
        ((0.1, 0.9, 0.9, 0.9), True),
        ((0.9, 0.9, 0.1), False),
    ],
)
def test_an_imbalance_must_last_three_samples(samples: tuple[float, ...], is_one: bool) -> None:
    found = anomalies(TriageInput(hours=tuple(hours()), imbalances=samples))

    assert (MarketAnomaly.MICROSTRUCTURE_IMBALANCE in found) is is_one


@pytest.mark.parametrize(
    ("z", "week", "quarter", "is_one"),
    [
        (2.0, None, None, True),
        (1.99, None, None, False),
        (None, 0.8, 0.7, True),
        (None, 0.7, 0.7, False),
        (None, 0.8, None, False),
    ],
)
def test_options_panic_by_either_leg(
    z: float | None, week: float | None, quarter: float | None, is_one: bool
) -> None:
    seen = TriageInput(
        hours=tuple(hours()), dvol_z=z, week_volatility=week, quarter_volatility=quarter
    )

    assert (MarketAnomaly.OPTIONS_PANIC in anomalies(seen)) is is_one


def test_a_real_cascade_is_never_a_breakout() -> None:
    """GMX, 2025-12-15: price −4.7 % and open interest −9.3 % within an hour; volume is made up."""
    with gzip.open(market_data("arbitrum-gmx-eth-minutes-2025-12-15.csv.gz"), "rt") as file:
        minutes = list(csv.DictReader(file))
    minute_of = {row["timestamp"][11:16]: row for row in minutes}

    def interest(row: dict[str, str]) -> float:
        return sum(float(row[f"openInterest{side}"]) for side in ("Long", "Short"))

    first, last = minute_of["14:37"], minute_of["15:37"]
    moved = float(last["indexPrice"]) / float(first["indexPrice"]) - 1
    change = interest(last) / interest(first) - 1
    assert moved == pytest.approx(-0.0473, abs=0.001)
    assert change == pytest.approx(-0.093, abs=0.003)

    fell = anomalies(TriageInput(hours=spiked(), interest_change=change))
    rose = anomalies(TriageInput(hours=spiked(), interest_change=-change))
    printed(
        f"G12: price {moved:+.2%}, open interest {change:+.1%}: {fell[0].value}; negated: "
        f"{rose[0].value} (candles and volume made up)"
    )
    assert fell == (MarketAnomaly.LIQUIDATION_CASCADE,)
    assert rose == (MarketAnomaly.TRUE_BREAKOUT,)


def real_hours() -> tuple[Candle, ...]:
    with gzip.open(market_data("eth-usdt-hours-2017-to-2023.csv.gz"), "rt") as file:
        rows = list(csv.DictReader(file))
    return tuple(
        Candle(
            time=int(datetime.fromisoformat(row["Date"]).replace(tzinfo=UTC).timestamp()),
            open=float(row["open"]),
            high=float(row["high"]),
            low=float(row["low"]),
            close=float(row["close"]),
            volume=float(row["volume"]),
            taker_buy=float(row["volume"]) / 2,
        )
        for row in rows
    )


@pytest.mark.soak
def test_how_often_real_hours_spike_and_what_followed(capsys: pytest.CaptureFixture[str]) -> None:
    candles = real_hours()
    window = LIMITS.atr_hours + 40
    by_year: dict[int, list[float]] = {}
    base: dict[int, list[float]] = {}
    for place in range(window, len(candles) - 4):
        year = datetime.fromtimestamp(candles[place].time, UTC).year
        followed = abs(candles[place + 4].close / candles[place].close - 1)
        base.setdefault(year, []).append(followed)
        seen = TriageInput(hours=candles[place - window + 1 : place + 1])
        if SPIKES & set(anomalies(seen)):
            by_year.setdefault(year, []).append(followed)
    with capsys.disabled():
        sys.stdout.write("\n")
        for year, all_hours in sorted(base.items()):
            found = by_year.get(year, [])
            months = len(all_hours) / 730.5
            mean = sum(found) / len(found) if found else 0.0
            usual = sum(all_hours) / len(all_hours)
            sys.stdout.write(
                f"{year}: {len(found) / months:.1f} unconfirmed spikes a month, "
                f"|4 h return| {mean:.2%} after them, {usual:.2%} after any hour\n"
            )
    assert by_year
