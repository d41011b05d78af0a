"""Homes that earlier versions left behind: all of it is read or named, and plans are applied."""

import json
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from agents.mesh.peers import (
    MEMBER_FILE,
    MESH_VERSION,
    PEER_FILE,
    MeshFileError,
    read_book,
    read_member,
)
from chain.devnet.launch import DevnetReady
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.gate.desk import Desk
from tests.zuno_tui.gate.taken_back import applied, desk_at

RECORDED = Path(__file__).parents[2] / "recorded" / "homes"
OLDER, OLD, WITH_V3 = "2de4571", "f118b784", "940c6c1b"
HOMES = (OLDER, OLD, WITH_V3)


@pytest.fixture(params=HOMES)
def recorded(
    request: pytest.FixtureRequest,
    devnet: DevnetReady,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[tuple[str, Desk]]:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with tarfile.open(RECORDED / f"{request.param}.tar.gz") as archive:
        archive.extractall(home, filter="data")
    with desk_at(devnet, tmp_path, capsys) as desk:
        assert desk.command == CommandLine(home)
        yield request.param, desk


def _printed(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text())
    return found


def test_every_command_answers_as_it_did_or_says_which_version_wrote_it(
    recorded: tuple[str, Desk],
) -> None:
    name, desk = recorded
    for command, then in _printed(name).items():
        now = desk.here(*command.split())
        if name == OLDER and command.startswith("plan"):
            assert "an older zuno wrote it" in now.words, command
        elif command.startswith("replay"):
            # Rules change; a record then says whose it is.
            assert now.code == then["exit"] or "written by zuno 0." in now.words, command
        else:
            assert now.code == then["exit"], (command, now.words)


def test_nothing_of_the_journal_and_the_alerts_is_lost(recorded: tuple[str, Desk]) -> None:
    name, desk = recorded
    then = _printed(name)
    sent = desk.here("outbox", "--json").data["dispatches"]
    alerts = desk.here("alerts", "--all", "--json").data["alerts"]
    assert {one["hash"] for one in sent} == {
        one["hash"] for one in then["outbox --json"]["printed"]["dispatches"]
    }
    assert {one["id"] for one in alerts} >= {
        one["id"] for one in then["alerts --all --json"]["printed"]["alerts"]
    }


@pytest.mark.parametrize("recorded", [WITH_V3], indirect=True)
def test_positions_that_were_numbers_are_the_same_in_alerts_settings_plans_and_records(
    recorded: tuple[str, Desk],
) -> None:
    name, desk = recorded
    kept = ("alerts", "alert", "plan plan_")
    named = 0
    for command, then in _printed(name).items():
        if not command.startswith(("replay", *kept)):
            continue
        now = desk.here(*command.split())
        if command.startswith("replay"):
            others = "as other rules would: written by zuno 0.3.0 with rules"
            assert now.out.splitlines() == then["lines"] or others in now.words, command
        else:
            # Which of several stands first has changed since; what each says has not.
            before, after = dict(then["printed"]), dict(now.data)
            sent = [each["sentUpTo"] for each in before.pop("channels", ())]
            assert [each["cursor"] for each in after.pop("channels", ())] == sent, command
            assert _by_number(after) == _by_number(before), command
            named += str(now.data).count("3:")
    assert named
    of_v3 = {
        one["positionId"]
        for one in desk.here("alerts", "--all", "--json").data["alerts"]
        if str(one["positionId"]).startswith("3:")
    }
    assert of_v3 == {"3:3", "3:4", "3:5"}


def _by_number(document: dict[str, Any]) -> dict[str, Any]:
    rows = document.get("alerts", [])
    return {**document, "alerts": sorted(rows, key=lambda row: int(row["id"]))}


def test_plans_are_approved_and_applied(recorded: tuple[str, Desk]) -> None:
    name, desk = recorded
    before = desk.here("apply")
    assert before.code == 3
    over = ("before zuno was updated", "was applied before", "was applied already")
    assert any(words in before.words for words in over), name
    # The world of the last home begins as this one does: it sees that it was begun again.
    assert desk.here("outbox").code == 0
    applied(desk, desk.approved("collect", str(desk.token_id("transferred in"))))
    applied(desk, desk.approved("wrap", "0.1"))


@pytest.mark.parametrize("recorded", [OLD, WITH_V3], indirect=True)
def test_a_mesh_is_joined_as_it_was_laid_out_and_a_newer_one_is_named(
    recorded: tuple[str, Desk],
) -> None:
    _, desk = recorded
    folder = desk.command.home / "mesh"
    files = {path: path.read_bytes() for path in folder.glob("*.json")}
    assert read_book(folder).peers[0].name == read_member(folder).name == "desk"
    assert "newer" not in desk.here("doctor").words
    # Whoever laid it out reads it still.
    assert {path: path.read_bytes() for path in files} == files

    for file, read in ((PEER_FILE, read_book), (MEMBER_FILE, read_member)):
        newer = {**json.loads(files[folder / file]), "version": MESH_VERSION + 1, "more": True}
        (folder / file).write_text(json.dumps(newer))
        with pytest.raises(MeshFileError, match="written by a newer zuno"):
            read(folder)


def test_doctor_says_which_version_wrote_the_home(recorded: tuple[str, Desk]) -> None:
    name, desk = recorded
    [home] = [one for one in desk.here("doctor", "--json").data["checks"] if one["name"] == "home"]
    read = version("zuno-tui")
    told = f"of zuno {read}" if name == WITH_V3 else f"written by zuno 0.1.0, read by {read}"
    assert told in home["finding"]


@pytest.mark.parametrize("recorded", [OLDER], indirect=True)
def test_the_copy_of_a_migrated_journal_is_as_the_older_version_left_it(
    recorded: tuple[str, Desk], tmp_path: Path
) -> None:
    name, desk = recorded
    original = tmp_path / "original"
    with tarfile.open(RECORDED / f"{name}.tar.gz") as archive:
        archive.extractall(original, filter="data")
    desk.here("outbox")
    assert _everything(desk.command.home / "outbox.db.v2") == _everything(original / "outbox.db")


def _everything(path: Path) -> list[str]:
    """Tables and rows, so that whatever opens the one opens the other."""
    with closing(sqlite3.connect(path)) as database:
        return list(database.iterdump())
