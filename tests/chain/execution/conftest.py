"""A journal, and a sender on the embedded chain, for each test that asks for one."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from chain.contracts.networks import Network
from chain.execution.outbox.outbox import Outbox
from tests.chain.execution.sending_kit import Bench, bench_on
from tests.chain.moves import Moves


@pytest.fixture
def outbox() -> Iterator[Outbox]:
    with Outbox.in_memory() as opened:
        yield opened


@pytest.fixture
async def bench(moves: Moves, network: Network, tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench_on(moves, network, tmp_path / "zuno.db") as made:
        yield made
