"""Many cases of one kind: some of them, drawn by a seed, in `make test`, and all in `make soak`."""

from collections.abc import Iterable
from random import Random

import pytest
from _pytest.mark import ParameterSet


def some_of(cases: Iterable[tuple[object, ...]], count: int, *, seed: int) -> list[ParameterSet]:
    every = list(cases)
    chosen = set(Random(seed).sample(range(len(every)), count))
    return [
        pytest.param(*case, marks=() if place in chosen else pytest.mark.soak)
        for place, case in enumerate(every)
    ]
