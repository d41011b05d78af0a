"""What is made of a frozen object, made once: kept as long as the object itself is."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import ref

Source = TypeVar("Source")
Made = TypeVar("Made")


def once_per_object(make: Callable[[Source], Made]) -> Callable[[Source], Made]:
    """The same function, asked once for each object; an equal object is asked for anew."""
    kept: dict[int, tuple[ref[Source], Made]] = {}

    @wraps(make)
    def make_once(source: Source) -> Made:
        place = id(source)
        known = kept.get(place)
        if known is not None and known[0]() is source:
            return known[1]
        result = make(source)
        kept[place] = ref(source, lambda _: kept.pop(place, None)), result
        return result

    return make_once
