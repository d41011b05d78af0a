"""A wallet's key in a real keyring, and where it must not be seen."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chain.wallet.address_book import read_book
from chain.wallet.keystore_file import keystore_path, write_keystore
from chain.wallet.secrets import Passphrase, PrivateKey
from tests.chain.wallet.canary import ADDRESS, KEY, KEY_TEXT, PASSPHRASE, seen_in, seen_under
from tests.zuno_tui.conftest import Spoken
from tests.zuno_tui.desktop_session import DesktopSession, desktop_session, require_gnome_keyring
from tests.zuno_tui.loud_python import loud_environment, seen_at_terminal
from tests.zuno_tui.terminal import Terminal

LOGIN = "login-passphrase"
_ASK_WITH_PATIENCE = """
from chain.wallet.errors import KeyringUnusableError
from chain.wallet.keyring_store import find_keyring
try:
    find_keyring(seconds=1.0)
except KeyringUnusableError as error:
    print(error)
"""


def at(
    session: DesktopSession, home: Path, *arguments: str, answers: tuple[tuple[str, str], ...] = ()
) -> Spoken:
    terminal = Terminal.run(
        ("wallet", *arguments), {**session.environment, "ZUNO_HOME": str(home / "zuno")}
    )
    for question, typed in answers:
        terminal.answer(question, typed)
    return Spoken(*terminal.end())


def test_a_key_lives_in_a_real_keyring_from_session_to_session(tmp_path: Path) -> None:
    require_gnome_keyring()
    with desktop_session(tmp_path, unlock=LOGIN) as session:
        kept = at(session, tmp_path, "import", "--json", answers=(("(not shown): ", KEY_TEXT),))
        assert kept.code == 0, kept.words
        stored = {name: kept.data[name] for name in ("address", "store", "place", "why")}
        assert stored == {
            "address": ADDRESS,
            "store": "keyring",
            "place": "Secret Service",
            "why": None,
        }
        assert not keystore_path(tmp_path / "zuno" / "keystore", ADDRESS).exists()

    with desktop_session(tmp_path, unlock=LOGIN) as session:
        opened = at(session, tmp_path, "check", "wallet-1")
        assert opened.code == 0, opened.words
        assert "its key is in the keyring and matches its address" in opened.words

    for passphrase in ("not-the-login-passphrase", None):
        with desktop_session(tmp_path, unlock=passphrase) as session:
            locked = at(session, tmp_path, "check", "wallet-1")
            assert locked.code == 1
            assert "Secret Service is locked. The key is kept there: unlock" in locked.words

    with desktop_session(tmp_path, unlock=LOGIN) as session:
        removed = at(
            session, tmp_path, "remove", "wallet-1", answers=(("to remove it: ", "wallet-1"),)
        )
        assert removed.code == 0, removed.words
        again = at(session, tmp_path, "import", "--json", answers=(("(not shown): ", KEY_TEXT),))
        assert again.data["store"] == "keyring"

    assert seen_under(tmp_path) == []
    assert seen_in(kept.words + opened.words + locked.words + again.words) == []


def test_a_locked_keyring_is_said_before_a_file_is_used(tmp_path: Path) -> None:
    require_gnome_keyring()
    with desktop_session(tmp_path, unlock=LOGIN):
        pass
    with desktop_session(tmp_path, unlock=None) as session:
        insisted = at(session, tmp_path, "new", "--store", "keyring")
        kept = at(
            session,
            tmp_path,
            "new",
            "--json",
            answers=(("New passphrase: ", PASSPHRASE), ("The same again: ", PASSPHRASE)),
        )

    assert insisted.code == 1
    assert "Nothing was kept. Unlock or start it, or choose --store file." in insisted.words
    assert (kept.data["store"], kept.data["name"]) == ("keystore file", "wallet-1")
    assert "locked" in kept.data["why"]
    assert f"{kept.data['why']} The key goes into a file" in kept.words


def test_a_keyring_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    require_gnome_keyring()
    with desktop_session(tmp_path, unlock=LOGIN) as session:
        os.kill(session.keyring.pid, signal.SIGSTOP)
        done = subprocess.run(
            [sys.executable, "-c", _ASK_WITH_PATIENCE],
            env={**session.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )

    assert "did not answer within 1 s" in done.stdout, done.stderr


_PLAINTEXT = '''
from pathlib import Path
from keyring.backend import KeyringBackend

class Keyring(KeyringBackend):
    """Keeps what it is given for everybody to read."""
    priority = 9
    def set_password(self, service, username, password):
        Path(__file__).with_name("plain.txt").write_text(password)
    def get_password(self, service, username):
        path = Path(__file__).with_name("plain.txt")
        return path.read_text() if path.exists() else None
    def delete_password(self, service, username):
        pass
'''


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        ("keyring.backends.null.Keyring", "is not one that zuno trusts"),
        ("plaintext.SecretService.Keyring", "is not one that zuno trusts"),
        ("no.such.Keyring", "cannot be used (ModuleNotFoundError)"),
    ],
)
def test_a_keyring_that_does_not_encrypt_is_refused(
    backend: str, said: str, tmp_path: Path
) -> None:
    package = tmp_path / "package" / "plaintext"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "SecretService.py").write_text(_PLAINTEXT)
    key = tmp_path / "key"
    key.touch(0o600)
    key.write_text(KEY_TEXT)

    bring = ("wallet", "import", "--store", "keyring", "--unsafe-key-file")
    done = subprocess.run(
        [sys.executable, "-m", "zuno_tui", *bring, str(key)],
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "ZUNO_HOME": str(tmp_path / "zuno"),
            "PYTHONPATH": os.pathsep.join([str(package.parent), *filter(None, sys.path)]),
            "PYTHON_KEYRING_BACKEND": backend,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert said in done.stderr
    assert "Nothing was kept" in done.stderr
    assert read_book(tmp_path / "zuno" / "keystore").wallets == ()
    key.unlink()
    assert seen_under(tmp_path) == []


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
