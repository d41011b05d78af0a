"""How often the card's chances came true, told with the figures of their own calibration.

`calibration.json` is what `zuno calibrate --hours FILE --from 2021 --json` printed over hours of
ETH/USDT that had no part in fitting anything.
"""

from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct, field


class HorizonFigures(Struct, frozen=True):
    windows: int
    worst_bias_points: float


class YearFigures(Struct, frozen=True):
    """Of one year by itself: how far widths were off, from too low to too high, in points."""

    day: tuple[float, float] = field(name="24h")
    week: tuple[float, float] = field(name="7d")


class CalibrationFigures(Struct, frozen=True):
    begins: str = field(name="from")
    ends: str = field(name="to")
    day: HorizonFigures = field(name="24h")
    week: HorizonFigures | None = field(name="7d")
    years: dict[str, YearFigures]


@cache
def calibration_figures() -> CalibrationFigures:
    text = files("agents.numbers").joinpath("calibration.json").read_bytes()
    return msgspec.json.decode(text, type=CalibrationFigures)


def calibration_words(*, week: bool) -> str:
    """`week` is whether a chance of seven days is shown, too."""
    found = calibration_figures()
    words = (
        f"Tested on ETH {found.begins[:4]}–{found.ends[2:4]}: 24 h odds were within "
        f"{found.day.worst_bias_points:.1f} points"
    )
    if not week or found.week is None:
        return f"{words}. 7-day odds appear after 30 days of prices."
    low = min(year.week[0] for year in found.years.values())
    high = max(year.week[1] for year in found.years.values())
    off = f"{low:+.0f} to {high:+.0f}".replace("-", "−")
    years = f"{min(found.years)}–{max(found.years)[2:]}"
    return f"{words}; 7-day odds were {off} points off, year by year, {years}."
