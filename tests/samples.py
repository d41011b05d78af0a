"""Many cases of one kind: some of them, drawn by a seed, in `make test`, and all in `make soak`."""

from collections.abc import Iterable
from random import Random

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings


def some_of(cases: Iterable[tuple[object, ...]], count: int, *, seed: int) -> list[ParameterSet]:
    every = list(cases)
    chosen = set(Random(seed).sample(range(len(every)), count))
    # Thousands that nobody asks for would be made by every worker, only to be left out.
    if settings.get_current_profile_name() != "soak":
        return [pytest.param(*every[place]) for place in sorted(chosen)]
    return [
        pytest.param(*case, marks=() if place in chosen else pytest.mark.soak)
        for place, case in enumerate(every)
    ]
