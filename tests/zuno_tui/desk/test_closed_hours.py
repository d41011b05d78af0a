"""The header's day: told of closed hours alone, the same however positions come and go."""

from __future__ import annotations

from fractions import Fraction

from chain.base.store import Store
from chain.base.units import DAY, HOUR
from chain.protocols.reference import v4_position
from zuno_tui.desk.portfolio import ClosedHours
from zuno_tui.present.past_day import MILLION, HourGain

END = 1_768_003_200


def gains(token_id: int, *hours: int, fees: int = 2, moved: int = 5) -> list[HourGain]:
    return [
        HourGain(END - back * HOUR, v4_position(token_id), fees * MILLION, moved * MILLION)
        for back in hours
    ]


def test_a_day_is_what_its_hours_brought_by_fees_and_prices() -> None:
    day = ClosedHours(Store.in_memory(), "k").day(gains(26, *range(1, 25)), END, 24, now=0.0)
    assert day is not None
    assert (day.gained, day.fees, day.hours) == (Fraction(24 * 7), Fraction(24 * 2), 24)


def test_closing_or_moving_a_position_takes_nothing_away() -> None:
    hours = ClosedHours(Store.in_memory(), "k")
    before = hours.day(gains(26, *range(1, 25)), END, 24, now=0.0)
    for new in range(39, 89):  # moved fifty times within the hour: none of these closed one yet
        assert hours.day(gains(new), END, 24, now=0.0) == before


def test_an_hour_that_was_told_is_never_told_otherwise() -> None:
    store = Store.in_memory()
    first = ClosedHours(store, "k").day(gains(26, 1, 2), END, 24, now=0.0)
    again = ClosedHours(store, "k").day(gains(26, 1, 2, moved=-400), END, 24, now=0.0)
    assert again == first


def test_hours_leave_after_a_day_and_a_chain_that_begins_anew_has_none() -> None:
    hours = ClosedHours(Store.in_memory(), "k")
    hours.day(gains(26, 1, 2), END, 24, now=0.0)
    later = hours.day((), END + DAY - HOUR, 24, now=0.0)
    assert later is not None
    assert later.gained == 7
    assert hours.day((), END - DAY, 24, now=0.0) is None
