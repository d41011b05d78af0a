"""One endpoint of three lies: nothing is signed that honest answers would not have had signed."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.lie_table import (
    ONE_OF_ONE,
    ONE_OF_THREE,
    ONE_OF_TWO,
    TWO_SILENT,
    Ending,
    Orders,
)
from tests.zuno_tui.gate.lies import LIES
from tests.zuno_tui.gate.unlisted_token import UnlistedPosition, unlisted_position

PARTS = 4
A_SLICE = (
    "head is an older block",
    "simulation of a failure succeeds",
    "token balance × 100",
    "position liquidity ÷ 2",
    "reverted told as success",
    "success told as reverted",
)
"""Of each kind one that takes little time; others are told to two in a row, below."""


@pytest.fixture(scope="module")
def chain(chain: DevnetReady) -> tuple[DevnetReady, UnlistedPosition]:
    return chain, unlisted_position(chain)


@pytest.fixture
def actions(
    chain: tuple[DevnetReady, UnlistedPosition],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Orders:
    devnet, unlisted = chain
    return Orders(Desk(devnet, CommandLine(tmp_path / "honest"), capsys), tmp_path, unlisted)


def _told(
    actions: Orders, names: Sequence[str], config: str, capsys: pytest.CaptureFixture[str]
) -> list[Ending]:
    endings = []
    for name in names:
        endings.append(actions.told(name, LIES[name], config))
        with capsys.disabled():
            print(endings[-1].row, flush=True)  # noqa: T201 - the table it is to show
    return endings


def test_no_lie_of_one_in_three_does_harm(
    actions: Orders, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told by the first of three, the harmful place; the same home works afterwards."""
    endings = _told(actions, A_SLICE, ONE_OF_THREE, capsys)

    assert [ending.row for ending in endings if ending.harmful] == []


def test_nor_does_one_in_two_or_stand_on_the_page(
    actions: Orders, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sentences a person confirms are those of an honest run, or nothing is approved."""
    named = (
        "simulation missing",
        "simulation without transfers",
        "tip 0",
        "tip 290 gwei",
        "receipt without logs",
    )
    endings = _told(actions, named, ONE_OF_TWO, capsys)

    assert [ending.row for ending in endings if ending.harmful] == []


@pytest.mark.soak
@pytest.mark.parametrize("config", [ONE_OF_TWO, ONE_OF_THREE])
@pytest.mark.parametrize("part", range(PARTS))
def test_nor_does_any_of_the_whole_table(
    actions: Orders, part: int, config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(LIES) >= 62
    endings = _told(actions, list(LIES)[part::PARTS], config, capsys)

    assert [ending.row for ending in endings if ending.harmful] == []


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_signed_where_two_of_three_are_silent(
    actions: Orders, part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    endings = _told(actions, list(LIES)[part::PARTS], TWO_SILENT, capsys)

    assert [ending.row for ending in endings if ending.signed or ending.broken] == []


@pytest.mark.soak
@pytest.mark.parametrize("part", range(PARTS))
def test_a_lone_liar_leaves_a_home_that_works(
    actions: Orders, part: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody contradicts it: the table says what comes of each lie."""
    endings = _told(actions, list(LIES)[part::PARTS], ONE_OF_ONE, capsys)

    assert [ending.row for ending in endings if ending.broken] == []
