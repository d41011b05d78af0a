"""How often the card's chances came true, told with the figures of their own calibration.

`calibration.json` is what `zuno calibrate --hours FILE --from 2021 --json` printed over hours of
ETH/USDT that had no part in fitting anything.
"""

from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct, field


class WidthFigures(Struct, frozen=True):
    bias_points: float


class HorizonFigures(Struct, frozen=True):
    windows: int
    worst_bias_points: float
    widths: dict[str, WidthFigures]

    @property
    def too_high(self) -> float:
        """How many points more than came true were promised, of the worst width."""
        return max(0.0, *(width.bias_points for width in self.widths.values()))

    @property
    def too_low(self) -> float:
        return max(0.0, *(-width.bias_points for width in self.widths.values()))


class CalibrationFigures(Struct, frozen=True):
    begins: str = field(name="from")
    ends: str = field(name="to")
    day: HorizonFigures = field(name="24h")
    week: HorizonFigures | None = field(name="7d")


@cache
def calibration_figures() -> CalibrationFigures:
    text = files("agents.numbers").joinpath("calibration.json").read_bytes()
    return msgspec.json.decode(text, type=CalibrationFigures)


def calibration_words(*, week: bool) -> str:
    """`week` is whether a chance of seven days is shown, too."""
    found = calibration_figures()
    span = f"{found.begins[:7]} and {found.ends[:7]}"
    words = (
        f"Checked on {found.day.windows:,} hours of ETH between {span}, 24 h chances were off by "
        f"at most {found.day.worst_bias_points:.1f} points"
    )
    if not week or found.week is None:
        return f"{words}. 7-day chances need 30 days of prices."
    return (
        f"{words}, 7 d chances at most {found.week.too_high:.1f} points too high and "
        f"{found.week.too_low:.1f} too low."
    )
