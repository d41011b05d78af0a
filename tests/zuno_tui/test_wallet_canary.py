"""A canary key and passphrase go through every command, with crashes; nobody gets to see them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chain.wallet.keystore_file import write_keystore
from chain.wallet.secrets import Passphrase, PrivateKey
from tests.chain.wallet.canary import KEY, KEY_TEXT, PASSPHRASE, seen_in, seen_under
from tests.zuno_tui.loud_python import loud_environment, seen_at_terminal
from tests.zuno_tui.terminal import Terminal

_QUESTIONS = (
    ("(not shown): ", KEY_TEXT),
    ("New passphrase: ", PASSPHRASE),
    ("The same again: ", PASSPHRASE),
)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**loud_environment(tmp_path), "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}


def test_neither_key_nor_passphrase_is_seen_when_all_goes_well(
    environment: dict[str, str], tmp_path: Path
) -> None:
    terminal = Terminal.run_afresh(("wallet", "import", "--json"), environment)
    for question, typed in _QUESTIONS:
        terminal.answer(question, typed)
    code, out, words = terminal.end()

    assert code == 0, words
    assert b"zuno_tui\0wallet\0import" in terminal.process_records
    # Guarded, it shows its environment to nobody but root.
    assert (b"LOUD_LOG=" in terminal.process_records) == (os.getuid() == 0)
    assert seen_at_terminal(terminal, out, words) == []
    assert (tmp_path / "loud.log").exists()
    assert seen_under(tmp_path) == []


@pytest.mark.parametrize(
    "place",
    [
        "chain.wallet.secrets.address_of",
        pytest.param("eth_keyfile.keyfile.create_keyfile_json", marks=pytest.mark.soak),
        "chain.wallet.keystore.write_keystore",
        pytest.param("chain.wallet.keystore.change_book", marks=pytest.mark.soak),
    ],
)
def test_neither_is_seen_when_something_crashes(
    place: str, environment: dict[str, str], tmp_path: Path
) -> None:
    terminal = Terminal.run_afresh(("wallet", "import"), {**environment, "CRASH_AT": place})
    for question, typed in _QUESTIONS if "address_of" not in place else _QUESTIONS[:1]:
        terminal.answer(question, typed)
    code, out, words = terminal.end()

    assert code == 1
    assert "RuntimeError" in words
    assert seen_at_terminal(terminal, out, words) == []
    assert seen_under(tmp_path) == []


def test_neither_is_seen_when_opening_crashes(environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "brought.json"
    write_keystore(file, PrivateKey(KEY), Passphrase.from_text(PASSPHRASE), cost=2**12)
    crashing = {**environment, "CRASH_AT": "eth_keyfile.keyfile.decode_keyfile_json"}

    terminal = Terminal.run_afresh(("wallet", "import", "--keystore", str(file)), crashing)
    terminal.answer("Passphrase of brought.json: ", PASSPHRASE)
    code, out, words = terminal.end()

    assert code == 1
    assert seen_at_terminal(terminal, out, words) == []
    assert seen_under(tmp_path) == []


def test_the_canary_would_be_found(environment: dict[str, str], tmp_path: Path) -> None:
    """The search itself works: a command that crashes with the key in its words is caught."""
    told = f"import eth_keyfile.keyfile as k; k.create_keyfile_json(bytes.fromhex('{KEY_TEXT}'))"
    done = subprocess.run(
        [sys.executable, "-c", told],
        env={**environment, "CRASH_AT": "eth_keyfile.keyfile.create_keyfile_json"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "the key in hex" in seen_in(done.stderr.rpartition("RuntimeError")[2])
    (tmp_path / "left").write_bytes(b"..." + KEY + b"...")
    assert [path.name for path, _ in seen_under(tmp_path)] == ["left"]
