"""A key's way into the keyring or a file, back out of it, and its removal."""

import resource
import stat
from pathlib import Path
from typing import NamedTuple

import keyring
import pytest

from chain.base.errors import Failure
from chain.base.home import Home
from chain.contracts.networks import network_named
from chain.devnet.world.accounts import DEMO_WALLET, RESIDENTS, WATCH_KEY, Account
from chain.wallet import keystore, watch_key
from chain.wallet.address_book import KeyStorage, Wallet, change_book, read_book
from chain.wallet.demo import demo_watch_key, refuse_known_key
from chain.wallet.errors import KeyringUnusableError, KeystoreError, WalletError, WalletRefusedError
from chain.wallet.keystore import (
    StoreChoice,
    forget_key,
    keep_key,
    open_kept_key,
    open_key,
    open_signer,
    remove,
)
from chain.wallet.keystore_file import keystore_path
from chain.wallet.secrets import Passphrase, PrivateKey
from chain.wallet.watch_key import make_watch_key, open_watch_signer, remove_watch_key
from tests.chain.wallet.canary import ADDRESS, KEY, PASSPHRASE, open_secrets
from tests.chain.wallet.test_keyring_store import Forgetful, Kept, install

BASE, DEVNET = network_named("base"), network_named("devnet")
STRANGER = "0x" + "55" * 20


class Place(NamedTuple):
    home: Home
    asked: list[str]
    """Why a passphrase was asked for, each time."""
    backend: Kept

    def passphrase(self, why: str = "to open") -> Passphrase:
        self.asked.append(why)
        return Passphrase.from_text(PASSPHRASE)

    def keep(self, choice: StoreChoice, name: str | None = None) -> keystore.StoredKey:
        return keep_key(
            self.home,
            PrivateKey(KEY),
            name=name,
            choice=choice,
            new_passphrase=self.passphrase,
        )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lightly_encrypted: None) -> Place:
    """With a keyring that works; files are encrypted lightly."""
    backend = Kept()
    install(monkeypatch, backend)
    return Place(Home(tmp_path / "home", tmp_path / "cache"), [], backend)


@pytest.mark.parametrize("choice", [StoreChoice.BEST, StoreChoice.KEYRING])
def test_a_keyring_that_works_keeps_the_key_without_a_passphrase(
    place: Place, choice: StoreChoice
) -> None:
    stored = place.keep(choice)

    mine = Wallet(ADDRESS, "wallet-1", KeyStorage.KEYRING)
    assert stored == keystore.StoredKey(mine, "Secret Service", "", current=True)
    assert read_book(place.home.keystore).wallets == (mine,)
    assert open_key(place.home, mine, place.passphrase).reveal() == KEY
    assert place.asked == []
    assert stat.S_IMODE(place.home.root.stat().st_mode) == 0o700
    remove(place.home, mine)
    assert (place.backend.entries, read_book(place.home.keystore).wallets) == ({}, ())


def test_a_file_that_is_asked_for_keeps_the_key_away_from_the_keyring(place: Place) -> None:
    stored = place.keep(StoreChoice.FILE, "mine")

    path = keystore_path(place.home.keystore, ADDRESS)
    mine = Wallet(ADDRESS, "mine", KeyStorage.FILE)
    assert stored == keystore.StoredKey(mine, str(path), "A file was asked for.", current=True)
    assert (place.asked, place.backend.entries) == (["A file was asked for."], {})
    assert open_key(place.home, mine, place.passphrase).reveal() == KEY
    for _ in range(2):
        forget_key(place.home, ADDRESS, KeyStorage.FILE)
    assert not path.exists()
    with pytest.raises(KeystoreError, match="is gone"):
        open_key(place.home, mine, place.passphrase)


