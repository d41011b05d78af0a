"""One small world for the tests that look at it from inside the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chain.devnet.world.worlds import open_world

if TYPE_CHECKING:
    from chain.devnet.world.worlds import World

SEED = 7


@pytest.fixture(scope="session")
def small_world() -> World:
    """Read it and fork its state, but never mine on it: all tests of a worker share it."""
    return open_world(SEED, "small")
