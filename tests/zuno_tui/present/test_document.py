"""A record as a document: whole units are text, whatever else its record is typed with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from chain.base.units import Units
from zuno_tui.present.document import document

if TYPE_CHECKING:
    from chain.positions.overview import Overview


class Held(Struct, frozen=True):
    amount_held: Units
    count: int
    read: Overview | None = None


class Grown(Held, frozen=True):
    fees: tuple[Units, ...] = ()

    @property
    def waits(self) -> Units:
        return 10**18


class Pair(NamedTuple):
    amount0: Units
    read: Overview | None = None


def test_a_type_that_only_the_checker_knows_changes_no_form() -> None:
    told = document(Grown(2**60, 3, fees=(1, 2)), "waits")

    assert told == {
        "amountHeld": str(2**60),
        "count": 3,
        "read": None,
        "fees": ["1", "2"],
        "waits": str(10**18),
    }
    assert document(Pair(7)) == {"amount0": "7", "read": None}
