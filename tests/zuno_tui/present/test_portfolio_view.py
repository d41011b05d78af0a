"""Results of several positions through time, in one line."""

from zuno_tui.present.charts import plain, result_chart
from zuno_tui.present.portfolio import ResultLine, summed_lines

HOUR = 3_600.0


def _line(first: int, *values: float) -> ResultLine:
    return ResultLine(tuple(HOUR * (first + place) for place in range(len(values))), values)


def test_what_was_opened_later_counts_from_then() -> None:
    old, new = _line(0, 1.0, 2.0, 3.0), _line(1, -5.0, -6.0)
    both = summed_lines([(old, 0.0), (new, HOUR)])
    assert both == ResultLine((0.0, HOUR, 2 * HOUR), (1.0, -3.0, -3.0))


def test_the_sum_begins_where_all_that_was_open_is_known() -> None:
    known, late = _line(0, 1.0, 2.0, 3.0), _line(2, 10.0)
    opened_long_ago = -100 * HOUR
    both = summed_lines([(known, opened_long_ago), (late, opened_long_ago)])
    assert both == ResultLine((2 * HOUR,), (13.0,))
    assert summed_lines([]) is None
    assert summed_lines([(ResultLine((), ()), 0.0)]) is None


def test_an_hour_without_swaps_keeps_what_was() -> None:
    busy, quiet = _line(0, 1.0, 2.0, 3.0, 4.0), ResultLine((0.0, 3 * HOUR), (10.0, 40.0))
    both = summed_lines([(busy, 0.0), (quiet, 0.0)])
    assert both is not None
    assert both.values == (11.0, 12.0, 13.0, 44.0)


def test_the_sum_of_months_is_thinned_and_keeps_its_ends() -> None:
    line = _line(0, *map(float, range(2_000)))
    both = summed_lines([(line, 0.0)])
    assert both is not None
    assert len(both.times) < 300
    assert (both.values[0], both.values[-1]) == (0.0, 1_999.0)


def test_a_chart_has_its_zero_whichever_side_the_results_are_on() -> None:
    for values in ((5.0, 7.0, 9.0), (-5.0, -7.0, -9.0), (-5.0, 7.0, 7.0)):
        times = [HOUR * place for place in range(len(values))]
        drawn = result_chart(times, values, 40, 8)
        lines = [plain(line) for line in drawn]
        assert len(lines) == 8
        assert max(map(len, lines)) <= 40
        across = [set(line[:30]) for line in lines[:-1]]
        assert sum(all("⠁" <= cell <= "⣿" for cell in cells) for cells in across) == 1
        (now,) = [line[-1] for line in drawn if plain(line).endswith(" now")][:1]
        assert now.tone == ("bad" if values[-1] < 0 else "good")
