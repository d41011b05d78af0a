"""Hostile text from chain, model and node through every pane and screen, read back in bytes."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chain.contracts.addresses import checksum
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET, WIDE_PROVIDER
from tests import node_rpc
from tests.fakes.model_endpoint import says
from tests.fakes.model_in_a_thread import model_in_a_thread
from tests.fakes.proxy import Answer, Call, Proxy
from tests.zuno_tui.gate.hostile_world import LIQUIDITY, hostile_world, pool_with_weth
from tests.zuno_tui.real_terminal.byte_stream import foreign
from tests.zuno_tui.real_terminal.hostile_text import (
    COMPLAINT,
    CONTROLS,
    EVIL_ADDRESS,
    MARKUP,
    SYMBOLS,
    hostile,
    rename,
)
from tests.zuno_tui.screen_terminal import Terminal

PATIENCE = 60.0
_FAR_ABOVE = (12_000, 18_000)
_ZUNO = (sys.executable, "-m", "zuno_tui", "--network", "devnet")


@pytest.fixture
def named_badly(devnet: DevnetReady) -> Iterator[int]:
    """A position out of its range, so that alerts tell of it, in a pool with such a name."""
    with hostile_world(devnet) as world:
        for token, symbol in zip(world.tokens.values(), SYMBOLS, strict=True):
            rename(world.moves, token, symbol)
        pool = pool_with_weth(world.tokens["fake"])
        (token_id,) = world.moves.mint(
            WIDE_PROVIDER, pool, [_FAR_ABOVE], LIQUIDITY, DEMO_WALLET.address
        )
        yield token_id


def test_names_and_prose_are_words_and_nothing_else(
    devnet: DevnetReady, named_badly: int, tmp_path: Path
) -> None:
    argv = [*_ZUNO, "--rpc", devnet.url, "--home", str(tmp_path)]
    with (
        model_in_a_thread(says(hostile, size=400)) as model,
        Terminal(argv, 160, 44, model) as terminal,
    ):
        desk = _Walk(terminal)
        desk.sees(rf"#{named_badly} ")
        desk.sees(rf"(critical|✗) +#{named_badly} ")
        desk.types(
            f"recommend {named_badly}",
            "nothing to sign|to collect: type|a: approve|a, Enter: approve",
        )
        desk.presses("3", "z", "s", "f")
        desk.presses("f", "z")
        desk.types("why", "Debate · why .*ended")
        desk.types("diff", "nothing to sign|the old range|→")
        for phrase in ("balances", "pools", f"inspect {named_badly}"):
            desk.visits(phrase)
        desk.visits("records")
        # About a pool without a price no model is asked: its prose is about another position.
        argued = _argued(devnet)
        desk.types(f"recommend {argued}", rf"✓ .*#{argued} is ready")
        desk.presses("3", "z")
        desk.sees(re.escape(MARKUP[0]))
        desk.presses("z")
        desk.types(f"collect {named_badly}", "approved · e rehearses")
        desk.types("apply", "Sign and send")
        confirming = desk.seen[-1]
        desk.presses("\x1b")
        desk.visits("outbox")
        terminal.send("\x11")
        assert terminal.end() == 0

    everything = "\n".join(desk.seen)
    assert foreign(bytes(terminal.raw)) == []
    assert _recipients(confirming) == [checksum(devnet.wallet)]
    assert "[@click=app.quit]" in everything, "markup is shown as the words it is"
    assert MARKUP[0] in everything
    assert "met a fault of its own" not in everything


def test_what_a_node_complains_of_is_words_and_nothing_else(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    complaining = False

    def answer(call: Call) -> Answer | None:
        if complaining and call["method"] != "eth_chainId":
            return {"error": {"code": -32000, "message": COMPLAINT}}
        return None

    with (
        Proxy(devnet.url, answer) as proxy,
        Terminal(
            [*_ZUNO, "--deterministic", "--rpc", proxy.url, "--home", str(tmp_path)], 120, 36
        ) as terminal,
    ):
        desk = _Walk(terminal)
        named = re.search(r"#(\d+) +WETH/USDC", desk.sees(r"#\d+ +WETH/USDC"))
        assert named is not None
        desk.sees(r"▲ +(warning|#|\d)")
        complaining = True
        desk.presses("\x12")
        desk.sees("refused: .*recipient")
        for phrase in (f"recommend {named[1]}", f"collect {named[1]}", f"inspect {named[1]}"):
            desk.types(phrase, "✗ ")
        desk.visits("doctor")
        terminal.send("\x11")
        assert terminal.end() == 0

    assert foreign(bytes(terminal.raw)) == []
    assert "met a fault of its own" not in "\n".join(desk.seen)


def test_the_reading_of_bytes_finds_each_of_them() -> None:
    own = b"\x1b[?1049h\x1b[1;1H\x1b[38;2;1;2;3mPositions\x1b[0m\r\n"

    assert foreign(own) == []
    for control in (*CONTROLS, "\x07"):
        assert foreign(own + control.encode()), repr(control)


class _Walk:
    """A person's way through the screens; every screen on it is kept."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self.seen: list[str] = []

    def sees(self, pattern: str) -> str:
        self._terminal.wait_for(pattern, PATIENCE)
        return self._look()

    def types(self, phrase: str, pattern: str) -> None:
        self._terminal.send(f":{phrase}\r")
        self.sees(pattern)

    def presses(self, *keys: str) -> None:
        for key in keys:
            self._terminal.send(key)
            self._look()

    def visits(self, phrase: str) -> None:
        """A screen of its own, and back."""
        self._terminal.send(f":{phrase}\r")
        self._terminal.wait_gone("1 Positions", PATIENCE)
        self._look()
        self._terminal.send("\x1b")
        self._terminal.wait_for("1 Positions", PATIENCE)

    def _look(self) -> str:
        self.seen.append(self._terminal.settle(quiet=0.2, seconds=3.0))
        return self.seen[-1]


def _argued(devnet: DevnetReady) -> int:
    """A position that a model is asked about."""
    found: dict[str, int] = node_rpc.ask(devnet.url, "zuno_status")["positions"]
    return found["above its range"]


def _recipients(screen: str) -> list[str]:
    """Whom the confirmation names under its frame, and anywhere that looks like it."""
    assert EVIL_ADDRESS not in screen.rpartition("┗")[2]
    return re.findall(r"^ *recipient +(\S+)", screen, re.MULTILINE)
