"""Ether through the day: an hour a sample, kept over restarts, and what it did since."""

from __future__ import annotations

from chain.base.store import Store
from chain.base.units import HOUR
from zuno_tui.desk.portfolio import EtherHistory
from zuno_tui.present.charts import sparkline
from zuno_tui.present.glance import EtherSample, ether_change

BEGIN = 1_768_003_200


def sample(hour: float, dollars: float = 3_000.0) -> EtherSample:
    return EtherSample(int(BEGIN + hour * HOUR), dollars)


def test_an_hour_is_one_sample_and_a_day_is_kept() -> None:
    store = Store.in_memory()
    history = EtherHistory(store, "31337:0x1")
    for quarter in range(4 * 24 * 3):
        history.add(sample(quarter / 4, float(quarter)), now=0.0)

    assert len(history.samples) == 26
    assert {
        (one.time - two.time) // HOUR
        for one, two in zip(history.samples[1:], history.samples, strict=False)
    } == {1}
    again = EtherHistory(store, "31337:0x1")
    assert len(again.samples) == 26
    assert again.samples[:-1] == history.samples[:-1]
    assert EtherHistory(store, "1:0x1").samples == ()


def test_before_what_was_seen_stands_what_others_tell() -> None:
    history = EtherHistory(Store.in_memory(), "k")
    before = [sample(hour, float(hour)) for hour in range(24)]
    assert history.after(before) == tuple(before)

    history.add(sample(22.5, 1.0), now=0.0)
    assert [one.dollars for one in history.after(before)] == [*map(float, range(22)), 1.0]


def test_a_chain_that_begins_anew_has_no_past() -> None:
    history = EtherHistory(Store.in_memory(), "k")
    history.add(sample(50), now=0.0)
    history.add(sample(2), now=0.0)
    assert [one.time for one in history.samples] == [sample(2).time]


def test_what_is_written_by_somebody_else_is_no_past() -> None:
    store = Store.in_memory()
    store.put("ether-hours", "k", {"samples": [{"time": "soon"}]}, now=0.0)
    assert EtherHistory(store, "k").samples == ()


def test_ether_is_compared_with_a_day_ago_or_what_is_known_of_it() -> None:
    assert ether_change([]) == ""
    assert ether_change([sample(0)]) == ""
    assert ether_change([sample(0), sample(0.5, 3_300.0)]) == ""
    assert ether_change([sample(0), sample(3, 3_030.0)]) == "▲1.0% 3 h"
    week = [sample(hour, 3_000.0 + hour) for hour in range(100)]
    assert ether_change([*week, sample(100, 2_000.0)]).startswith("▼")
    assert ether_change([*week, sample(100, 2_000.0)]).endswith(" 25 h")


def test_a_sparkline_fits_its_cells() -> None:
    assert sparkline([], 8) == sparkline([1.0], 8) == ""
    assert sparkline([1.0, 1.0], 8) == "▁▁"
    assert sparkline([float(n) for n in range(100)], 7) == "▁▂▃▄▅▆▇"
