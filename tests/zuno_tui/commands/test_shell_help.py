"""What a shell is told of the commands: completion, the manual, examples, and what was meant."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from zuno_tui.catalog.registry import registry
from zuno_tui.cli import main
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