def test_the_best_place_is_a_file_where_the_keyring_fails_and_a_keyring_is_never_a_file(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Forgetful())
    with pytest.raises(KeyringUnusableError, match=r"Nothing was kept.*--store file"):
        place.keep(StoreChoice.KEYRING)
    assert (place.asked, read_book(place.home.keystore).wallets) == ([], ())

    stored = place.keep(StoreChoice.BEST)

    assert stored.wallet.keeping is KeyStorage.FILE
    assert place.asked == [stored.why]
    assert "did not give back the key" in stored.why


def test_a_key_is_kept_once_and_takes_over_the_name_of_its_watched_address(place: Place) -> None:
    watched = keystore.watch(place.home, STRANGER, name=None)
    assert (watched.wallet.name, watched.place, watched.current) == ("wallet-1", "", True)
    assert stat.S_IMODE(place.home.root.stat().st_mode) == 0o700
    assert not keystore.watch(place.home, ADDRESS, name="mine").current
    with pytest.raises(WalletError, match="already here, as mine"):
        keystore.watch(place.home, ADDRESS, name="again")

    stored = place.keep(StoreChoice.BEST)

    assert (stored.wallet.name, stored.current) == ("mine", False)
    with pytest.raises(WalletError, match="mine already holds this key"):
        place.keep(StoreChoice.BEST)
    names = [wallet.name for wallet in read_book(place.home.keystore).wallets]
    assert names == ["wallet-1", "mine"]


def test_a_watched_address_may_get_another_name_with_its_key(place: Place) -> None:
    keystore.watch(place.home, ADDRESS, name="seen")
    assert place.keep(StoreChoice.BEST, "mine").wallet.name == "mine"


def test_a_watched_wallet_opens_nothing(place: Place) -> None:
    watched = keystore.watch(place.home, ADDRESS, name="seen").wallet
    with pytest.raises(WalletRefusedError, match="watch-only") as refused:
        open_key(place.home, watched, place.passphrase)
    assert refused.value.failure is Failure.REFUSED


def test_a_keyring_that_is_needed_is_to_be_unlocked(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "get_keyring", Kept)
    for action in (
        lambda: forget_key(place.home, ADDRESS, KeyStorage.KEYRING),
        lambda: open_kept_key(place.home, ADDRESS, KeyStorage.KEYRING, place.passphrase),
    ):
        with pytest.raises(KeyringUnusableError, match="unlock or start it, and try again"):
            action()


def test_another_wallets_key_in_a_file_is_wiped(place: Place) -> None:
    place.keep(StoreChoice.FILE)
    keystore_path(place.home.keystore, ADDRESS).rename(keystore_path(place.home.keystore, STRANGER))
    with pytest.raises(KeystoreError, match="another wallet's key") as refused:
        open_kept_key(place.home, STRANGER, KeyStorage.FILE, place.passphrase)
    assert open_secrets(refused.value) == []


@pytest.mark.parametrize("account", [DEMO_WALLET, WATCH_KEY, *RESIDENTS], ids=str)
def test_no_key_that_anybody_can_derive_is_kept(place: Place, account: Account) -> None:
    key = PrivateKey(account.key)
    with pytest.raises(WalletRefusedError, match="anybody can derive it"):
        keep_key(
            place.home, key, name=None, choice=StoreChoice.BEST, new_passphrase=place.passphrase
        )
    assert (place.backend.entries, place.asked) == ({}, [])
    refuse_known_key(ADDRESS)


def test_a_process_is_guarded_before_a_key_is_in_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    class GuardedError(Exception):
        pass

    def guard(*_: object) -> None:
        raise GuardedError

    place.keep(StoreChoice.FILE)
    monkeypatch.setattr(resource, "setrlimit", guard)
    place.asked.clear()
    for action in (
        lambda: place.keep(StoreChoice.FILE),
        lambda: open_kept_key(place.home, ADDRESS, KeyStorage.FILE, place.passphrase),
        lambda: make_watch_key(
            place.home, choice=StoreChoice.FILE, new_passphrase=place.passphrase
        ),
    ):
        with pytest.raises(GuardedError):
            action()
    assert place.asked == []


