"""The table of providers: what everything people do costs through each, and how it ends."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chain.base.units import HOUR
from chain.devnet.launch import DevnetReady
from tests.fakes.providers.profile import Profile
from tests.fakes.providers.profiles import PROFILES, profile_named
from tests.fakes.providers.served import ServedProvider
from tests.zuno_tui.gate.taken_back import applied, desk_at
from tests.zuno_tui.providers.cells import CellCost, ProviderWalk

FORTY = [730 * place / 40 for place in range(40)]
THREE = [300.0, 20.0, 3.0]
QUIET, BUSY = 50, 60_000
TEN_MINUTES = 600

SERVING = [one for one in PROFILES if one.serves]
WITHOUT_SWAPS = {"alchemy free", "quicknode free", "no logs, small calls"}
"""A week of swaps is more than these can give: it stays unknown."""


def _most(profile: Profile, requests: int) -> int:
    """A batch of three takes three times the requests, and a late machine a few more."""
    small = (profile.most_in_batch or 10) < 10
    return requests * (3 if small else 1) + (4 if profile.share_behind else 0)


async def _looks(profile: Profile, ages: list[float]) -> tuple[CellCost, CellCost]:
    walk = ProviderWalk(profile, ages)
    first = await walk.cost(walk.look)
    walk.clock.now += 60
    return first, await walk.cost(walk.look)


async def _recommended(profile: Profile, swaps_a_day: int) -> tuple[CellCost, CellCost]:
    walk = ProviderWalk(profile, [20.0], swaps_a_day)
    gives = profile.name not in WITHOUT_SWAPS
    recommend = walk.recommend if gives else walk.recommend_without_swaps
    first = await walk.cost(recommend)
    walk.clock.now += TEN_MINUTES
    second = await walk.cost(recommend)
    assert (first.sentence, second.sentence) == (None, None)
    assert second.requests <= _most(profile, 10)
    return first, second


async def _hours(
    profile: Profile, folder: Path, first_seconds: float = HOUR
) -> tuple[CellCost, CellCost]:
    """The first, in which everything is found and its past is read, and one like all others."""
    walk = ProviderWalk(profile, THREE, QUIET)
    first = await walk.cost(lambda: walk.open_desk(folder, first_seconds))
    return first, await walk.cost(lambda: walk.open_desk(folder, HOUR))


@pytest.mark.parametrize("name", ["mainnet.base.org", "own geth"])
async def test_one_position_of_the_last_month_is_found_in_few_requests(name: str) -> None:
    profile = profile_named(name)
    empty, again = await _looks(profile, [])
    assert empty.requests <= 3
    first, second = await _looks(profile, [29.0])
    assert first.requests <= 30
    assert (again.requests, second.requests) == (1, 1)


async def test_a_quiet_pool_is_judged_through_a_public_endpoint() -> None:
    await _recommended(profile_named("mainnet.base.org"), QUIET)


async def test_an_endpoint_of_ten_blocks_leaves_the_week_unknown() -> None:
    await _recommended(profile_named("alchemy free"), QUIET)


@pytest.mark.parametrize("name", [one.name for one in PROFILES if not one.serves])
async def test_an_endpoint_that_serves_nobody_says_so_soon(name: str) -> None:
    walk = ProviderWalk(profile_named(name), [20.0], QUIET)
    for action in (walk.look, walk.recommend):
        cost = await walk.cost(action)
        assert cost.sentence is not None
        assert "zuno " in cost.sentence
        assert cost.seconds <= 20
        assert cost.requests <= 5


async def test_a_pool_that_was_busy_is_read_on_in_few_requests() -> None:
    first, second = await _recommended(profile_named("own geth"), 600)
    assert second.requests <= 10
    assert second.calls < first.calls


async def test_an_hour_of_the_desk_without_an_archive_takes_few_calls(tmp_path: Path) -> None:
    _, hour = await _hours(profile_named("own geth"), tmp_path, first_seconds=1)
    assert hour.calls <= 600


async def test_what_an_endpoint_never_gives_is_not_asked_for_at_every_poll(tmp_path: Path) -> None:
    walk = ProviderWalk(profile_named("alchemy free"), [0.1], QUIET)
    await walk.cost(lambda: walk.open_desk(tmp_path, 1))
    few = await walk.cost(lambda: walk.open_desk(tmp_path, 60))
    many = await walk.cost(lambda: walk.open_desk(tmp_path, 360))
    # Ten reads of the desk and five polls of the watch, of two calls each.
    assert many.calls - few.calls <= 35


@pytest.mark.soak
@pytest.mark.parametrize("profile", SERVING, ids=lambda one: one.name)
async def test_table(profile: Profile, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells: dict[str, CellCost] = {}
    cells["empty"], cells["empty again"] = await _looks(profile, [])
    assert cells["empty"].requests <= _most(profile, 3)
    cells["one"], cells["one again"] = await _looks(profile, [29.0])
    cells["forty"], cells["forty again"] = await _looks(profile, FORTY)
    for again in ("empty again", "one again", "forty again"):
        assert cells[again].requests <= _most(profile, 1)
    cells["first hour"], cells["next hour"] = await _hours(profile, tmp_path)
    cells["quiet"], cells["quiet again"] = await _recommended(profile, QUIET)
    with capsys.disabled():
        _print(profile, cells)
    for name in ("empty", "one", "forty", "first hour", "next hour"):
        assert cells[name].sentence is None, (name, cells[name].sentence)
    assert cells["next hour"].calls <= 600


@pytest.mark.soak
@pytest.mark.parametrize("profile", SERVING, ids=lambda one: one.name)
async def test_busiest_pool(profile: Profile, capsys: pytest.CaptureFixture[str]) -> None:
    busy, again = await _recommended(profile, BUSY)
    with capsys.disabled():
        _print(profile, {"busiest": busy, "busiest again": again})


@pytest.mark.soak
@pytest.mark.parametrize("profile", SERVING, ids=lambda one: one.name)
def test_plans(
    profile: Profile, devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Approve and apply, by the wall's clock, on the embedded chain."""
    with (
        desk_at(devnet, tmp_path, capsys) as desk,
        ServedProvider(replace(profile, network="devnet"), devnet.url) as served,
    ):
        through = replace(desk, rpc=served.url)
        desk.ask("evm_mine")
        asked = ("close", str(desk.token_id("near the edge")))
        shown, approve = _timed(served, lambda: through.approved(*asked))
        simulates = "eth_simulateV1" not in dict(profile.refused_methods)
        _, apply = _timed(served, lambda: applied(through, shown, quoted=simulates))
    with capsys.disabled():
        _print(profile, {"approve": approve, "apply": apply})


def _timed(
    served: ServedProvider, action: Callable[[], dict[str, Any]]
) -> tuple[dict[str, Any], CellCost]:
    served.provider.forget_counts()
    began = time.monotonic()
    done = action()
    seconds = time.monotonic() - began
    return done, CellCost(served.provider.requests, served.provider.calls, seconds, 0.0)


def _print(profile: Profile, cells: dict[str, CellCost]) -> None:
    told = " · ".join(f"{name} {cost.text}" for name, cost in cells.items())
    print(f"{profile.name:<22}{told}")  # noqa: T201
