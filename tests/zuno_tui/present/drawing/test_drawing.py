"""What the pictures show, read as a person would: where the line is, what the figures say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zuno_tui.present.charts import day_bars, depth_picture, figure, plain, price_chart
from zuno_tui.present.views import ChartView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zuno_tui.present.charts import Line

RISING = ChartView(
    tuple(float(step * 3600) for step in range(49)),
    tuple(100.0 + step for step in range(49)),
    110.0,
    130.0,
)


def _text(lines: Sequence[Line]) -> list[str]:
    return [plain(line) for line in lines]


@pytest.mark.parametrize(
    ("value", "words"),
    [(3094.87, "3,094.9"), (94094.2, "94,094"), (0.99999, "0.9999"), (0.000123456, "0.0001234")],
)
def test_a_figure_keeps_what_matters(value: float, words: str) -> None:
    assert figure(value) == words


def test_a_rising_price_goes_from_the_lower_left_to_the_upper_right() -> None:
    lines = _text(price_chart(RISING, 60, 14))
    dots = [[place for place, char in enumerate(line) if "⠁" <= char <= "⣿"] for line in lines]
    drawn = [each for each in dots if each]
    assert min(drawn[0]) > max(drawn[-1])
    assert "148.00 now" in lines[next(row for row, each in enumerate(dots) if each)]
    assert lines[-1].startswith("2 d ago")
    assert lines[-1].rstrip().endswith("now")


def test_the_edges_are_lines_with_their_figures() -> None:
    lines = _text(price_chart(RISING, 60, 14))
    (high,) = [line for line in lines if "130.00 high" in line]
    (low,) = [line for line in lines if "110.00 low" in line]
    assert "───" in high
    assert "───" in low
    assert lines.index(high) < lines.index(low)


def test_what_lies_outside_the_range_has_another_tone() -> None:
    tones = [
        {piece.tone for piece in line if any("⠁" <= char <= "⣿" for char in piece.text)}
        for line in price_chart(RISING, 60, 14)
    ]
    drawn = [each for each in tones if each]
    assert drawn[0] == {"bad"}
    assert {"good"} in drawn
    assert drawn[-1] == {"bad"}


def test_a_far_range_does_not_flatten_the_price() -> None:
    far = ChartView(RISING.times, RISING.prices, 1e-9, 1e12)
    dots = sum("⠁" <= char <= "⣿" for line in _text(price_chart(far, 60, 14)) for char in line)
    assert dots > 40


@given(
    st.lists(st.floats(1e-6, 1e12), min_size=1, max_size=300),
    st.floats(1e-6, 1e12),
    st.floats(1e-6, 1e12),
    st.integers(20, 200),
    st.integers(4, 40),
)
def test_any_prices_give_a_picture_of_the_size_asked_for(
    prices: list[float], low: float, high: float, width: int, height: int
) -> None:
    times = tuple(float(place) for place in range(len(prices)))
    view = ChartView(times, tuple(prices), min(low, high), max(low, high))
    lines = _text(price_chart(view, width, height))
    assert len(lines) == height
    gutter = max(len(line) for line in lines)
    assert gutter <= max(width, 40)


def test_liquidity_stands_highest_where_it_is_deepest() -> None:
    points = [(float(price), 90.0 if 40 <= price < 60 else 10.0) for price in range(101)]
    lines = _text(depth_picture(points, low=30, high=70, price=50, width=50, height=8))
    assert lines[0].strip() == "█" * 10
    assert lines[-2].strip().startswith("├")
    assert lines[-2][25] == "●"
    assert lines[-1].split() == ["0", "100.00"]


def test_only_the_edges_of_the_range_and_the_price_are_bright() -> None:
    points = [(float(price), 10.0) for price in range(101)]
    picture = depth_picture(points, low=30, high=70, price=50, width=50, height=4)
    tones = [piece.tone for piece in picture[0] for _ in piece.text]
    assert [place for place, tone in enumerate(tones) if tone == "good"] == [15, 35]
    assert [place for place, tone in enumerate(tones) if tone == "warn"] == [25]
    assert set(tones[16:25] + tones[26:35]) == {"good shade"}
    assert set(tones[:15] + tones[36:]) == {"shade"}


def test_a_price_outside_the_range_is_an_empty_circle() -> None:
    points = [(float(price), 10.0) for price in range(101)]
    line = _text(depth_picture(points, low=30, high=40, price=90, width=50, height=5))[-2]
    assert "○" in line
    assert "●" not in line


def test_days_show_what_is_left() -> None:
    lines = _text(day_bars([("Nov 12", 4.2, 1.3), ("Nov 13", 12.0, 15.0)], 70))
    assert lines[1].split()[-1] == "+2.90"
    assert lines[2].split()[-1] == "−3.00"
    assert lines[2].count("━") > lines[1].count("━")
    assert len({len(line) for line in lines}) == 1
    (_, little) = _text(day_bars([("Nov 12", 0.004, 0.0)], 70))
    assert little.split()[-3:] == ["<0.01", "0.00", "+<0.01"]