def test_a_wallets_own_key_signs_for_it(place: Place) -> None:
    place.keep(StoreChoice.FILE, "mine")
    names = list[str]()

    def passphrase(wallet: Wallet) -> Passphrase:
        names.append(wallet.name)
        return Passphrase.from_text(PASSPHRASE)

    with open_signer(place.home, BASE, ADDRESS, passphrase) as signer:
        assert repr(signer) == f"Signer({ADDRESS} on chain 8453)"
    assert names == ["mine"]


def test_a_watch_key_is_made_once_opened_and_removed(place: Place) -> None:
    assert watch_key.watch_key(place.home, BASE) is None
    with pytest.raises(WalletError, match="has no watch key"):
        open_watch_signer(place.home, BASE)

    made = make_watch_key(place.home, choice=StoreChoice.FILE, new_passphrase=place.passphrase)

    file = place.home.keystore / "watch-key.json"
    assert stat.S_IMODE(place.home.root.stat().st_mode) == 0o700
    assert file.read_text() == (
        f'{{\n  "version": 1,\n  "address": "{made.key.address}",\n  "store": "keystore file"\n}}'
    )
    assert (made.why, made.place) == (
        "A file was asked for.",
        str(keystore_path(place.home.keystore, made.key.address)),
    )
    assert watch_key.watch_key(place.home, BASE) == made.key
    with pytest.raises(WalletError, match="has a watch key already"):
        make_watch_key(place.home, choice=StoreChoice.FILE, new_passphrase=place.passphrase)
    signer = open_watch_signer(place.home, BASE, passphrase=place.passphrase)
    assert signer.address == made.key.address
    with pytest.raises(KeystoreError, match="nothing here opens it"):
        open_watch_signer(place.home, BASE, environment={})
    for _ in range(2):
        remove_watch_key(place.home, made.key)
    assert list(place.home.keystore.iterdir()) == []


def test_a_damaged_watch_key_is_said_to_be_so(place: Place) -> None:
    place.home.keystore.mkdir(parents=True)
    file = place.home.keystore / "watch-key.json"
    sound = f'{{"version": 1, "address": "{ADDRESS}", "store": "keyring"}}'
    file.write_text(sound)
    assert watch_key.watch_key(place.home, BASE) == watch_key.WatchKey(
        1, ADDRESS, KeyStorage.KEYRING
    )
    for damaged in ("{", sound.replace("1", "2", 1), sound.replace("keyring", "pocket")):
        file.write_text(damaged)
        with pytest.raises(WalletError, match="is damaged"):
            watch_key.watch_key(place.home, BASE)


def test_the_embedded_chain_has_a_watch_key_without_a_file(place: Place) -> None:
    known = watch_key.watch_key(place.home, DEVNET)

    assert known == watch_key.WatchKey(1, WATCH_KEY.address, KeyStorage.FILE)
    assert demo_watch_key().address == WATCH_KEY.address
    assert open_watch_signer(place.home, DEVNET, environment={}).address == WATCH_KEY.address


def test_a_wallet_is_removed_after_its_key(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    wallet = place.keep(StoreChoice.BEST).wallet
    monkeypatch.setattr(keyring, "get_keyring", Kept)
    with pytest.raises(KeyringUnusableError):
        remove(place.home, wallet)
    assert read_book(place.home.keystore).wallets == (wallet,)


def test_forgetting_a_watched_wallet_deletes_no_key(place: Place) -> None:
    place.keep(StoreChoice.FILE)
    forget_key(place.home, ADDRESS, KeyStorage.NOWHERE)
    assert keystore_path(place.home.keystore, ADDRESS).exists()
    change_book(place.home.keystore, lambda book: book.without(ADDRESS))


def test_the_demos_key_is_not_even_opened_for_another_chain(place: Place) -> None:
    with pytest.raises(WalletRefusedError, match="embedded chain only") as refused:
        open_signer(place.home, BASE, DEMO_WALLET.address, lambda _: place.passphrase())
    assert (place.asked, open_secrets(refused.value)) == ([], [])
