"""Bar files for `zuno backtest`, made from the data beside the project.

`python -m benchmarks.bar_files OUT` writes `polygon-minutes.csv` and `semi-real-hours.csv`.
"""

from __future__ import annotations

import csv
import gzip
import os
import sys
from collections import defaultdict
from datetime import UTC, datetime
from itertools import pairwise
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

DATA = Path(os.environ.get("ZUNO_DATA", Path(__file__).parent.parent.parent / "shared" / "data"))
POLYGON_MINUTES = "polygon-usdc-weth-500-minutes-2022-07-19-to-08-22.csv.gz"
ETH_HOURS = "eth-usdt-hours-2017-to-2023.csv.gz"
POOL_DAYS = "eth-usdt-500-pool-days-2021-to-2023.csv"

FEE = 0.0005
TICK = 1.0001
USDC, WETH = 10**6, 10**18
HEADER = ("time", "price", "low", "high", "fees_usd", "liquidity_usd")


class BarRow(NamedTuple):
    time: float
    price: float
    low: float
    high: float
    fees_usd: float
    liquidity_usd: float


class _Hour(NamedTuple):
    start: datetime
    high: float
    low: float
    close: float
    volume: float


def polygon_minutes(data: Path = DATA) -> Iterator[BarRow]:
    """The 0.05 % pool of USDC and WETH; USDC is its token0, so that its ticks are turned over."""
    with gzip.open(data / POLYGON_MINUTES, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            ratio = TICK ** int(row["closeTick"])
            price = _dollars_per_weth(int(row["closeTick"]))
            inflow = int(row["inAmount0"]) / USDC + int(row["inAmount1"]) / WETH * price
            yield BarRow(
                _moment(row["timestamp"]) + 60,
                price,
                _dollars_per_weth(int(row["highestTick"])),
                _dollars_per_weth(int(row["lowestTick"])),
                inflow * FEE,
                2 * int(row["currentLiquidity"]) / ratio**0.5 / USDC,
            )


def semi_real_hours(data: Path = DATA) -> Iterator[BarRow]:
    """A day's fees over its hours by exchange volume; liquidity k·TVL, so that ρ is 1 over all."""
    days = _pool_days(data)
    hours = [hour for hour in _hours(data) if hour.start.date().isoformat() in days]
    by_day: defaultdict[str, float] = defaultdict(float)
    for hour in hours:
        by_day[hour.start.date().isoformat()] += hour.volume
    rows = list(_spread(hours, days, by_day))
    risk = sum(log(after.price / before.price) ** 2 for before, after in pairwise(rows)) / 8
    k = sum(row.fees_usd / row.liquidity_usd for row in rows) / risk
    return (row._replace(liquidity_usd=k * row.liquidity_usd) for row in rows)


def write_bars(path: Path, rows: Iterable[BarRow]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        writer.writerows(rows)


def _spread(
    hours: Iterable[_Hour], days: Mapping[str, tuple[float, float]], by_day: Mapping[str, float]
) -> Iterator[BarRow]:
    for hour in hours:
        day = hour.start.date().isoformat()
        volume, locked = days[day]
        fees = volume * FEE * hour.volume / by_day[day] if by_day[day] else 0.0
        yield BarRow(hour.start.timestamp() + 3600, hour.close, hour.low, hour.high, fees, locked)


def _pool_days(data: Path) -> dict[str, tuple[float, float]]:
    with (data / POOL_DAYS).open(encoding="utf-8") as file:
        return {
            row["date"]: (float(row["volume_usd"]), float(row["tvl_usd"]))
            for row in csv.DictReader(file)
            if float(row["tvl_usd"]) > 0
        }


def _hours(data: Path) -> Iterator[_Hour]:
    with gzip.open(data / ETH_HOURS, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            start = datetime.fromisoformat(row["Date"]).replace(tzinfo=UTC)
            figures = (float(row[name]) for name in ("high", "low", "close", "volume"))
            yield _Hour(start, *figures)


def _dollars_per_weth(tick: int) -> float:
    return WETH / USDC / TICK**tick


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def main(folder: str) -> None:
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for name, rows in (
        ("polygon-minutes.csv", polygon_minutes()),
        ("semi-real-hours.csv", semi_real_hours()),
    ):
        write_bars(out / name, rows)
        print(out / name)


if __name__ == "__main__":
    main(sys.argv[1])
