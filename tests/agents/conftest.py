"""The demo's own week, for tests that need a market with a past."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import pytest

from chain.devnet.launch import devnet_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.devnet.launch import DevnetReady


@pytest.fixture(scope="session")
def demo_week() -> Iterator[DevnetReady]:
    """The week that `zuno demo` shows, paused; built once for a machine."""
    with devnet_process() as ready:
        yield ready


@pytest.fixture(scope="session")
def demo_positions(demo_week: DevnetReady) -> dict[str, int]:
    """Token ids of the demo wallet by the state each is in."""
    return positions_by_state(demo_week.url)


def positions_by_state(url: str) -> dict[str, int]:
    body = {"jsonrpc": "2.0", "id": 1, "method": "zuno_status", "params": []}
    found: dict[str, int] = httpx2.post(url, json=body).json()["result"]["positions"]
    return found
