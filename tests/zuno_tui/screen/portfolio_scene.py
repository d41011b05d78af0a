"""Two wallets on two networks, of which one could not be read."""

from math import sin

from tests.zuno_tui.screen.scenes import NOW
from zuno_tui.present.portfolio import (
    EarnedRow,
    PortfolioView,
    ResultLine,
    idle_row,
    summed_lines,
)
from zuno_tui.present.views import Tone

_HOURS = 30 * 24


def _line(slope: float, wave: float, last: float) -> ResultLine:
    times = tuple(NOW - (_HOURS - hour) * 3600 for hour in range(0, _HOURS + 1, 6))
    values = [slope * place + wave * sin(place / 7) for place, _ in enumerate(times)]
    return ResultLine(times, tuple(value - values[-1] + last for value in values))


_FIRST, _SECOND = _line(1.4, 60.0, 128.12), _line(-0.6, 30.0, -64.22)
_OLD = NOW - 90 * 86_400
BOTH = summed_lines([(_FIRST, _OLD), (_SECOND, _OLD)])


def _row(
    key: str,
    name: str,
    figures: str,
    tone: Tone = "plain",
    note: str = "",
    line: ResultLine | None = None,
) -> EarnedRow:
    """Its figures as they stand in a row: worth, today, week, month, entry, result."""
    worth, today, week, month, entry, result = figures.split()
    return EarnedRow(key, name, worth, today, week, month, entry, result, tone, note, line)


_ALL = "$41,204 $18.20 $131.77 $540.10 $1,312 +$63.90"
_SEVEN = "$18,167 $9.02 $61.30 $250.77 $610.02 +$128.12"
_NINE = "$12,411 $9.18 $70.47 $289.33 $702.42 −$64.22"
PORTFOLIO = PortfolioView(
    _row("all", "Together", _ALL, "good", "without 1 wallet below", BOTH),
    (
        _row("8453/0x52", "Base · main", _ALL, "good", "", BOTH),
        idle_row("8453/0x52/idle", "  in the wallet", "$10,626"),
        _row("8453/0x52/7", "  #7 WETH/USDC 0.05%", _SEVEN, "good", "", _FIRST),
        _row("8453/0x52/9", "  #9 WBTC/WETH 0.3%", _NINE, "bad", "", _SECOND),
        _row("1/0x52", "Ethereum · main", "unknown " * 6, note="node.example does not answer"),
    ),
    "at least $41,204 = positions $30,578 + wallet $10,626",
    "1 wallet on 2 networks",
)
