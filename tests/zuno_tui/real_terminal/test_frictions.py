"""What newcomers stumbled over, looked for at a real terminal in three sizes.

`ZUNO_PICTURES=folder pytest -m soak tests/zuno_tui/real_terminal/test_frictions.py` keeps a picture
of every screen.
"""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.zuno_tui.real_terminal.terminal_picture import save_terminal
from tests.zuno_tui.screen_terminal import Terminal
from zuno_tui.settings.schema import ScreenTable

_ZUNO = (sys.executable, "-m", "zuno_tui")
_PATIENCE = 60.0
_WALLET = "0x2A66090e5fBa13C69cC270a0b48A8EE5c73a6F4f"
_AS_PEOPLE = {"COLORTERM": "truecolor", "ZUNO_READING_PACE": str(ScreenTable().reading_pace)}
_SIZES = ((80, 24), (120, 36), (200, 55))
_POETRY = "of the chain's coin|of the network's coin|the usual|hears one again"
_ESCAPE, _RIGHT, _DOWN = "\x1b", "\x1b[C", "\x1b[B"


class Look(NamedTuple):
    """A screen: how one gets there, what must be on it and what must not."""

    name: str
    keys: str
    shown: tuple[str, ...]
    never: str = _POETRY


_DESK = (
    Look(
        "desk",
        "",
        (
            r"positions \$\d+,\d{3} incl\. \$[\d,]+ to collect(, \$[\d,]+ withdrawn)?  "
            r"value [+−]?\$[\d.,]+ in 24 h \(\$\d+ fees\)",
            r"VALUE +COLLECT +.*VS HOLD",
            r"#26 +WETH/USDC 0\.3% +(v4 +)?✗ out",
            r"→ #26 is out of range: no fees until it is back\.",
        ),
        never=f"{_POETRY}|earns nothing|Nothing needs you",
    ),
    Look("sorted and filtered", "o/weth", (r"by value", r"#35 +WETH/USDC"), r"#30 +USDC"),
    Look(
        "alerts",
        f"{_ESCAPE}2",
        (r"[✗▲] +((\d+|critical|warning) +)?#26", r"Worth collecting on \d+"),
    ),
    Look(
        "position",
        ":show 28\r",
        (r"BY DAY|VALUE|value", r"PRICE"),
    ),
    Look("range form", f"{_ESCAPE}:range 28\r", (r"low [\d,.]+", r"high [\d,.]+", r"stays 24 h")),
    Look("range form moved", _RIGHT * 3, (r"\+[\d.]+ %|−[\d.]+ %",)),
    Look(
        "a hook",
        f"{_ESCAPE}:recommend 36\r",
        (r"▌ SCOUT",),
        never=r"veto_all|\.\.(?!\.)",
    ),
    Look("why of a hook", " 4w", (r"★ .*#36", r"WHY", r"hook"), never=r"MOVE \d|\.\.(?!\.)"),
    Look("debate", "1:recommend 26\r", (r"3 Debate · position #26", r"▌ SCOUT")),
    Look(
        "plan",
        " 4w",
        (r"★ (Widen|Tighten|Shift) #26 to [\d,.]+ – [\d,.]+\.", r"A widen|A shift|A tighten"),
        never=r"MOVE \d|confidence|lasts at|HOLD · approve|\b0 widen",
    ),
    Look("every figure", "w", (r"WHY",)),
    Look("cursor elsewhere", f"w1{_DOWN}4", (r"This is for #26; the cursor is on #",)),
    Look(
        "approved",
        "1\x1b[A:approve\r",
        (r"APPROVED  Move position #26 to [\d,.]+ – [\d,.]+", r"you give", r"total cost"),
        never=rf"{_POETRY}|\d\.\d{{12}}",
    ),
    Look(
        "confirmation",
        ":apply\r",
        (r"Sign and send", r"you give|You give|position", r"TRANSACTIONS|STEPS"),
        never=rf"{_POETRY}|\d\.\d{{12}}|ticks? −?\d",
    ),
)
"""One desk, from the first screen to the page before the signature."""


