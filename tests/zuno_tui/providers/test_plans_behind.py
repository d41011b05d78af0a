"""Look, recommend, approve and apply while one call in five is answered a block behind."""

from dataclasses import replace
from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from tests.fakes.providers.profile import Profile
from tests.fakes.providers.served import ServedProvider
from tests.zuno_tui.gate.taken_back import applied, desk_at

BEHIND = Profile("behind", network="devnet", share_behind=0.2)
SLICE = 10


def _sequence(
    devnet: DevnetReady, folder: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> int:
    """One person's way from looking to an applied plan; how many answers were late."""
    with desk_at(devnet, folder, capsys) as desk, ServedProvider(BEHIND, devnet.url, seed) as late:
        through = replace(desk, rpc=late.url)
        # One block more, so that there is one to be behind.
        desk.ask("evm_mine")
        found = through.here("positions", "--json")
        assert found.code == 0, found.words
        assert found.data["positions"]
        plan = through.recommended("near the edge")
        move = next(one for one in plan["candidates"] if one["index"] is not None)
        shown = through.approved("approve", plan["planId"], "--candidate", str(move["index"]))
        result = applied(through, shown)
        assert result["newTokenId"] in desk.positions()
        return len(late.provider.refused)


def test_one_call_in_five_a_block_behind_stops_neither_a_look_nor_an_order(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with desk_at(devnet, tmp_path, capsys) as desk, ServedProvider(BEHIND, devnet.url, 1) as late:
        through = replace(desk, rpc=late.url)
        desk.ask("evm_mine")
        assert through.positions() == desk.positions()
        applied(through, through.approved("collect", str(desk.token_id("transferred in"))))
        assert late.provider.refused


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_one_call_in_five_a_block_behind_stops_none_of_a_hundred_plans(
    devnet: DevnetReady, tmp_path: Path, capsys: pytest.CaptureFixture[str], part: int
) -> None:
    late = [
        _sequence(devnet, tmp_path / str(seed), capsys, seed)
        for seed in range(part * SLICE, (part + 1) * SLICE)
    ]
    with capsys.disabled():
        print(f"{len(late)} of {SLICE} sequences, {sum(late)} answers refused as late")  # noqa: T201
