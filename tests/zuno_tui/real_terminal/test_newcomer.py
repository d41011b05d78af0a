"""`zuno demo` for somebody who knows nothing: what the hint line says is enough to get through."""

import os
import re
import shlex
import sys
import time
from pathlib import Path

import pytest

from tests.zuno_tui.real_terminal.ssh_server import SshServer
from tests.zuno_tui.screen_terminal import Terminal
from zuno_tui.settings.schema import ScreenTable

_PACE = f"ZUNO_READING_PACE={ScreenTable().reading_pace}"
"""As people have it: a debate that goes by at once is not seen."""
_DEMO = ("env", _PACE, sys.executable, "-m", "zuno_tui", "demo", "--deterministic")
_HINT = re.compile(
    r"^ → (.*?((?<=[Pp]ress )(?:: and type [a-z]+|r\b)|a, Enter(?=:)).*?)(?:   .*)?$",
    re.MULTILINE,
)
"""Without what was said last, which stands in the same line."""
_KEYS = {"a, Enter": "a\r"}
_PATIENCE = 240.0
_MOST_STEPS = 12
"""The market lives: a plan may be overtaken and asked for again, but not for ever."""
_WALK = (
    (
        "The desk",
        "",
        r"#26 +WETH/USDC 0\.3% +(v4 +)?✗ out",
        r"[✗▲] +((\d+|critical|warning) +)?#26",
        r"→ #26 is out of range: no fees until it is back\. Press r",
    ),
    ("The debate", ":recommend 26\r", r"· position #26 · (speaking|decided)[\s\S]+▌ [A-Z]+"),
    (
        "The plan",
        "",
        r"4 Plan · #26 WETH/USDC 0\.3%",
        r"★ (Widen|Tighten|Shift) #26 to",
        r"→ a, Enter: approve [A-E], ([\d.]+% )?\w+ #\d+, costs \$[\d.]+",
    ),
    (
        "The approval",
        ":approve\r",
        r"APPROVED  Move position #26",
        r"→ Nothing is signed yet\. To review and sign: press : and type apply",
    ),
    (
        "The confirmation",
        ":apply\r",
        r"━ Sign and send · Move position #26 to .* ━",
        r" recipient +0x2A66090e5fBa13C69cC270a0b48A8EE5c73a6F4f",
        r"Type apply and press Enter to sign and send\. Escape goes back; nothing is signed",
    ),
    ("Another word", "yes\r", r"That was not the word apply\. Nothing was signed\."),
    (
        "The word",
        "apply\r",
        r"(\d) OF \1 DONE",
        r"━ Done · #26 is now #39 ━",
        r"✓ close #26 +0x",
        r"Done\. escape goes back to the desk\.",
    ),
    (
        "The desk afterwards",
        "\x1b",
        r"#39 +WETH/USDC 0\.3% +(v4 +)?● in",
        r"resolved[\s\S]+#26",
        r"→ (Applied\.|#\d+ is (out of range|near the edge))",
    ),
    (
        "A range of one's own",
        ":create 0.5 WETH/USDC between 2900 and 3300\r",
        r"4 Plan · new WETH/USDC",
        r"★ Open WETH/USDC 0\.\d+% at 2,[89]\d\d\.\d – 3,[23]\d\d\.\d",
    ),
    ("A price alert", ":alert ETH below 2500\r", r"ETH below 2500 USD"),
    ("Back to the desk", "\x1b", r"1 Positions"),
    ("What was earned this week", ":how much did i earn this week\r", r"FEES +RESULT"),
    ("Back from what was earned", "\x1b", r"1 Positions"),
    ("The history as CSV", ":history csv\r", r"Saved [\d,]+ lines: \S+"),
    ("The desk again", "\x1b", r"1 Positions"),
)
"""What is done, the keys it takes, and what the screen must show then."""


@pytest.mark.soak
@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)], ids=lambda size: f"{size[0]}")
def test_the_hints_lead_from_the_start_to_an_applied_plan(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    typed: list[str] = []
    hint = ""
    began = time.monotonic()
    with Terminal([*_DEMO], *size, {"TMPDIR": str(tmp_path)}) as terminal:
        while (found := _new_hint(terminal, hint)) is not None:
            hint, keys = found
            phrase = keys.removeprefix(": and type ")
            typed.append(phrase)
            assert len(typed) < _MOST_STEPS, typed
            terminal.type(_KEYS.get(phrase, phrase if phrase == keys else f":{phrase}\r"))
            if phrase == "apply":
                terminal.wait_for("Sign and send", _PATIENCE)
                terminal.read_page()
                terminal.answer("apply", r"Done\.|Nothing was", _PATIENCE)
                done = "Done." in terminal.text
                terminal.send("\x1b")
                if done:  # the next hint is about the next position
                    terminal.wait_gone("goes back to the desk")
                    break
        took = time.monotonic() - began
        terminal.send(":quit\r")
        assert terminal.end() == 0
        assert terminal.restored()

    print(f"\n{size[0]}×{size[1]}: {' → '.join(typed)} in {took:.0f} s")  # noqa: T201
    assert typed[0] == "r"
    assert {"a, Enter", "apply"} <= set(typed)
    # Of the homes none is left; what vouches for approvals lasts as long as the machine runs.
    assert {path.name for path in tmp_path.iterdir()} <= {f"zuno-{os.getuid()}"}


@pytest.mark.soak
def test_the_walkthrough_types_what_it_says_and_sees_what_it_shows(tmp_path: Path) -> None:
    """The keystrokes of docs/walkthrough.md; `-s` prints the screens that it shows."""
    walk([*_DEMO], {"TMPDIR": str(tmp_path)})


@pytest.mark.soak
def test_the_walkthrough_is_the_same_over_ssh(server: SshServer) -> None:
    walk(server.client(shlex.join(_DEMO)), {})


def walk(command: list[str], environment: dict[str, str]) -> None:
    with Terminal(command, 120, 36, environment) as terminal:
        for caption, keys, *shown in _WALK:
            terminal.type(keys, pause=0.08)
            for pattern in shown:
                terminal.wait_for(pattern, _PATIENCE)
            if caption == "The confirmation":
                terminal.read_page()
            print(f"\n## {caption}: {_spelled(keys)}\n{terminal.text}")  # noqa: T201
        terminal.type(":quit\r")
        assert terminal.end() == 0
        assert terminal.restored()


def _spelled(keys: str) -> str:
    return keys.replace("\r", " Enter").replace("\x1b", "Escape") or "no key"


def _new_hint(terminal: Terminal, last: str) -> tuple[str, str] | None:
    """What the hint line says now and what of it is to be pressed; None when all is done."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        terminal.settle(quiet=0.2, seconds=2.0)
        if "Applied. More at the prompt" in terminal.text:
            return None
        found = _HINT.search(terminal.text)
        if found is not None and found[1] != last:
            return found[1], found[2]
    raise AssertionError(f"no hint after {last!r}. The screen was:\n{terminal.text}")
