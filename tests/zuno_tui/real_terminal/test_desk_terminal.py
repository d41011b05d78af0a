"""The desk at a real terminal: it opens, it is typed at, it leaves no mess however it ends."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chain.devnet.launch import DevnetReady
from tests import node_rpc
from tests.zuno_tui.screen_terminal import Terminal

ZUNO = (sys.executable, "-m", "zuno_tui")
COLOURS = re.compile(rb"\x1b\[[0-9;]*(?:38|48);[25]")


def _desk(
    devnet: DevnetReady,
    home: Path,
    *flags: str,
    size: tuple[int, int] = (100, 30),
    **environment: str,
) -> Terminal:
    chosen = ("--network", "devnet", "--rpc", devnet.url, "--home", str(home), *flags)
    return Terminal([*ZUNO, *chosen], *size, {"ZUNO_DETERMINISTIC": "true", **environment})


def test_it_opens_is_typed_at_and_gives_the_terminal_back(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    with _desk(devnet, tmp_path / "home") as terminal:
        terminal.wait_for("Positions")
        terminal.wait_for("WETH/USDC")
        terminal.send(":help")
        terminal.wait_for("› help")
        terminal.send("\r")
        terminal.wait_for("Help · positions")
        terminal.send("\x1b")
        terminal.wait_gone("Help · positions")
        terminal.send(":")
        terminal.paste("inspect 7\nclose 7\n")
        terminal.wait_for("› inspect 7")
        terminal.wait_for("Only the first line")
        terminal.resize(80, 24)
        terminal.wait_for("2 Alerts")
        terminal.send("\x15quit\r")

        assert terminal.end() == 0
        assert terminal.restored()
    assert (tmp_path / "home" / "history").read_text("utf-8") == "help\nquit\n"
    assert b"\x1b[?1049l" in terminal.raw


def test_the_word_signs_when_fingers_type_it_and_not_before(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    taken = _ask(devnet, "evm_snapshot")
    counted = _sent_by_the_wallet(devnet)
    try:
        with _desk(devnet, tmp_path / "home", size=(120, 36)) as terminal:
            position = terminal.wait_for(r"#\d+ +\S+ .*● in")
            named = re.search(r"#(\d+) +\S+ .*● in", position)
            assert named is not None
            terminal.send(f":collect {named[1]}\r")
            terminal.wait_for("approved · e rehearses")
            terminal.send(":apply\r")
            terminal.wait_for("press Enter to sign")
            terminal.type("apply\r")
            terminal.wait_for("before the page could be read")
            terminal.read_page()
            terminal.paste("apply\r")
            terminal.wait_for("That was pasted, and ignored")
            terminal.send("\r")
            terminal.wait_for("That was not the word apply")
            terminal.send("ap")
            terminal.watch(0.07)
            terminal.send("ply\r")
            terminal.wait_for("That was pasted, and ignored")
            assert _sent_by_the_wallet(devnet) == counted

            terminal.send("\r")
            terminal.wait_for("That was not the word apply")
            screen = terminal.answer("apply", r"Done\. escape goes back")
            assert re.search(r"Done · .*[\s\S]*1 OF 1 DONE  block \d", screen)
            terminal.send("\x1b")
            terminal.wait_for(r"Done · ")
            terminal.send("\x11")
            assert terminal.end() == 0
        assert _sent_by_the_wallet(devnet) == counted + 1
    finally:
        node_rpc.take_back(devnet.url, taken)


@pytest.mark.soak
def test_what_was_typed_ahead_of_the_confirmation_signs_nothing(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    counted = _sent_by_the_wallet(devnet)
    with _desk(devnet, tmp_path / "home", size=(120, 36)) as terminal:
        position = terminal.wait_for(r"#\d+ +\S+ .*● in")
        named = re.search(r"#(\d+) +\S+ .*● in", position)
        assert named is not None
        terminal.send(f":collect {named[1]}\r")
        terminal.wait_for("approved · e rehearses")
        terminal.send(":apply\rapply\r")
        terminal.wait_for("Sign and send")
        terminal.read_page()
        terminal.send("\r")
        terminal.wait_for("That was not the word apply")
        terminal.send("\x1b")
        terminal.wait_for("1 Positions")
        terminal.send("\x11")
        assert terminal.end() == 0

    assert _sent_by_the_wallet(devnet) == counted


def test_without_colour_and_in_plain_characters_until_it_is_asked_to_end(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    with _desk(devnet, home, "--ascii", NO_COLOR="1") as terminal:
        screen = terminal.wait_for("WETH/USDC")
        terminal.process.send_signal(signal.SIGTERM)

        assert terminal.end() == 128 + signal.SIGTERM
        assert terminal.restored()
    assert [path.name for path in home.iterdir() if path.suffix == ".tmp"] == []
    assert (home / "desk.log").stat().st_mode & 0o777 == 0o600
    assert screen.isascii(), [character for character in screen if not character.isascii()]
    assert COLOURS.search(terminal.raw) is None
    assert re.search(rb"\x1b\[(?:\d+;)*2(?:;\d+)*m", terminal.raw), "what is quiet is dim"


def test_an_unknown_theme_is_refused_before_anything_is_drawn(
    devnet: DevnetReady, tmp_path: Path
) -> None:
    with _desk(devnet, tmp_path / "home", "--theme", "pink") as terminal:
        assert terminal.end() == 2
        assert "There is no theme called 'pink'. There are: zuno-dark" in terminal.text
        assert terminal.restored()


def test_without_a_terminal_it_says_how_to_get_one() -> None:
    done = subprocess.run(ZUNO, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert done.stdout == ""
    assert "ssh -t host zuno" in done.stderr
    assert "zuno positions --json" in done.stderr


def test_the_first_time_it_asks_how_to_begin(tmp_path: Path) -> None:
    unset = {"ZUNO_HOME": str(tmp_path / "home"), "ZUNO_NETWORK": "", "ZUNO_ADDRESS": ""}
    with Terminal(ZUNO, 80, 24, {**unset, "ZUNO_RPC": ""}) as terminal:
        terminal.wait_for("Welcome to zuno")
        terminal.wait_for("Look around in the demo")
        terminal.send("\x1b")

        assert terminal.end() == 0
        assert terminal.restored()
    assert not (tmp_path / "home" / "settings.toml").exists()


@pytest.mark.parametrize("kind", ["dumb", ""])
def test_a_terminal_that_cannot_draw_is_refused(kind: str) -> None:
    with Terminal(ZUNO, 80, 24, {"TERM": kind}) as terminal:
        assert terminal.end() == 2
        assert "cannot draw the desk" in terminal.text.replace("\n", " ")
        assert b"\x1b" not in terminal.raw


CRASHING = """
import sys
from pathlib import Path
from zuno_tui.screen.app.app import ZunoApp
from zuno_tui.screen.app.running import open_log

