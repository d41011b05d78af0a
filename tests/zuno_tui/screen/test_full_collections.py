"""Full garbage collections wait for a pause of whoever types, and not for ever."""

import gc
from collections.abc import Iterator

import pytest

from zuno_tui.screen.full_collections import FullCollections


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Knot:
    """Held by itself alone: only a collection ends it."""

    alive = 0

    def __init__(self) -> None:
        self.itself = self
        Knot.alive += 1

    def __del__(self) -> None:
        Knot.alive -= 1


@pytest.fixture(autouse=True)
def python_as_it_was() -> Iterator[None]:
    """What is here before stays out of every collection: thousands of tests and their modules."""
    gc.collect()
    gc.freeze()
    Knot.alive = 0
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)


def old_garbage() -> None:
    """Garbage that the quick collections have already passed by."""
    kept = Knot()
    gc.collect(0)
    gc.collect(1)
    del kept


@pytest.mark.parametrize(
    ("collected", "key", "collects"),
    [
        (19.9, 19.9, False),
        (20.0, 2.9, False),
        (20.0, 3.0, True),
        (119.9, 0.1, False),
        (120.0, 0.0, True),
    ],
    ids=["just collected", "typing", "a pause", "typing for long", "typing for too long"],
)
def test_it_collects_in_a_pause_or_when_it_cannot_wait(
    collected: float, key: float, *, collects: bool
) -> None:
    clock = Clock()
    collections = FullCollections(clock)
    old_garbage()
    clock.now += collected - key
    collections.note_key()
    clock.now += key
    assert collections.look() is collects
    assert (Knot.alive == 0) is collects
    assert collections.look() is False, "a look right after one that collected"


def test_the_next_is_counted_from_the_last() -> None:
    clock = Clock()
    collections = FullCollections(clock)
    clock.now += 20
    assert collections.look()
    clock.now += 19
    assert not collections.look()
    clock.now += 1
    assert collections.look()


def test_what_the_desk_was_opened_with_is_looked_through_once() -> None:
    clock = Clock()
    collections = FullCollections(clock)
    before, opened = gc.get_freeze_count(), [[number] for number in range(20_000)]
    clock.now += 20
    collections.look()
    spared = gc.get_freeze_count()
    assert spared - before > len(opened) - 1_000
    later = [Knot() for _ in range(100)]
    clock.now += 20
    collections.look()
    assert gc.get_freeze_count() <= spared, "what came later can still be collected"
    assert len(later) == 100


def test_python_makes_none_by_itself_and_goes_on_making_the_quick_ones() -> None:
    young, middle, _ = gc.get_threshold()
    FullCollections(Clock()).take_over()
    assert gc.get_threshold()[:2] == (young, middle)
    before = [generation["collections"] for generation in gc.get_stats()]
    held = [[number] for number in range(1_000_000)]
    after = [generation["collections"] for generation in gc.get_stats()]
    assert after[0] > before[0]
    assert after[1] > before[1]
    assert after[2] == before[2]
    assert len(held) == 1_000_000
