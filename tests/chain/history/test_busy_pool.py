"""A pool with more swaps than fit into memory: read once, in small parts, kept small."""

import resource
import tracemalloc
from collections.abc import Iterable
from typing import cast

import pytest
from msgspec.structs import replace

from chain.base.store import Store
from chain.base.units import DAY
from chain.contracts.networks import network_named
from chain.history import hour_reader
from chain.history.events import FeeTerms
from chain.history.hour_reader import HourMemory, read_hours
from chain.history.hours import PoolHours, RecentSwap
from chain.math.fees import ProtocolFee
from chain.protocols.past import PoolMark
from chain.read.logs import ScanProgress
from chain.rpc.client import RpcClient
from tests.chain.history.busy_pool import POOL, BusyNode
from tests.chain.history.cut_off import AskedNode, CutOffError, Moments, WrittenStore

BASE = replace(network_named("base"), first_block=0)
TERMS = {POOL: FeeTerms(500, ProtocolFee(0, 0))}
SMALL = (300, 1, 30)
"""Blocks, swaps in each and the most logs of an answer: over a full hour of the calendar."""


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pool's own word, which this node knows without a contract."""

    async def told(
        client: BusyNode, _network: object, pools: Iterable[str], at: int | str
    ) -> dict[str, PoolMark]:
        number = at if isinstance(at, int) else int(at, 16)
        return {pool: client.mark(number) for pool in pools}

    async def begun(
        client: BusyNode,
        _network: object,
        pools: Iterable[str],
        _first: int,
        _last: int,
        **_: object,
    ) -> dict[str, PoolMark]:
        return {pool: client.mark(-1) for pool in pools}

    monkeypatch.setattr(hour_reader, "read_marks", told)
    monkeypatch.setattr(hour_reader, "read_beginnings", begun)


async def read(node: BusyNode, store: Store, seen: list[ScanProgress] | None = None) -> PoolHours:
    found = await read_hours(
        cast("RpcClient", node),
        BASE,
        TERMS,
        7 * DAY,
        memory=HourMemory(store, BASE, lambda: 0.0),
        watch=(seen if seen is not None else []).append,
    )
    return found[POOL]


def stored_bytes(store: Store) -> int:
    return sum(
        len(str(value))
        for name in ("hours by move", "proved swaps")
        for value in store.items(name).values()
    )


async def test_many_swaps_are_read_once_and_kept_small() -> None:
    """Three hours of a pool with 43,200 swaps a day; for each swap what a whole day would take."""
    node, store = BusyNode(6_000, 1, most_logs=600), Store.in_memory()
    seen: list[ScanProgress] = []
    tracemalloc.start()
    found = await read(node, store, seen)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.swaps == 6_001
    assert peak < 12_000_000
    assert stored_bytes(store) / found.swaps < 40, "68,000 swaps of a last day take under 3 MB"
    assert len(seen) >= 10, "there is something to show while it goes on"
    told = node.logs_told
    assert told < 6_600, "but for what stood beside a refusal no block is read twice"
    node.blocks += 30
    again = await read(node, store)
    assert again.swaps == 6_031
    assert node.logs_told == told + 30


def exact(hours: PoolHours) -> list[RecentSwap]:
    """Which times are read and which interpolated depends on where a read began."""
    return [replace(one, time_estimated=False) for one in hours.recent]


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.soak), 5])
async def test_killed_at_any_moment_it_goes_on_where_it_was(every: int) -> None:
    """Before every write and after every answer; only what the last request told is asked again."""
    undisturbed = AskedNode(*SMALL)
    everything = WrittenStore(Store.in_memory(), undisturbed.moments)
    whole = await read(undisturbed, cast("Store", everything))
    assert undisturbed.moments.passed > 30
    for moment in range(0, undisturbed.moments.passed, every):
        node, store = AskedNode(*SMALL), Store.in_memory()
        node.moments = Moments(last=moment)
        with pytest.raises(CutOffError):
            await read(node, cast("Store", WrittenStore(store, node.moments)))
        before, node.told, node.moments = node.told, [], Moments()
        found = await read(node, store)
        assert exact(found) == exact(whole), moment
        assert [row.swaps for row in found.rows] == [row.swaps for row in whole.rows], moment
        heard = {block for request in before[:-1] for blocks in request for block in blocks}
        asked = {block for request in node.told for blocks in request for block in blocks}
        assert not heard & asked, moment


@pytest.mark.soak
async def test_a_week_of_the_busiest_pool_stays_small(capsys: pytest.CaptureFixture[str]) -> None:
    """604,800 swaps; what the process grew by is as the system counts it."""
    node, store = BusyNode(7 * DAY // 2, 2), Store.in_memory()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = await read(node, store)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1_000
    kept = stored_bytes(store) / 1_000_000
    with capsys.disabled():
        print(f"{found.swaps:,} swaps: grew by {grown:.0f} MB, keeps {kept:.1f} MB")  # noqa: T201
    assert found.swaps >= 480_000
    assert grown < 150
    assert kept < 5
