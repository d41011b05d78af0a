"""`zuno wallet` at a terminal and without one, on a machine that has no keyring."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from chain.base.home import Home
from chain.devnet.launch import DevnetReady
from chain.wallet.address_book import KeyStorage, Wallet, change_book, read_book
from chain.wallet.keystore_file import keystore_path, read_keystore, write_keystore
from chain.wallet.secrets import Passphrase, PrivateKey
from tests.chain.wallet.canary import ADDRESS, KEY, KEY_TEXT, PASSPHRASE
from tests.fork_server import fork_server
from tests.zuno_tui.conftest import Spoken
from tests.zuno_tui.terminal import Terminal
from zuno_tui.cli import main

WATCHED = "0x00000000219ab540356cbb839cbe05303d7705fa"
OTHER = "0x" + "77" * 20


@dataclass(frozen=True)
class Person:
    """Somebody with a home of their own and no keyring."""

    folder: Path

    @property
    def home(self) -> Home:
        return Home(self.folder / "zuno", self.folder / "cache")

    def environment(self, **more: str) -> dict[str, str]:
        return {
            **os.environ,
            "HOME": str(self.folder),
            "ZUNO_HOME": str(self.home.root),
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent",
            **more,
        }

    def types(self, *arguments: str, answers: tuple[tuple[str, str], ...] = ()) -> Spoken:
        terminal = Terminal.run(("wallet", *arguments), self.environment())
        for question, typed in answers:
            terminal.answer(question, typed)
        return Spoken(*terminal.end())

    def runs(self, *arguments: str, **environment: str) -> Spoken:
        """Without a terminal."""
        done = fork_server().run(
            "zuno_tui", *arguments, environment=self.environment(**environment)
        )
        return Spoken(done.returncode, done.stdout, done.stderr)

    def secret_file(self, name: str, content: str, mode: int = 0o600) -> str:
        path = self.folder / name
        path.touch()
        path.chmod(mode)
        path.write_text(content)
        return str(path)

    def has_a_wallet(self) -> Path:
        """With a light key derivation, for tests that are not about it."""
        path = keystore_path(self.home.keystore, ADDRESS)
        write_keystore(path, PrivateKey(KEY), Passphrase.from_text(PASSPHRASE), cost=2**12)
        mine = Wallet(ADDRESS, "mine", KeyStorage.FILE)
        change_book(self.home.keystore, lambda book: book.with_wallet(mine))
        return path

    def watches(self, address: str, name: str) -> None:
        watched = Wallet(address, name, KeyStorage.NOWHERE)
        change_book(self.home.keystore, lambda book: book.with_wallet(watched))


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_a_typed_key_goes_into_an_encrypted_file_and_comes_out_with_its_passphrase(
    person: Person,
) -> None:
    kept = person.types(
        "import",
        "--json",
        answers=(
            ("Private key (not shown): ", KEY_TEXT),
            ("New passphrase: ", PASSPHRASE),
            ("The same again: ", PASSPHRASE),
        ),
    )

    assert kept.code == 0, kept.words
    assert "This system has no keyring that answers. The key goes into a file" in kept.words
    assert kept.data == {
        "address": ADDRESS,
        "name": "wallet-1",
        "store": "keystore file",
        "watchOnly": False,
        "current": True,
        "place": str(keystore_path(person.home.keystore, ADDRESS)),
        "why": "This system has no keyring that answers.",
    }
    file = keystore_path(person.home.keystore, ADDRESS)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_bytes())["crypto"]["kdfparams"]["n"] >= 2**16
    opened = person.types("check", "wallet-1", answers=(("Passphrase of wallet-1: ", PASSPHRASE),))
    assert opened.code == 0, opened.words
    assert "its key is in the keystore file and matches its address" in opened.words


def test_a_slip_in_the_new_passphrase_locks_no_key_away(person: Person) -> None:
    slip = (("New passphrase: ", PASSPHRASE), ("The same again: ", PASSPHRASE + "x"))

    kept = person.types("new", answers=slip * 3)

    assert kept.code == 1
    assert kept.words.count("The two differ.") == 3
    assert "No passphrase was set. Nothing was kept." in kept.words
    assert read_book(person.home.keystore).wallets == ()


def test_a_short_passphrase_keeps_nothing(person: Person) -> None:
    kept = person.types("new", answers=(("New passphrase: ", "short"),))

    assert kept.code == 1
    assert "too short" in kept.words
    assert read_book(person.home.keystore).wallets == ()
    assert list(person.home.keystore.glob("0x*")) == []


def test_a_keystore_comes_in_without_a_terminal(person: Person, tmp_path: Path) -> None:
    brought = tmp_path / "brought.json"
    write_keystore(brought, PrivateKey(KEY), Passphrase.from_text(PASSPHRASE), cost=2**12)
    passphrase = person.secret_file("passphrase", PASSPHRASE + "\n")

    kept = person.runs(
        "wallet", "import", "--keystore", str(brought), "--passphrase-file", passphrase, "--json"
    )

    assert kept.code == 0, kept.words
    assert (kept.data["address"], kept.data["store"]) == (ADDRESS, "keystore file")
    assert "The passphrase stays the same." in kept.words
    file = keystore_path(person.home.keystore, ADDRESS)
    assert read_keystore(file, Passphrase.from_text(PASSPHRASE)).reveal() == KEY


def test_a_short_passphrase_does_not_come_along_with_a_keystore(
    person: Person, tmp_path: Path
) -> None:
    brought = tmp_path / "brought.json"
    write_keystore(brought, PrivateKey(KEY), Passphrase.from_text("1234"), cost=2**12)

    kept = person.types(
        "import",
        "--keystore",
        str(brought),
        answers=(
            ("Passphrase of brought.json: ", "1234"),
            ("New passphrase: ", PASSPHRASE),
            ("The same again: ", PASSPHRASE),
        ),
    )

    assert kept.code == 0, kept.words
    assert "stays the same" not in kept.words


def test_a_wrong_passphrase_opens_nothing(person: Person) -> None:
    person.has_a_wallet()

    typed = person.types("check", "mine", answers=(("Passphrase of mine: ", PASSPHRASE + "?"),))

    assert typed.code == 1
    assert "the passphrase is wrong, or the file was changed" in typed.words


def test_a_changed_file_opens_nothing(person: Person) -> None:
    file = person.has_a_wallet()
    document = json.loads(file.read_bytes())
    document["crypto"]["ciphertext"] = document["crypto"]["ciphertext"][::-1]
    file.write_text(json.dumps(document))

    typed = person.types("check", "mine", answers=(("Passphrase of mine: ", PASSPHRASE),))

    assert typed.code == 1
    assert "the passphrase is wrong, or the file was changed" in typed.words


def test_secrets_in_files_that_others_can_read_are_refused(person: Person) -> None:
    person.has_a_wallet()
    passphrase = person.secret_file("passphrase", PASSPHRASE, mode=0o640)
    key = person.secret_file("key", KEY_TEXT, mode=0o604)

    for spoken in (
        person.runs("wallet", "check", "mine", "--passphrase-file", passphrase),
        person.runs("wallet", "import", "--unsafe-key-file", key),
    ):
        assert spoken.code == 3
        assert "can be read by others and was not used. Run: chmod 600" in spoken.words


def test_without_a_terminal_nothing_is_asked(person: Person) -> None:
    person.has_a_wallet()

    for spoken, instead in (
        (person.runs("wallet", "check", "mine"), "--passphrase-file"),
        (person.runs("wallet", "new"), "--passphrase-file"),
        (person.runs("wallet", "import"), "--keystore"),
        (person.runs("wallet", "remove", "mine"), "--confirm"),
    ):
        assert spoken.code == 3
        assert instead in spoken.words
    assert [wallet.name for wallet in read_book(person.home.keystore).wallets] == ["mine"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("wallet", "import", KEY_TEXT),
        ("wallet", "import", f"0x{KEY_TEXT}"),
        ("wallet", "import", "--key", KEY_TEXT),
        ("wallet", "import", "--private-key", KEY_TEXT),
        ("wallet", "import", f"--name={KEY_TEXT}"),
        ("wallet", "import", "--unsafe-key-file", KEY_TEXT),
        ("wallet", "use", KEY_TEXT),
        ("wallet", "list", KEY_TEXT),
        ("wallet", KEY_TEXT),
        (KEY_TEXT,),
        ("positions", "--address", f"0x{KEY_TEXT}"),
    ],
)
def test_a_key_on_the_command_line_is_refused_and_not_repeated(
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ZUNO_HOME", str(tmp_path))
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)

    assert code == 2
    shown = capsys.readouterr()
    assert shown.err
    assert KEY_TEXT not in shown.out + shown.err


def test_a_watched_address_is_known_everywhere_but_signs_nothing(
    person: Person, devnet: DevnetReady
) -> None:
    kept = person.runs("wallet", "import", WATCHED, "--name", "seen", "--json")

    assert (kept.data["store"], kept.data["watchOnly"]) == ("watch-only", True)
    on_devnet = ("--network", "devnet", "--rpc", devnet.url, "--json")
    assert person.runs("positions", *on_devnet).data["owner"] == WATCHED
    named = person.runs("positions", *on_devnet, "--address", devnet.wallet)
    assert named.data["owner"] == devnet.wallet
    refused = person.runs("wallet", "check", "seen")
    assert refused.code == 3
    assert "watch-only: zuno holds no key for it and cannot sign" in refused.words


def test_one_wallet_is_current_until_another_is_chosen(person: Person) -> None:
    person.watches(WATCHED, "first")
    person.watches(OTHER, "second")

    used = person.runs("wallet", "use", "second", ZUNO_ADDRESS=WATCHED)

    assert used.code == 0
    assert "is used first" in used.words
    listed = person.runs("wallet", "list", "--json").data
    assert listed["current"] == OTHER
    assert [(one["name"], one["current"]) for one in listed["wallets"]] == [
        ("first", False),
        ("second", True),
    ]
    table = person.runs("wallet", "list").out.splitlines()
    assert table[0].split() == ["NAME", "ADDRESS", "KEY", "IN", "SIGNS", "ON", "ETHEREUM"]
    assert table[2].startswith("●  second  0x7777")
    assert person.runs("wallet", "use", "third").code == 1


def test_a_key_is_deleted_only_after_its_wallets_name_is_typed(person: Person) -> None:
    file = person.has_a_wallet()
    person.watches(WATCHED, "seen")

    kept = person.types("remove", "mine", answers=(("Type mine to remove it: ", "yes"),))
    assert (kept.code, file.exists()) == (3, True)
    mistaken = person.runs("wallet", "remove", "mine", "--confirm", WATCHED)
    assert (mistaken.code, file.exists()) == (3, True)
    removed = person.types("remove", "mine", answers=(("Type mine to remove it: ", "mine"),))
    assert (removed.code, file.exists()) == (0, False)
    assert "Without a copy, what it holds is lost." in removed.words
    assert person.runs("wallet", "remove", "seen", "--confirm", WATCHED).code == 0
    assert read_book(person.home.keystore).wallets == ()


def test_the_key_of_a_watched_address_makes_it_sign(person: Person) -> None:
    person.watches(ADDRESS, "seen")
    key = person.secret_file("key", KEY_TEXT)
    passphrase = person.secret_file("passphrase", PASSPHRASE)
    bring = ("wallet", "import", "--unsafe-key-file", key, "--passphrase-file", passphrase)

    kept = person.runs(*bring, "--json")

    assert (kept.data["name"], kept.data["watchOnly"]) == ("seen", False)
    assert "still holds the key in plain text" in kept.words
    again = person.runs(*bring)
    assert again.code == 1
    assert "already holds this key" in again.words


def test_the_demos_keys_are_nobodys_own(person: Person) -> None:
    from chain.devnet.world.accounts import DEMO_WALLET, STRANGER

    for account in (DEMO_WALLET, STRANGER):
        key = person.secret_file(f"key of {account.address}", account.key.hex())
        spoken = person.runs("wallet", "import", "--unsafe-key-file", key)
        assert spoken.code == 3
        assert "belongs to the demo" in spoken.words
    assert read_book(person.home.keystore).wallets == ()


def test_wallets_added_at_the_same_time_are_all_kept(person: Person) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "zuno_tui", "wallet", "import", f"0x{number:040x}"],
            env=person.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for number in range(6)
    ]

    assert [process.wait(timeout=60) for process in running] == [0] * 6
    assert len(read_book(person.home.keystore).wallets) == 6


def test_a_damaged_book_is_said_and_left_as_it_is(person: Person) -> None:
    person.watches(WATCHED, "seen")
    book = person.home.keystore / "wallets.json"
    book.write_text("{")

    spoken = person.runs("wallet", "import", OTHER)

    assert spoken.code == 1
    assert "is damaged. Move it away" in spoken.words
    assert book.read_text() == "{"
