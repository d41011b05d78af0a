"""What fails around the desk, as it looks there: a calm line, a next step, and it goes on."""

import resource
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from chain.base.home import Home
from chain.contracts.abi import encode_call
from chain.contracts.networks import network_named
from chain.devnet.launch import DevnetReady
from chain.devnet.world.accounts import DEMO_WALLET
from chain.wallet.address_book import KeyStorage, Wallet, change_book
from tests.chain.moves import Moves
from tests.chain.wallet.canary import ADDRESS
from tests.fakes.model_endpoint import fails
from tests.fakes.model_in_a_thread import model_in_a_thread
from tests.fakes.proxy import Answer, Call, Proxy
from tests.waiting import pauses
from tests.zuno_tui.desktop_session import desktop_session, require_gnome_keyring
from tests.zuno_tui.real_terminal.conftest import Node
from tests.zuno_tui.screen_terminal import Terminal

PATIENCE = 60.0
"""A letter stands at the prompt well before a slow node answers, on a busy machine too."""


def _desk(
    home: Path, url: str, *before: str, environment: Mapping[str, str] | None = None
) -> Terminal:
    flags = ("--network", "devnet", "--rpc", url, "--home", str(home))
    argv = [*before, sys.executable, "-m", "zuno_tui", *flags]
    return Terminal(argv, 120, 36, environment or {"ZUNO_DETERMINISTIC": "true"})


def _until(terminal: Terminal, holds: Callable[[], bool], what: str) -> None:
    """The words of a screen and their colours may be drawn a moment apart."""
    for _ in pauses(what):
        if holds():
            break
        terminal.settle()


def _goes_on(terminal: Terminal) -> None:
    """It answers, and it leaves when it is asked to."""
    terminal.send("\x1b")
    terminal.settle()
    terminal.send("?")
    terminal.wait_for("Help", PATIENCE)
    terminal.send("\x1b")
    terminal.wait_for("1 Positions", PATIENCE)
    terminal.send("\x11")
    assert terminal.end() == 0
    assert terminal.restored()


def test_a_node_that_is_slow_gone_back_again_and_another(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    row = f"#{node('zuno_status')['positions']['healthy']} "
    fault, released = "", threading.Event()

    def answer(call: Call) -> Answer | None:
        if fault == "slow":
            released.wait()
        elsewhere = fault == "elsewhere" and call["method"] == "eth_chainId"
        return {"result": "0x1"} if elsewhere else None

    with Proxy(devnet.url, answer) as proxy:
        with _desk(tmp_path, proxy.url) as terminal:
            terminal.wait_for(row, PATIENCE)
            terminal.wait_for(r"▲ +(warning|#|\d)", PATIENCE)
            fresh = terminal.ink(row.strip())
            fault = "slow"
            terminal.send("\x12:")
            terminal.send("insp")
            terminal.wait_for("› insp", PATIENCE)
            released.set()
            terminal.send("\x15\x1b")
            terminal.settle()
            fault = ""
            proxy.__exit__(None, None, None)
            terminal.send("\x12")
            down = terminal.wait_for("cannot be read", PATIENCE)
            # What is under way just then is broken off; who asks a moment later finds nobody.
            assert "is not reachable" in down or "broke the connection off" in down
            terminal.wait_for(row, PATIENCE)
            _until(terminal, lambda: terminal.ink(row.strip()) != fresh, "what is old is greyed")
            with proxy:
                terminal.send("\x12")
                terminal.wait_for("is being read again", PATIENCE)
                terminal.wait_gone("cannot be read", PATIENCE)
                _until(terminal, lambda: terminal.ink(row.strip()) == fresh, "what is new is not")
                _goes_on(terminal)
        fault = "elsewhere"
        with proxy, _desk(tmp_path, proxy.url) as terminal:
            terminal.wait_for("The RPC answered for chain 1", PATIENCE)
            terminal.wait_for(row, PATIENCE)  # what is remembered stays
            terminal.wait_for("remembered", PATIENCE)
            _goes_on(terminal)


def test_a_model_that_is_down_leaves_the_rules_speaking(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = node("zuno_status")["positions"]["healthy"]
    with (
        model_in_a_thread(fails(503)) as model,
        _desk(tmp_path, devnet.url, environment=model) as terminal,
    ):
        terminal.wait_for(f"#{token_id} ", PATIENCE)
        terminal.send(f":recommend {token_id}\r")
        terminal.wait_for("The rules speak instead", PATIENCE)
        terminal.wait_for("nothing to sign|to collect: type|a: approve|a, Enter: approve", PATIENCE)
        _goes_on(terminal)


def test_a_disk_that_fills_up_and_is_cleared(
    devnet: DevnetReady, node: Node, tmp_path: Path
) -> None:
    token_id = node("zuno_status")["positions"]["healthy"]
    with _desk(tmp_path, devnet.url) as terminal:
        terminal.wait_for(f"#{token_id} ", PATIENCE)
        terminal.wait_for(r"▲ +(warning|#|\d)", PATIENCE)
        _let_files_grow(terminal, to=0)
        terminal.send(f":collect {token_id}\r")
        full = terminal.wait_for("(?i)✗ .*disk", PATIENCE)
        assert f"#{token_id} " in full
        _let_files_grow(terminal, to=resource.RLIM_INFINITY)
        terminal.send(f":collect {token_id}\r")
        terminal.wait_for("approved · e rehearses", PATIENCE)
        _goes_on(terminal)


def _let_files_grow(terminal: Terminal, *, to: int) -> None:
    """That no file may grow is what a full disk comes to, for this one program."""
    most = resource.prlimit(terminal.process.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(terminal.process.pid, resource.RLIMIT_FSIZE, (to, most))


@pytest.mark.soak
def test_a_keyring_that_is_locked_signs_nothing_and_says_so(
    devnet: DevnetReady, node: Node, moves: Moves, tmp_path: Path
) -> None:
    require_gnome_keyring()
    token_id = int(node("zuno_status")["positions"]["transferred in"])
    given = encode_call(
        "transferFrom(address,address,uint256)", DEMO_WALLET.address, ADDRESS, token_id
    )
    moves.send(DEMO_WALLET, network_named("devnet").contracts.position_manager, given)
    node("anvil_setBalance", ADDRESS, hex(10**18))
    home = tmp_path / "zuno"
    wallet = Wallet(ADDRESS, "wallet-1", KeyStorage.KEYRING)
    change_book(Home(home, home).keystore, lambda book: book.with_wallet(wallet))
    with desktop_session(tmp_path, unlock=None) as session:
        environment = {**session.environment, "ZUNO_DETERMINISTIC": "true"}
        with _desk(home, devnet.url, environment=environment) as terminal:
            terminal.wait_for(f"#{token_id} ", PATIENCE)
            terminal.send(f":collect {token_id}\r")
            terminal.wait_for("approved · e rehearses", PATIENCE)
            terminal.send(":apply\r")
            terminal.wait_for("wallet-1, in the system's keyring", PATIENCE)
            terminal.wait_for("type apply", PATIENCE)
            terminal.read_page()
            terminal.answer("apply", "Secret Service is locked", PATIENCE)
            terminal.send("\x1b")
            terminal.wait_for("1 Positions", PATIENCE)
            _goes_on(terminal)
    assert int(node("eth_getTransactionCount", ADDRESS, "latest"), 16) == 0
