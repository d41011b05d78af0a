"""The demo's own week, for tests that need a market with a past."""

from collections.abc import Iterator

import pytest

from chain.devnet.defaults import DEMO_SEED
from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.embedded_chain import embedded_chain


@pytest.fixture(scope="session")
def demo_week() -> Iterator[DevnetReady]:
    """The week that `zuno demo` shows, paused; built once for a machine."""
    with embedded_chain(seed=DEMO_SEED, world="week") as ready:
        yield ready


@pytest.fixture(scope="session")
def demo_positions(demo_week: DevnetReady) -> dict[str, int]:
    """Token ids of the demo wallet by the state each is in."""
    return positions_by_state(demo_week.url)


def positions_by_state(url: str) -> dict[str, int]:
    found: dict[str, int] = node_rpc.ask(url, "zuno_status")["positions"]
    return found
