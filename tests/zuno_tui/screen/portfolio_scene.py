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

_HOURS = 30 * 24


def _line(slope: float, wave: float, last: float) -> ResultLine:
    times = tuple(NOW - (_HOURS - hour) * 3600 for hour in range(0, _HOURS + 1, 6))
    values = [slope * place + wave * sin(place / 7) for place, _ in enumerate(times)]
    return ResultLine(times, tuple(value - values[-1] + last for value in values))


_FIRST, _SECOND = _line(1.4, 60.0, 128.12), _line(-0.6, 30.0, -64.22)
_OLD = NOW - 90 * 86_400
BOTH = summed_lines([(_FIRST, _OLD), (_SECOND, _OLD)])
PORTFOLIO = PortfolioView(
    EarnedRow(
        "all",
        "Together",
        "$41,204",
        "$18.20",
        "$131.77",
        "$540.10",
        "$1,312",
        "+$63.90",
        "good",
        "without 1 wallet below",
        BOTH,
    ),
    (
        EarnedRow(
            "8453/0x52",
            "Base · main",
            "$41,204",
            "$18.20",
            "$131.77",
            "$540.10",
            "$1,312",
            "+$63.90",
            "good",
            "",
            BOTH,
        ),
        idle_row("8453/0x52/idle", "  in the wallet", "$10,626"),
        EarnedRow(
            "8453/0x52/7",
            "  #7 WETH/USDC 0.05%",
            "$18,167",
            "$9.02",
            "$61.30",
            "$250.77",
            "$610.02",
            "+$128.12",
            "good",
            "",
            _FIRST,
        ),
        EarnedRow(
            "8453/0x52/9",
            "  #9 WBTC/WETH 0.3%",
            "$12,411",
            "$9.18",
            "$70.47",
            "$289.33",
            "$702.42",
            "−$64.22",
            "bad",
            "",
            _SECOND,
        ),
        EarnedRow(
            "1/0x52",
            "Ethereum · main",
            "unknown",
            "unknown",
            "unknown",
            "unknown",
            "unknown",
            "unknown",
            "plain",
            "node.example does not answer",
        ),
    ),
    "at least $41,204 = positions $30,578 + wallet $10,626",
    "1 wallet on 2 networks",
)
