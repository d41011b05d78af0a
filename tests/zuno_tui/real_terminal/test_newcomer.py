"""`zuno demo` for somebody who knows nothing: does what the hint line says, and nothing else."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.zuno_tui.screen_terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

_HINT = re.compile(r"^ → (.*[Pp]ress : and type ([a-z]+(?: \d+)?).*)$", re.MULTILINE)
_PATIENCE = 240.0
_MOST_STEPS = 12
"""The market lives: a plan may be overtaken and asked for again, but not for ever."""


@pytest.mark.soak
@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)], ids=lambda size: f"{size[0]}")
def test_the_hints_lead_from_the_start_to_an_applied_plan(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    typed: list[str] = []
    hint = ""
    began = time.monotonic()
    with Terminal(
        [sys.executable, "-m", "zuno_tui", "demo", "--deterministic"],
        *size,
        {"TMPDIR": str(tmp_path)},
    ) as terminal:
        while (found := _new_hint(terminal, hint)) is not None:
            hint, phrase = found
            typed.append(phrase)
            assert len(typed) < _MOST_STEPS, typed
            terminal.send(":")
            terminal.wait_for("tab complete")
            terminal.type(f"{phrase}\r")
            if phrase == "apply":
                terminal.wait_for("Sign and send", _PATIENCE)
                terminal.settle()
                terminal.type("apply\r")
                terminal.wait_for(r"Done\.|Nothing was", _PATIENCE)
                terminal.send("\x1b")
        took = time.monotonic() - began
        terminal.send(":quit\r")
        assert terminal.end() == 0
        assert terminal.restored()

    print(f"\n{size[0]}×{size[1]}: {' → '.join(typed)} in {took:.0f} s")  # noqa: T201
    assert typed[0].startswith("recommend ")
    assert {"approve", "apply"} <= set(typed)
    assert list(tmp_path.iterdir()) == []


def _new_hint(terminal: Terminal, last: str) -> tuple[str, str] | None:
    """What the hint line says now and what of it is to be typed; None when all is done."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        terminal.settle(quiet=0.2, seconds=2.0)
        if "Applied. More at the prompt" in terminal.text:
            return None
        found = _HINT.search(terminal.text)
        if found is not None and found[1] != last:
            return found[1], found[2]
    raise AssertionError(f"no hint after {last!r}. The screen was:\n{terminal.text}")
