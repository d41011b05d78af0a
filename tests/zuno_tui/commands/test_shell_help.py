"""Help, the tour, settings and homes from a shell."""

import json
import shutil
import subprocess
from shlex import split

import pytest

from tests.zuno_tui.conftest import CommandLine
from zuno_tui.app.tour import STEPS
from zuno_tui.catalog.registry import registry
from zuno_tui.cli import main
from zuno_tui.cli.parser import build_parser
from zuno_tui.commands.catalog.shell_completion import (
    completion_script,
    manual_page,
    takes_position,
)
from zuno_tui.present.exit_codes import USAGE

NAMES = [command.name for command in registry().on_command_line()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_completed(shell: str) -> None:
    script = "\n".join(completion_script(shell).lines)

    assert all(name in script for name in NAMES)
    assert "zuno completion ids" in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_reads_its_script_and_offers_commands() -> None:
    script = "\n".join(completion_script("bash").lines)
    asked = "COMP_WORDS=(zuno reco); COMP_CWORD=1; _zuno; echo ${COMPREPLY[@]}"

    told = subprocess.run(
        ["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True
    )

    assert told.stdout.split() == ["recommend"]


def test_what_names_a_position_offers_those_that_are_known() -> None:
    offering = {command.name for command in registry().on_command_line() if takes_position(command)}

    assert {"inspect", "recommend", "collect", "close", "move"} <= offering
    assert "price" not in offering


def test_the_manual_has_every_command_once() -> None:
    headings = [line for line in manual_page().lines if line.startswith('.B "zuno ')]

    assert len(headings) == len(NAMES)


def test_the_manual_begins_with_its_date_and_then_its_version() -> None:
    from datetime import date
    from importlib.metadata import version
    from pathlib import Path
    from shlex import split

    _, title, section, day, release, _ = split(manual_page().lines[0])
    changes = Path(__file__).parents[3] / "CHANGELOG.md"
    heading = next(line for line in changes.read_text().splitlines() if line.startswith("## "))

    assert (title, section, release) == ("ZUNO", "1", f"zuno {version('zuno-tui')}")
    assert date.fromisoformat(day).isoformat() == day
    assert heading in (f"## {version('zuno-tui')}, {part}" for part in (day, "not released yet"))


@pytest.mark.parametrize("line", ["--ascii glossary lvr", "glossary lvr --ascii"])
def test_a_flag_of_the_desk_is_taken_wherever_it_is_typed(line: str) -> None:
    assert build_parser(registry().on_command_line()).parse_args(line.split()).ascii


def test_every_example_is_a_line_that_is_taken() -> None:
    from shlex import split

    from zuno_tui.cli.parser import build_parser

    parser = build_parser(registry().on_command_line())
    for command in registry().on_command_line():
        for example in command.examples:
            if example.startswith("zuno ") and not {"|", ">"} & set(example):
                assert parser.parse_args(split(example)[1:]).chosen is not None


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["positons"], "positions"), (["positions", "--netwrok", "base"], "--network")],
)
def test_a_slip_is_met_with_what_may_be_meant(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)

    assert caught.value.code == USAGE
    assert f"Did you mean {meant}?" in capsys.readouterr().err


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.command)
def test_a_step_is_a_command_that_signs_nothing(step: object) -> None:
    command = getattr(step, "command", "")
    parsed = build_parser(registry().on_command_line()).parse_args(split(command)[1:])

    assert parsed.chosen is not None
    assert parsed.chosen.action is None
    assert parsed.chosen.name not in ("apply", "approve", "outbox")


def test_without_a_terminal_it_is_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tour"]) == 0

    printed = capsys.readouterr().out
    assert all(step.command in printed for step in STEPS)


def test_it_is_data_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tour", "--json"]) == 0

    assert len(json.loads(capsys.readouterr().out)) == len(STEPS)


def test_a_value_is_written_shown_and_refused(zuno: CommandLine) -> None:
    kept = zuno("setting", "limits.daily_usd", "5,000", "--json")
    refused = zuno("setting", "limits.daily_usd", "-1")
    shown = zuno("setting", "--json")

    assert kept.code == 0, kept.words
    assert kept.data["limits.daily_usd"]["value"] == "5,000"
    assert refused.code == 2
    assert shown.data["limits.daily_usd"]["from"] == "settings.toml"
    assert shown.data["telegram.token"]["value"] == "not set"


def test_positions_are_read_without_a_database(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    zuno.home.mkdir(mode=0o700)
    # No database can be where a folder is, whoever asks: as on a disk that takes nothing more.
    (zuno.home / "zuno.db").mkdir()

    spoken = zuno("positions", *on_devnet, "--json")

    assert spoken.code == 0, spoken.words
    assert spoken.data["positions"]
    assert "What is read now is not saved." in spoken.words


STRANGE_WALLET = "0x" + "77" * 20


def test_the_wallets_own_are_kept_and_others_are_told(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    held = [
        int(one["tokenId"]) for one in zuno("positions", *on_devnet, "--json").data["positions"]
    ]
    named = zuno("watch-ids", str(held[0]), f"#{held[1]}", "99999999", *on_devnet, "--json")

    assert named.code == 0, named.words
    assert named.data["named"] == [str(one) for one in sorted(held[:2])]
    owners = {one["tokenId"]: one["owner"] for one in named.data["positions"]}
    assert owners["99999999"] is None
    assert owners[str(held[0])] == owners[str(held[1])] == named.data["address"]


def test_what_is_anothers_is_refused_with_a_next_step(
    zuno: CommandLine, on_devnet: tuple[str, ...]
) -> None:
    spoken = zuno("watch-ids", "1", *on_devnet, "--address", STRANGE_WALLET)

    assert spoken.code == 1
    assert "--address" in spoken.words


def test_a_number_is_asked_for(zuno: CommandLine, on_devnet: tuple[str, ...]) -> None:
    assert zuno("watch-ids", *on_devnet).code == 2
    assert zuno("watch-ids", "seven", *on_devnet).code == 2
