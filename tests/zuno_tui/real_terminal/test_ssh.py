"""The desk over real SSH: cut off in the middle of an apply."""

import shlex
import sys
from pathlib import Path

from chain.devnet.launch import DevnetReady
from tests.zuno_tui.conftest import CommandLine
from tests.zuno_tui.real_terminal.conftest import Node
from tests.zuno_tui.real_terminal.ssh_server import SshServer
from tests.zuno_tui.screen_terminal import Terminal

PATIENCE = 60.0
"""Seconds: everything here passes two terminals and a cipher, beside whatever else is tested."""


def _login(server: SshServer, devnet: DevnetReady, home: Path) -> Terminal:
    desk = (sys.executable, "-m", "zuno_tui", "--deterministic", "--home", str(home))
    chosen = ("--network", "devnet", "--rpc", devnet.url)
    return Terminal(server.client(shlex.join((*desk, *chosen))), 120, 36)


def test_a_line_cut_in_the_middle_of_an_apply_has_one_effect(
    server: SshServer, devnet: DevnetReady, node: Node, zuno: CommandLine
) -> None:
    token_id = node("zuno_status")["positions"]["healthy"]
    counted = _sent(node, devnet)
    flags = ("--network", "devnet", "--rpc", devnet.url)
    with _login(server, devnet, zuno.home) as terminal:
        terminal.wait_for(rf"#{token_id} ", PATIENCE)
        node("evm_setAutomine", False)
        terminal.send(f":collect {token_id}\r")
        terminal.wait_for("approved · e rehearses", PATIENCE)
        terminal.send(":apply\r")
        terminal.wait_for("Sign and send", PATIENCE)
        terminal.read_page()
        terminal.answer("apply", r"⟳ 1 .* sent", PATIENCE)
        terminal.process.kill()
        server.sessions[0].process.wait(PATIENCE)

    assert _told(zuno, flags) == ["sent"]
    assert _sent(node, devnet) == counted
    with _login(server, devnet, zuno.home) as again:
        again.wait_for("See: outbox", PATIENCE)
        again.send(":apply\r")
        again.wait_for("was applied before. Nothing was sent now", PATIENCE)
        again.send(":outbox\r")
        again.wait_for("Outbox", PATIENCE)
        again.wait_for("sent", PATIENCE)
        node("evm_mine")
        again.send("\x1b")
        again.wait_for("1 Positions", PATIENCE)
        again.send(":outbox\r")
        again.wait_for("included", PATIENCE)
        again.send("\x11")
        assert again.end() == 0
    node("evm_mine")
    assert _told(zuno, flags) == ["included"]
    assert _sent(node, devnet) == counted + 1


def _told(zuno: CommandLine, flags: tuple[str, ...]) -> list[str]:
    """How every plan stands, by the command that a person asks after a broken line."""
    spoken = zuno("outbox", *flags, "--json")
    assert spoken.code == 0, spoken.words
    return [one["state"] for one in spoken.data["dispatches"]]


def _sent(node: Node, devnet: DevnetReady) -> int:
    return int(node("eth_getTransactionCount", devnet.wallet, "latest"), 16)
