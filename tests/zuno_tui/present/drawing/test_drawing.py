"""What the pictures show, read as a person would: where the line is, what the figures say."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from zuno_tui.present.charts import (
    Line,
    book_chart,
    chart_caption,
    day_bars,
    depth_picture,
    figure,
    plain,
    price_chart,
    window_chart,
    with_last_day,
)
from zuno_tui.present.views import ChartView

RISING = ChartView(
    tuple(float(step * 3600) for step in range(49)),
    tuple(100.0 + step for step in range(49)),
    110.0,
    130.0,
)


def _text(lines: Sequence[Line]) -> list[str]:
    return [plain(line) for line in lines]


def test_the_far_edge_of_a_range_that_was_left_is_told_at_the_end_of_the_picture() -> None:
    left = replace(RISING, low=160.0, high=400.0)
    lines = _text(price_chart(left, 60, 14))
    assert lines[0].endswith("↑ 400.00 range")
    assert any(line.endswith("─ 160.00 range") for line in lines)
    low = _text(price_chart(left, 60, 4))
    assert not any("↑" in line for line in low[2:]), "never under what it is above"
    whole = "\n".join(_text(price_chart(replace(left, high=1e12), 60, 14)))
    assert "↑" not in whole, "nobody looks for the end of a full range"


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
    (high,) = [line for line in lines if "130.00 range" in line]
    (low,) = [line for line in lines if "110.00 range" in line]
    assert "───" in high
    assert "───" in low
    assert lines.index(high) < lines.index(low)


def test_what_lies_outside_the_range_has_another_tone() -> None:
    tones = [
        {piece.tone for piece in line if any("⠁" <= char <= "⣿" for char in piece.text)}
        for line in price_chart(RISING, 60, 14)
    ]
    drawn = [each for each in tones if each]
    # No price is good or bad: it is quieter where it earns nothing.
    assert drawn[0] == {"dim"}
    assert {"plain"} in drawn
    assert drawn[-1] == {"dim"}


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


def test_a_caption_tells_what_prices_did_and_how_far_the_ends_are() -> None:
    week = ChartView((0.0, 3 * 86_400.0, 7 * 86_400.0), (100.0, 90.0, 95.0), 80.0, 110.0)
    told = chart_caption(week)
    assert "".join(piece.text for piece in told) == (
        "7 d −5.00% · closes 90.000 to 100.00 · range −15.79% to +15.79% from now"
    )
    assert told[1].tone == "bad"
    endless = replace(week, low=0.0, high=math.inf, prices=(95.0, 90.0, 100.0))
    assert "range" not in "".join(piece.text for piece in chart_caption(endless))
    assert chart_caption(endless)[1].tone == "good"


def test_a_range_that_the_price_has_left_is_drawn_as_its_row_is() -> None:
    view = ChartView((0.0, 100.0), (3.0, 3.0), 1.0, 2.0)
    for last, tone in ((3.0, "bad"), (1.5, "good")):
        pieces = [
            piece
            for line in price_chart(replace(view, prices=(2.4, last)), 60, 12)
            for piece in line
            if "range" in piece.text
        ]
        assert {piece.tone for piece in pieces} == {tone}


def _at(percent: int) -> float:
    """The price so far on the way from 1 to 100, in ticks."""
    return float(10 ** (percent / 50))


_PRICES = [_at(percent) for percent in range(101)]


def test_liquidity_stands_highest_where_it_is_deepest() -> None:
    points = [(price, 90.0 if _at(40) <= price < _at(60) else 10.0) for price in _PRICES]
    lines = _text(depth_picture(points, low=_at(30), high=_at(70), price=10.0, width=50, height=8))
    assert lines[0].strip() == "█" * 10
    assert lines[-2].strip().startswith("├")
    assert lines[-2][25] == "●", "as far between its edges as its ticks are"
    assert lines[-1].split() == ["1.0000", "3.9811", "10.000", "25.119", "100.00"]
    around = {"low": _at(45), "high": _at(55), "price": 10.0}
    narrow = _text(depth_picture(points, **around, width=20, height=4))
    assert narrow[-1].split() == ["7.9433", "100.00"], "no two figures run together"


def test_only_the_edges_of_the_range_and_the_price_are_bright() -> None:
    points = [(price, 10.0) for price in _PRICES]
    picture = depth_picture(points, low=_at(30), high=_at(70), price=10.0, width=50, height=4)
    tones = [piece.tone for piece in picture[0] for _ in piece.text]
    assert [place for place, tone in enumerate(tones) if tone == "good"] == [15, 35]
    assert [place for place, tone in enumerate(tones) if tone == "warn"] == [25]
    assert set(tones[16:25] + tones[26:35]) == {"good shade"}
    assert set(tones[:15] + tones[36:]) == {"shade"}


def test_a_price_outside_the_range_is_an_empty_circle() -> None:
    points = [(price, 10.0) for price in _PRICES]
    edges = {"low": _at(30), "high": _at(40), "price": _at(90)}
    line = _text(depth_picture(points, **edges, width=50, height=5))[-2]
    assert "○" in line
    assert "●" not in line


def test_days_show_what_is_left() -> None:
    lines = _text(day_bars([("Nov 12", 4.2, 1.3), ("Nov 13", 12.0, 15.0)], 70))
    assert lines[1].split()[-1] == "+2.90"
    assert lines[2].split()[-1] == "−3.00"
    assert lines[2].count("━") > lines[1].count("━")
    assert len({len(line) for line in lines}) == 1
    (_, little) = _text(day_bars([("Nov 12", 4.0, 0.004)], 70))
    assert little.split()[-3:] == ["4.00", "<0.01", "+4.00"]
    _, *small = _text(day_bars([("Nov 12", 0.0185, 0.00004), ("Nov 13", 0.0002, 0.0011)], 70))
    assert small[0].split()[-3:] == ["0.0185", "<0.0001", "+0.0185"], "as of ether"
    figures = [word for word in small[1].split() if word[-1].isdigit()]
    assert figures[-3:] == ["0.0002", "0.0011", "−0.0009"]


def test_a_price_stands_where_its_time_is_however_many_swaps_there_were() -> None:
    """Nine points in the last tenth of the time are drawn in the last tenth of the width."""
    late = tuple(90.0 + step for step in range(9))
    chart = ChartView((0.0, *late, 100.0), (1.0, *[2.0] * 9, 2.0), 0.5, 3.0)
    rows = [line for line in _text(price_chart(chart, 60, 14))[:-1] if "⠁" <= max(line) <= "⣿"]
    width = max(len(row.rstrip("0123456789. now")) for row in rows)
    up = next(place for place, char in enumerate(rows[0]) if "⠁" <= char <= "⣿")
    assert 0.85 < up / width < 0.95


def test_a_window_shows_its_time_alone_with_the_price_that_stood_before() -> None:
    day = 86_400.0
    chart = ChartView(
        times=(0.0, day, 9 * day),
        prices=(1.0, 2.0, 3.0),
        low=0.5,
        high=4.0,
        fees=((day, 7.0), (8.5 * day, 5.0)),
        changes=((day / 2, 1), (8.6 * day, -1)),
    )
    last = window_chart(chart, day)
    assert (last.times, last.prices) == ((8 * day, 9 * day), (2.0, 3.0))
    assert last.fees == ((8.5 * day, 5.0),)
    assert last.changes == ((8.6 * day, -1),)

    whole = window_chart(chart, None)
    assert (whole.times[0], whole.prices[0]) == (day / 2, 1.0)
    assert window_chart(chart, 30 * day).times == chart.times
    # Nobody swapped in the window: the price is a line.
    assert window_chart(chart, 1.0).prices == (2.0, 3.0)


def test_a_week_ends_with_the_day_that_was_read_after_it() -> None:
    week = ChartView((0.0, 5.0, 9.0), (1.0, 2.0, 3.0), 0.5, 4.0, fees=((0.0, 7.0), (8.0, 5.0)))
    day = replace(week, times=(8.0, 10.0), prices=(2.5, 3.5), fees=((8.0, 5.5), (9.0, 1.0)))

    whole = with_last_day(week, day)

    assert (whole.times, whole.prices) == ((0.0, 5.0, 8.0, 10.0), (1.0, 2.0, 2.5, 3.5))
    assert whole.fees == ((0.0, 7.0), (8.0, 5.5), (9.0, 1.0))
    assert with_last_day(whole, day) == whole


def test_the_book_adds_up_what_hours_gained_and_shows_their_fees() -> None:
    hours = [(hour * 3_600.0, 2.0 if hour < 12 else -1.0, 0.5) for hour in range(24)]
    lines = [plain(line) for line in book_chart(hours, 80, 9)]

    assert len(lines) == 9
    assert any(line.endswith("+12 now") for line in lines)
    assert lines[-2].endswith("12.00 fees")
    assert max(map(len, lines)) <= 80


def test_fees_and_changes_stand_under_their_time() -> None:
    chart = ChartView(
        times=(0.0, 36_000.0),
        prices=(1.0, 1.1),
        low=0.5,
        high=4.0,
        fees=((0.0, 4.0), (32_400.0, 8.0)),
        changes=((0.0, 1), (36_000.0, -1)),
    )
    lines = [plain(line) for line in price_chart(chart, 32, 8)]
    assert len(lines) == 8
    changes, fees = lines[-3], lines[-2]
    columns = len(lines[-1])
    assert (changes[0], changes[columns - 1]) == ("▲", "▼")
    bars = {place: bar for place, bar in enumerate(fees[:columns]) if bar != " "}
    assert sorted(bars.values()) == ["▄", "█"]
    assert min(bars) < columns // 5
    assert max(bars) > columns * 4 // 5
    assert fees.rstrip().endswith(" fees")
