"""The book of wallets: names, the current one, and what is done with a damaged file."""

import json
import stat
from pathlib import Path

import pytest

from chain.wallet.address_book import (
    AddressBook,
    KeyStorage,
    Wallet,
    change_book,
    parsed_address,
    read_book,
)
from chain.wallet.errors import NoSuchWalletError, WalletError

FIRST = Wallet("0x" + "11" * 20, "first", KeyStorage.FILE)
SECOND = Wallet("0x" + "ab" * 20, "second", KeyStorage.NOWHERE)
BOOK = AddressBook().with_wallet(FIRST).with_wallet(SECOND)
CHECKSUMMED = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"


def test_what_is_written_is_read(tmp_path: Path) -> None:
    change_book(tmp_path / "keystore", lambda _: BOOK)

    assert read_book(tmp_path / "keystore") == BOOK
    for file in (tmp_path / "keystore").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_book_is_written_so_that_a_person_can_read_it(tmp_path: Path) -> None:
    book = change_book(tmp_path, lambda empty: empty.with_wallet(FIRST))

    assert book == AddressBook((FIRST,), FIRST.address)
    assert (
        (tmp_path / "wallets.json").read_text()
        == f"""{{
  "version": 1,
  "current": "{FIRST.address}",
  "wallets": [
    {{
      "address": "{FIRST.address}",
      "name": "first",
      "store": "keystore file"
    }}
  ]
}}"""
    )


def test_a_wallet_is_in_the_book_once_and_another_is_left_alone() -> None:
    book = AddressBook().with_wallet(FIRST).with_wallet(SECOND)
    imported = Wallet(SECOND.address, "second", KeyStorage.KEYRING)

    assert book == AddressBook((FIRST, SECOND), FIRST.address)
    assert book.with_wallet(imported).wallets == (FIRST, imported)
    assert book.without(SECOND.address) == AddressBook((FIRST,), FIRST.address)
    assert book.without(FIRST.address) == AddressBook((SECOND,), None)
    assert [book.at(each.address) for each in (FIRST, SECOND)] == [FIRST, SECOND]
    assert book.at("0x" + "33" * 20) is None


@pytest.mark.parametrize("keeping", list(KeyStorage))
def test_a_wallet_without_a_key_is_only_watched(keeping: KeyStorage) -> None:
    is_watched = Wallet(FIRST.address, "first", keeping).watch_only
    assert is_watched is (keeping in (KeyStorage.NOWHERE, KeyStorage.SAFE))


def test_no_book_is_an_empty_one(tmp_path: Path) -> None:
    assert read_book(tmp_path) == AddressBook()


def test_the_first_wallet_is_current_until_it_is_gone() -> None:
    assert BOOK.current == FIRST.address
    assert BOOK.with_current(SECOND.address).current == SECOND.address
    assert BOOK.without(SECOND.address).current == FIRST.address
    assert BOOK.without(FIRST.address).current is None


@pytest.mark.parametrize("named", ["second", SECOND.address, SECOND.address.upper()])
def test_a_wallet_is_found_by_name_or_address(named: str) -> None:
    assert BOOK.find(named) == SECOND


def test_an_unknown_wallet_is_said_to_be_so() -> None:
    with pytest.raises(NoSuchWalletError, match="zuno wallet list"):
        BOOK.find("third")


@pytest.mark.parametrize(
    "name", ["first", "0xabc", "0Xabc", "a b", "a\x1b[31m", "x" * 33, "../up", "", "é", ".hidden"]
)
def test_a_name_that_would_mislead_is_refused(name: str) -> None:
    with pytest.raises(WalletError) as refusal:
        BOOK.free_name(name)

    assert "\x1b" not in str(refusal.value)


def test_a_wallet_gets_the_name_that_is_chosen_or_the_next_free_one() -> None:
    taken = AddressBook((Wallet(FIRST.address, "wallet-1", KeyStorage.FILE),))

    assert AddressBook().free_name(None) == "wallet-1"
    assert taken.free_name(None) == "wallet-2"
    assert [BOOK.free_name(name) for name in ("mine", "x" * 32)] == ["mine", "x" * 32]


def test_an_address_is_read_in_any_case_but_not_with_an_error() -> None:
    for text in (CHECKSUMMED, CHECKSUMMED.lower(), "0x" + CHECKSUMMED[2:].upper()):
        assert parsed_address(text) == CHECKSUMMED.lower()
    for text in ("0x12", CHECKSUMMED[:-1], CHECKSUMMED.replace("aA", "Aa"), CHECKSUMMED[2:]):
        with pytest.raises(WalletError, match="address"):
            parsed_address(text)


def _book(**changed: object) -> str:
    entry = {"address": FIRST.address, "name": "first", "store": "keyring"}
    fields = {"version": 1, "current": None, "wallets": [entry]}
    inside = {name: value for name, value in changed.items() if name in entry}
    outside = {name: value for name, value in changed.items() if name in fields}
    return json.dumps({**fields, "wallets": [{**entry, **inside}], **outside})


def test_the_book_that_the_damaged_ones_are_made_of_is_sound(tmp_path: Path) -> None:
    (tmp_path / "wallets.json").write_text(_book())

    assert read_book(tmp_path).find("first").keeping is KeyStorage.KEYRING


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        '{"version": 1}',
        '{"version": 1, "current": null, "wallets": [], "wallets": []}',
        _book(version=2),
        _book(wallets=[1]),
        _book(wallets=None),
        _book(current=SECOND.address),
        _book(current=1),
        _book(address="0x11"),
        _book(address=None),
        _book(name="a b"),
        _book(store="plaintext"),
    ],
)
def test_a_damaged_book_is_said_and_left_as_it_is(content: str, tmp_path: Path) -> None:
    file = tmp_path / "wallets.json"
    file.write_text(content)

    with pytest.raises(WalletError, match="is damaged"):
        change_book(tmp_path, lambda book: book.with_wallet(FIRST))

    assert file.read_text() == content
