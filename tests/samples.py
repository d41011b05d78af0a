"""Many cases of one kind: some of them, drawn by a seed, in `make test`, and all in `make soak`."""

from collections.abc import Iterable
from random import Random

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings


def some_of(cases: Iterable[tuple[object, ...]], count: int, *, seed: int) -> list[ParameterSet]:
    """A case may be a `pytest.param`, which keeps its name."""
    every = list(cases)
    chosen = set(Random(seed).sample(range(len(every)), count))
    # Thousands that nobody asks for would be made by every worker, only to be left out.
    if settings.get_current_profile_name() != "soak":
        return [_parameters(every[place]) for place in sorted(chosen)]
    return [
        _parameters(case, *(() if place in chosen else (pytest.mark.soak,)))
        for place, case in enumerate(every)
    ]


def _parameters(case: tuple[object, ...], *marks: pytest.MarkDecorator) -> ParameterSet:
    if isinstance(case, ParameterSet):
        return pytest.param(*case.values, marks=(*case.marks, *marks), id=case.id)
    return pytest.param(*case, marks=marks)
