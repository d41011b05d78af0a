"""The small world, lent to one test at a time."""

import os
from pathlib import Path

import pytest

from chain.base.home import cache_folder
from chain.devnet.world.worlds import World
from tests import chain_view
from tests.chain.devnet.world_view import View
from tests.chain_view import ChainView

SEED = 7


@pytest.fixture(scope="session")
def small_world() -> World:
    """To be asked what it is: its seed, its market, its positions."""
    return chain_view.small_world()


@pytest.fixture
def chain() -> ChainView:
    """As its history left it, for this test to change."""
    return chain_view.fresh_chain()


@pytest.fixture
def view(small_world: World, chain: ChainView) -> View:
    return View(small_world, chain)


@pytest.fixture
def bare_cache(tmp_path: Path) -> Path:
    """A cache with the packages and no worlds, so that making one needs no network."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "npm").symlink_to(cache_folder(os.environ) / "npm", target_is_directory=True)
    return cache
