"""Keystore files: what opens, what is refused before it is tried, and who could have read them."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from chain.wallet.errors import KeystoreError, WalletError, WrongPassphraseError
from chain.wallet.keystore_file import (
    SMALL_MACHINE_COST,
    USUAL_COST,
    available_memory,
    check_derivation,
    cost_for,
    read_keystore,
    write_keystore,
)
from chain.wallet.secrets import Passphrase, PrivateKey
from tests.chain.wallet.canary import ADDRESS, KEY, open_secrets

LIGHT = 2**12
PASSPHRASE = "correct horse battery"

# The two files of the Web3 Secret Storage definition, with the key and address it names.
PUBLISHED_KEY = "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d"
PUBLISHED_ADDRESS = "0x008aeeda4d805471df9b2a5b0f38a0c3bcba786b"
PUBLISHED = {
    "pbkdf2": {
        "cipher": "aes-128-ctr",
        "cipherparams": {"iv": "6087dab2f9fdbbfaddc31a909735c1e6"},
        "ciphertext": "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46",
        "kdf": "pbkdf2",
        "kdfparams": {
            "c": 262144,
            "dklen": 32,
            "prf": "hmac-sha256",
            "salt": "ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd",
        },
        "mac": "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2",
    },
    "scrypt": {
        "cipher": "aes-128-ctr",
        "cipherparams": {"iv": "83dbcc02d8ccb40e466191a123791e0e"},
        "ciphertext": "d172bf743a674da9cdad04534d56926ef8358534d458fffccd4e6ad2fbde479c",
        "kdf": "scrypt",
        "kdfparams": {
            "dklen": 32,
            "n": 262144,
            "r": 1,
            "p": 8,
            "salt": "ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19",
        },
        "mac": "2103ac29920d71da29f15d75b4a16dbe95cfd7ff8faea1056c33131d846e3097",
    },
}


def passphrase(text: str = PASSPHRASE) -> Passphrase:
    return Passphrase.from_text(text)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "keystore" / "wallet.json"
    write_keystore(path, PrivateKey(KEY), passphrase(), cost=LIGHT)
    return path


def change(path: Path, *place: str, to: object) -> None:
    document: dict[str, Any] = json.loads(path.read_bytes())
    fields = document
    for name in place[:-1]:
        fields = fields[name]
    fields[place[-1]] = to
    path.write_text(json.dumps(document))


def test_a_key_comes_out_as_it_went_in(path: Path) -> None:
    key = read_keystore(path, passphrase())

    assert (key.reveal(), key.address) == (KEY, ADDRESS)
    assert KEY.hex() not in path.read_text()


@pytest.mark.parametrize(
    ("derivation", "name"), [("pbkdf2", "crypto"), ("pbkdf2", "Crypto"), ("scrypt", "crypto")]
)
def test_the_published_files_open(derivation: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "published.json"
    file.write_text(json.dumps({name: PUBLISHED[derivation], "version": 3}))

    key = read_keystore(file, passphrase("testpassword"))

    assert (key.as_text(), key.address) == (PUBLISHED_KEY, PUBLISHED_ADDRESS)


def test_only_its_owner_could_ever_read_the_file(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = tmp_path / "keystore" / "wallet.json"
        write_keystore(path, PrivateKey(KEY), passphrase(), cost=LIGHT)
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_that_is_there_is_never_replaced(path: Path) -> None:
    before = path.read_bytes()

    with pytest.raises(WalletError, match="not overwritten"):
        write_keystore(path, PrivateKey.generate(), passphrase(), cost=LIGHT)

    assert path.read_bytes() == before


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    link = tmp_path / "wallet.json"
    link.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(WalletError):
        write_keystore(link, PrivateKey(KEY), passphrase(), cost=LIGHT)

    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("given", ["", "correct horse batterz", "correct horse battery ", "ключ"])
def test_a_wrong_passphrase_is_said_to_be_one(path: Path, given: str) -> None:
    with pytest.raises(WrongPassphraseError, match="passphrase is wrong"):
        read_keystore(path, passphrase(given))


@pytest.mark.parametrize("field", ["ciphertext", "mac"])
@pytest.mark.parametrize("position", [0, 31, 63])
def test_a_changed_digit_opens_nothing(path: Path, field: str, position: int) -> None:
    digits = json.loads(path.read_bytes())["crypto"][field]
    other = "0" if digits[position] != "0" else "1"
    change(path, "crypto", field, to=digits[:position] + other + digits[position + 1 :])

    with pytest.raises(WrongPassphraseError):
        read_keystore(path, passphrase())


def test_the_initial_vector_is_not_authenticated_but_the_address_shows_it(path: Path) -> None:
    change(path, "crypto", "cipherparams", "iv", to="00" * 16)

    with pytest.raises(KeystoreError, match="its key is that of"):
        read_keystore(path, passphrase())


def test_an_address_that_is_not_the_keys_is_refused_and_the_key_wiped(path: Path) -> None:
    change(path, "address", to="11" * 20)
    given = passphrase()

    with pytest.raises(KeystoreError, match="says it is 0x1111") as refused:
        read_keystore(path, given)

    assert {*open_secrets(refused.value)} <= {given}


HOSTILE_SCRYPT: list[tuple[str, object]] = [
    ("n", 2**21),
    ("n", 2**62),
    ("n", 0),
    ("n", -4096),
    ("n", 4097),
    ("n", 1),
    ("n", True),
    ("n", 4096.0),
    ("n", "4096"),
    ("n", None),
    ("r", 17),
    ("r", 0),
    ("r", 10**30),
    ("p", 9),
    ("p", 0),
    ("dklen", 16),
    ("dklen", 2**31),
    ("dklen", None),
    ("salt", ""),
    ("salt", "zz" * 32),
    ("salt", "00" * 65),
    ("salt", None),
]


@pytest.mark.parametrize(("name", "value"), HOSTILE_SCRYPT)
def test_hostile_parameters_are_refused_before_they_are_tried(
    path: Path, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    import eth_keyfile.keyfile

    def tried(*_: object, **__: object) -> bytes:
        pytest.fail("the derivation was tried")

    monkeypatch.setattr(eth_keyfile.keyfile, "decode_keyfile_json", tried)
    change(path, "crypto", "kdfparams", name, to=value)

    with pytest.raises(KeystoreError):
        read_keystore(path, passphrase())


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 2**20, "r": 16, "p": 1, "dklen": 32},
        {"n": 2**20, "r": 8, "p": 8, "dklen": 32},
        {"n": 2**18, "r": 16, "p": 8, "dklen": 32},
    ],
)
def test_parameters_that_pass_one_by_one_may_be_too_much_together(fields: dict[str, int]) -> None:
    with pytest.raises(KeystoreError, match="more memory or time"):
        check_derivation("scrypt", fields, None)


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("pbkdf2", {"c": 10_000_001, "dklen": 32, "prf": "hmac-sha256"}),
        ("pbkdf2", {"c": 0, "dklen": 32, "prf": "hmac-sha256"}),
        ("pbkdf2", {"c": 1000, "dklen": 32, "prf": "hmac-md5"}),
        ("argon2id", {"dklen": 32}),
        (None, {"dklen": 32}),
    ],
)
def test_other_derivations_are_bounded_or_refused(name: object, fields: dict[str, object]) -> None:
    with pytest.raises(KeystoreError):
        check_derivation(name, fields, None)


def test_a_new_file_is_salted_by_32_bytes_of_its_own(path: Path, tmp_path: Path) -> None:
    write_keystore(tmp_path / "other.json", PrivateKey(KEY), passphrase(), cost=LIGHT)
    derivations = [
        json.loads(file.read_text())["crypto"]["kdfparams"]
        for file in (path, tmp_path / "other.json")
    ]
    assert [len(bytes.fromhex(each["salt"])) for each in derivations] == [32, 32]
    assert derivations[0]["salt"] != derivations[1]["salt"]
    assert {(each["n"], each["dklen"]) for each in derivations} == {(LIGHT, 32)}


@pytest.mark.parametrize(
    ("limit", "machine", "available"),
    [
        ("max\n", "MemTotal: 9 kB\nMemAvailable:   1000 kB\nCached: 5 kB\n", 1_024_000),
        ("4096\n", "MemAvailable: 1000 kB\n", 4_096),
        ("9000000000\n", "MemAvailable: 1000 kB\n", 1_024_000),
        (None, "MemTotal: 9 kB\n", None),
        ("7", None, 7),
        (None, None, None),
    ],
)
def test_the_tightest_limit_on_memory_counts(
    tmp_path: Path,
    limit: str | None,
    machine: str | None,
    available: int | None,
) -> None:
    sources = tmp_path / "memory.max", tmp_path / "meminfo"
    for path, text in zip(sources, (limit, machine), strict=True):
        if text is not None:
            path.write_text(text)
    assert available_memory(sources) == available


def test_memory_that_is_not_there_is_said_and_not_taken() -> None:
    usual = {"n": USUAL_COST, "r": 8, "p": 1, "dklen": 32}

    check_derivation("scrypt", usual, 300 * 2**20)
    # A machine that tells of no limit has none, and the smallest power of two is one.
    check_derivation("scrypt", usual, None)
    check_derivation("scrypt", {**usual, "n": 2}, 300 * 2**20)
    with pytest.raises(KeystoreError, match="needs 256 MB of memory to open, and 100 MB are free"):
        check_derivation("scrypt", usual, 100 * 2**20)


def test_a_small_machine_gets_a_file_it_can_open_again() -> None:
    assert cost_for(None) == cost_for(8 * 2**30) == USUAL_COST
    assert cost_for(400 * 2**20) == SMALL_MACHINE_COST


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"version": 4}',
        b'{"version": 3}',
        b'{"version": 3, "crypto": {}}',
        b'{"version": 3, "version": 3, "crypto": {}}',
        b'{"version": 3, "crypto": {}, "Crypto": {}}',
        b'{"version": 3, "crypto": {"cipherparams": {}}}',
        b'{"version": 3, "crypto": {"cipher": "aes-128-ctr", "kdfparams": {}}}',
        b"[" * 60_000,
        b"\xff\xfe",
        b" " * 70_000,
    ],
)
def test_what_is_no_keystore_is_said_to_be_none(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(content)

    with pytest.raises(WalletError):
        read_keystore(file, passphrase())


def test_a_pipe_in_a_files_place_does_not_hang(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(WalletError, match="is not a file"):
        read_keystore(pipe, passphrase())


def test_a_file_that_could_not_be_written_whole_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="No space left"):
        write_keystore(tmp_path / "wallet.json", PrivateKey(KEY), passphrase(), cost=LIGHT)
    assert list(tmp_path.iterdir()) == []


def test_what_a_keystore_may_ask_for_is_a_promise() -> None:
    assert (USUAL_COST, SMALL_MACHINE_COST) == (262_144, 65_536)
    assert cost_for(768 * 2**20) == USUAL_COST
    assert cost_for(768 * 2**20 - 1) == SMALL_MACHINE_COST


@pytest.mark.parametrize(
    ("fields", "is_taken"),
    [
        ({"n": 2**20, "r": 1, "p": 1}, True),
        ({"n": 2**21, "r": 1, "p": 1}, False),
        ({"n": 2**20, "r": 8, "p": 1}, True),
        ({"n": 2**20, "r": 9, "p": 1}, False),
        ({"n": 2**20, "r": 2, "p": 8}, True),
        ({"n": 2**20, "r": 3, "p": 8}, False),
        ({"n": 2, "r": 16, "p": 8}, True),
        ({"n": 2, "r": 17, "p": 8}, False),
        ({"n": 2, "r": 16, "p": 9}, False),
        ({"n": 2, "r": True, "p": 1}, False),
        ({"n": 2, "r": 1, "p": 1.0}, False),
        ({"n": 3, "r": 1, "p": 1}, False),
        ({"n": 1, "r": 1, "p": 1}, False),
        ({"n": 2, "r": 0, "p": 1}, False),
        ({"n": 2, "r": 1}, False),
        ({"n": 2, "r": 1, "p": 1, "dklen": 31}, False),
        ({"n": 2, "r": 1, "p": 1, "dklen": 33}, False),
        ({"c": 1, "prf": "hmac-sha256"}, True),
        ({"c": 10_000_000, "prf": "hmac-sha256"}, True),
        ({"c": 10_000_001, "prf": "hmac-sha256"}, False),
    ],
)
def test_a_derivation_is_tried_up_to_its_bounds(fields: dict[str, object], is_taken: bool) -> None:
    name = "scrypt" if "n" in fields else "pbkdf2"
    try:
        check_derivation(name, {"dklen": 32, **fields}, None)
    except KeystoreError:
        assert not is_taken
    else:
        assert is_taken


def test_a_derivation_may_take_all_the_memory_that_is_free_and_no_byte_more() -> None:
    usual = {"n": USUAL_COST, "r": 8, "p": 1, "dklen": 32}
    check_derivation("scrypt", usual, 2**28)
    with pytest.raises(KeystoreError, match="needs 256 MB"):
        check_derivation("scrypt", usual, 2**28 - 1)


@pytest.mark.parametrize(("length", "is_taken"), [(7, False), (8, True), (64, True), (65, False)])
def test_a_salt_is_of_eight_to_sixty_four_bytes(path: Path, length: int, is_taken: bool) -> None:
    """Another salt than it was encrypted with makes the passphrase a wrong one."""
    change(path, "crypto", "kdfparams", "salt", to="0a" * length)
    with pytest.raises(WrongPassphraseError if is_taken else KeystoreError):
        read_keystore(path, passphrase())


@pytest.mark.parametrize(
    ("place", "to", "said"),
    [
        (("version",), 2, "is not a keystore of version 3"),
        (("version",), 4, "is not a keystore of version 3"),
        (("crypto",), {}, "is damaged"),
        (("crypto",), None, "is damaged"),
        (("crypto", "cipherparams"), None, "is damaged"),
        (("crypto", "kdfparams"), None, "is damaged"),
        (("crypto", "cipher"), "aes-256-cbc", "cipher other than aes-128-ctr"),
        (("crypto", "ciphertext"), "00" * 31, "is damaged"),
        (("crypto", "mac"), "00" * 33, "is damaged"),
        (("crypto", "cipherparams", "iv"), "00" * 15, "is damaged"),
        (("crypto", "kdfparams", "salt"), 8, "is damaged"),
        (("crypto", "kdf"), "argon2id", "other than scrypt and pbkdf2"),
        (("crypto", "kdfparams", "p"), 9, "p is not between 1 and 8"),
    ],
)
def test_what_is_wrong_with_a_keystore_is_said(
    path: Path, place: tuple[str, ...], to: object, said: str
) -> None:
    change(path, *place, to=to)
    with pytest.raises(KeystoreError, match=said):
        read_keystore(path, passphrase())


@pytest.mark.parametrize("form", ["{}", "0x{}", "0X{}"])
def test_an_address_is_compared_however_it_is_written(path: Path, form: str) -> None:
    change(path, "address", to=form.format(ADDRESS[2:].upper()))
    assert read_keystore(path, passphrase()).address == ADDRESS
    change(path, "address", to=form.format("11" * 20))
    with pytest.raises(KeystoreError, match="says it is 0x1111"):
        read_keystore(path, passphrase())


def test_bytes_with_0x_before_them_are_read(path: Path) -> None:
    crypto = json.loads(path.read_bytes())["crypto"]
    for name in ("ciphertext", "mac"):
        change(path, "crypto", name, to="0x" + crypto[name])
    assert read_keystore(path, passphrase()).address == ADDRESS


def test_names_in_capitals_are_read_at_every_depth(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is decrypted is what was checked, whatever else the library would read."""
    import eth_keyfile.keyfile

    quiet = json.loads(path.read_bytes())

    def loud(value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {name.upper(): loud(inner) for name, inner in value.items()}

    path.write_text(json.dumps(loud(quiet)))
    assert read_keystore(path, passphrase()).address == ADDRESS
    given = list[object]()

    def decrypt(fields: object, _: bytes) -> bytes:
        given.append(fields)
        return KEY

    monkeypatch.setattr(eth_keyfile.keyfile, "decode_keyfile_json", decrypt)
    read_keystore(path, passphrase())
    assert given == [quiet]


def test_a_key_that_cannot_be_encrypted_is_not_written_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError(KEY.hex())

    monkeypatch.setattr("eth_keyfile.keyfile.create_keyfile_json", fail)
    with pytest.raises(WalletError, match=r"could not be encrypted \(MemoryError\)") as failed:
        write_keystore(tmp_path / "wallet.json", PrivateKey(KEY), passphrase())
    assert KEY.hex() not in str(failed.value)
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_costs_what_the_machine_can_bear(tmp_path: Path) -> None:
    write_keystore(tmp_path / "wallet.json", PrivateKey(KEY), passphrase())
    written = json.loads((tmp_path / "wallet.json").read_bytes())
    assert written["crypto"]["kdfparams"]["n"] == cost_for(available_memory())