class Nobody:
    def ask(self, intent): ...
    def confirm(self, approval_hash, word, passphrase): ...
    def close(self): ...

def fail():
    secret = "PRIVATE" + "_KEY_0xabc"
    raise ValueError(f"at https://rpc.example/{secret}")

app = ZunoApp(Nobody(), after_first_paint=fail)
if open_log(Path(sys.argv[1])) is not None:
    app.log_path = Path(sys.argv[1])
app.run(mouse=False)
sys.exit(app.return_code)
"""


def test_a_crash_is_one_page_without_a_value_on_it(tmp_path: Path) -> None:
    log = tmp_path / "desk.log"
    with Terminal([sys.executable, "-c", CRASHING, str(log)], 100, 40) as terminal:
        assert terminal.end() == 1
        assert terminal.restored()
        page = terminal.text
    everything = terminal.raw.decode("utf-8", "replace") + log.read_text("utf-8")

    assert "zuno hit an internal error (ValueError)" in page
    assert str(log) in page.replace("\n", "")
    assert "PRIVATE_KEY" not in everything
    assert "rpc.example" not in everything
    assert "Traceback" not in page
    assert "fail" in log.read_text("utf-8")


def test_a_crash_with_no_log_to_write_prints_no_more(tmp_path: Path) -> None:
    with Terminal([sys.executable, "-c", CRASHING, str(tmp_path)], 100, 40) as terminal:
        assert terminal.end() == 1
        page = terminal.text

    assert "zuno hit an internal error (ValueError)" in page
    assert "is written in" not in page
    assert b"PRIVATE_KEY" not in terminal.raw
    assert "Traceback" not in page


@pytest.mark.soak
def test_the_demo_takes_its_chain_along_when_it_ends(tmp_path: Path) -> None:
    with Terminal([*ZUNO, "demo"], 120, 36, {"TMPDIR": str(tmp_path)}) as terminal:
        terminal.wait_for("Starting the embedded chain")
        terminal.wait_for("WETH/USDC", 120)
        children = _children(terminal.process.pid)
        assert children
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 128 + signal.SIGTERM

    assert not any(Path(f"/proc/{child}").exists() for child in children)
    assert list(tmp_path.iterdir()) == []


def _children(pid: int) -> list[int]:
    """Those of every thread: the back room starts the chain."""
    listed = (path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return [int(child) for text in listed for child in text.split()]


def _ask(devnet: DevnetReady, method: str, *params: object) -> str:
    return str(node_rpc.ask(devnet.url, method, *params))


def _sent_by_the_wallet(devnet: DevnetReady) -> int:
    return int(_ask(devnet, "eth_getTransactionCount", devnet.wallet, "latest"), 16)