@pytest.mark.soak
@pytest.mark.parametrize("size", _SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_what_the_desk_shows_where_newcomers_stumbled(
    size: tuple[int, int], tmp_path: Path
) -> None:
    environment = _newcomer(tmp_path)
    with Terminal([*_ZUNO, "demo", "--deterministic"], *size, environment) as desk:
        for look in _DESK:
            _go(desk, look, size)
        desk.read_page()
        _result(desk, size)
        for look in _asked_in_words():
            _go(desk, look, size)
        _in_another_shell(environment, size)
        _press(desk, f"{_ESCAPE}:quit\r")
        assert desk.end(_PATIENCE) == 0


def _newcomer(home: Path) -> dict[str, str]:
    """Nothing was ever set; only the demo's world need not be made again."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return {**_AS_PEOPLE, "HOME": str(home), "XDG_CACHE_HOME": cache}


def _result(desk: Terminal, size: tuple[int, int]) -> None:
    desk.answer("apply", r"Done", _PATIENCE)
    _go(desk, Look("result", "", (r"#26 → #39|#26 is now #39", r"ETH \(\$[\d.]+\)")), size)
    _go(
        desk,
        Look("desk afterwards", f"{_ESCAPE}{_ESCAPE}1", (r"#39 +WETH/USDC 0\.3% +(v4 +)?● in",)),
        size,
    )


def _asked_in_words() -> Iterator[Look]:
    yield Look("earned", ":how much did i earn this week\r", (r"FEES",))
    yield Look("price alert", f"{_ESCAPE}:alert ETH below 2500\r", (r"ETH below",))
    yield Look("portfolio", f"{_ESCAPE}:portfolio\r", (r"7 D", r"30 D", r"VS HOLD"))


def _in_another_shell(environment: dict[str, str], size: tuple[int, int]) -> None:
    for name, line, shown in (
        ("positions in another shell", "positions", r"28 +WETH/USDC"),
        ("a command mistyped", "positons", r"positions"),
        ("exit is no quit", 'say "exit 35" --dry-run', r"close 35"),
        ("half is not all", 'say "withdraw 50% from 28" --dry-run', r"decrease 28 50"),
    ):
        with Terminal([*_ZUNO, *shlex.split(line)], *size, environment) as shell:
            shell.end(_PATIENCE)
            text = shell.text
            _keep(shell, name, size)
        assert re.search(shown, text), text


@pytest.mark.soak
@pytest.mark.parametrize("size", _SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_broken_endpoint_is_one_card_and_no_all_clear(
    size: tuple[int, int], tmp_path: Path
) -> None:
    with Terminal([*_ZUNO], *size, _newcomer(tmp_path)) as first:
        for look in (
            Look("first run", "", (r"Welcome to zuno", r"Watch an address", r"Make a new key")),
            Look("first run, networks", f"{_DOWN}\r", (r"Which network",)),
        ):
            _go(first, look, size)
        first.send("\r")
        first.wait_for("Which endpoint", _PATIENCE)
        first.type("http://127.0.0.1:1/nope")
        _go(first, Look("first run, endpoint", "", (r"127\.0\.0\.1:1 is not reachable",)), size)
        first.send("\r")
        first.wait_for("Enter again", _PATIENCE)
        first.send("\r")
        first.wait_for("address", _PATIENCE)
        first.type(f"{_WALLET}\r")
        shown = (r"cannot be read", r"127\.0\.0\.1")
        _go(first, Look("outage", "", shown, never="Nothing needs you|none open"), size)


def _go(terminal: Terminal, look: Look, size: tuple[int, int]) -> None:
    _press(terminal, look.keys)
    for pattern in look.shown:
        terminal.wait_for(pattern, _PATIENCE)
    text = terminal.settle()
    _keep(terminal, look.name, size)
    assert not re.findall(look.never, text), f"{look.name}: {look.never}\n{text}"


def _press(terminal: Terminal, keys: str) -> None:
    """Key by key; a terminal takes what follows an escape at once for part of it."""
    for key in re.findall(r"\x1b\[[A-Z]|[\s\S]", keys):
        terminal.send(key)
        terminal.watch(0.5 if key == _ESCAPE else 0.08)


def _keep(terminal: Terminal, name: str, size: tuple[int, int]) -> None:
    if folder := os.environ.get("ZUNO_PICTURES"):
        path = Path(folder) / f"{name.replace(' ', '-').replace(',', '')}-{size[0]}x{size[1]}.png"
        save_terminal(terminal.screen, path)
