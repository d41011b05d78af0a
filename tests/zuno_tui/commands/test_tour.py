"""The tour: every step is a command that is there, and none of them orders anything."""

from __future__ import annotations

import json
from shlex import split

import pytest

from zuno_tui.app.tour import STEPS
from zuno_tui.catalog.registry import registry
from zuno_tui.cli import main
from zuno_tui.cli.parser import build_parser


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
