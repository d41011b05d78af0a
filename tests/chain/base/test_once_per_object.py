"""What is made of an object is made once for it, and goes with it."""

from __future__ import annotations

from msgspec import Struct

from chain.base.once_per_object import once_per_object


class _Source(Struct, frozen=True, weakref=True):
    number: int


def test_it_is_made_once_for_an_object_and_anew_for_its_equal() -> None:
    asked: list[_Source] = []

    @once_per_object
    def doubled(source: _Source) -> int:
        asked.append(source)
        return source.number * 2

    first, equal = _Source(3), _Source(3)

    assert [doubled(one) for one in (first, first, equal)] == [6, 6, 6]
    assert [one is first for one in asked] == [True, False]


def test_an_object_in_the_place_of_one_that_is_gone_is_asked_for_itself() -> None:
    @once_per_object
    def doubled(source: _Source) -> int:
        return source.number * 2

    for number in range(1_000):
        assert doubled(_Source(number)) == number * 2
