"""The days of a position beside its result against holding: the figures add up."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from chain.base.units import Known, Unknown
from chain.prices.price import WorthUnit
from zuno_tui.desk.details import days_sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zuno_tui.present.position import KeyFigure

DAYS = (("01 Nov", 5.0, 2.0), ("02 Nov", 4.0, 8.5))


def figures(told: Sequence[KeyFigure]) -> list[float]:
    return [float(one.words.replace("$", "").replace("−", "-")) for one in told]


def test_the_sum_the_whole_and_the_rest() -> None:
    held = Known(Fraction(3), "storage")
    told = days_sum(DAYS, held, WorthUnit.USD, since_opened=True)
    together, rest, whole = figures(told)
    assert (together, whole) == (-1.5, 3.0)
    assert together + rest == whole
    assert [one.tone for one in told] == ["bad", "good", "good"]
    odd = days_sum(
        (("01 Nov", 1.004, 0.0),),
        Known(Fraction("2.009"), "storage"),
        WorthUnit.USD,
        since_opened=True,
    )
    assert figures(odd) == [1.0, 1.01, 2.01], "what is shown adds up"
    assert not any("01 Nov" in one.label for one in told)
    _, rest_since, _ = days_sum(DAYS, held, WorthUnit.USD, since_opened=False)
    assert "before 01 Nov" in rest_since.label


def test_nothing_is_made_of_what_is_unknown() -> None:
    told = days_sum(DAYS, Unknown("no archive"), WorthUnit.USD, since_opened=True)
    assert figures(told) == [-1.5]
    assert days_sum((), Known(Fraction(3), "storage"), WorthUnit.USD, since_opened=True) == ()
