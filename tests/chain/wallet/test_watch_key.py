"""What a watch key signs, and what opens the file it is kept in."""

import json
import stat
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from eth_account import Account
from msgspec.structs import replace

from chain.base.home import Home
from chain.contracts.delegation import DELEGATION_MANAGER
from chain.contracts.networks import network_named
from chain.execution.transaction import Authorization
from chain.wallet.errors import KeystoreError, WalletError, WalletRefusedError, WrongPassphraseError
from chain.wallet.keystore import StoreChoice
from chain.wallet.keystore import watch as watch_address
from chain.wallet.keystore_file import read_keystore
from chain.wallet.local_key import LocalKey
from chain.wallet.secrets import Passphrase, PrivateKey
from chain.wallet.signer import Signer
from chain.wallet.watch_key import (
    PASSPHRASE_FILE,
    WatchSigner,
    export_watch_key,
    is_proven,
    make_watch_key,
    open_watch_signer,
    watch_seal,
)
from tests.chain.wallet.canary import ADDRESS, KEY
from tests.chain.wallet.test_signer import TRANSACTION

BASE, DEVNET = network_named("base"), network_named("devnet")
HOME, STRANGER = "0x" + "33" * 20, "0x" + "44" * 20
LENT = Authorization(DEVNET.chain_id, STRANGER, 4)


@pytest.fixture
def watch() -> Iterator[WatchSigner]:
    signer = WatchSigner(Signer(LocalKey(PrivateKey(KEY)), DEVNET.chain_id))
    yield signer
    signer.close()


@pytest.mark.parametrize("to", [DELEGATION_MANAGER, ADDRESS, HOME, STRANGER])
@pytest.mark.parametrize("sweeps", [False, True])
def test_it_signs_calls_to_the_manager_nothing_to_itself_and_its_coins_way_back(
    sweeps: bool, to: str
) -> None:
    watch = WatchSigner(
        Signer(LocalKey(PrivateKey(KEY)), DEVNET.chain_id), HOME if sweeps else None
    )
    for value, data, lent in product((0, 7), (b"", b"\1\2"), (None, LENT)):
        asked = replace(TRANSACTION, to=to, value=value, data=data, authorization=lent)
        redeems = to == DELEGATION_MANAGER and not value
        withdraws = to == ADDRESS and not value and not data
        comes_back = sweeps and to == HOME and not data
        if lent is None and (redeems or withdraws or comes_back):
            assert watch.sign(asked).unsigned == asked
        else:
            with pytest.raises(WalletRefusedError, match="delegation manager alone"):
                watch.sign(asked)
    watch.close()


def test_a_closed_watch_key_signs_nothing(watch: WatchSigner) -> None:
    redeeming = replace(TRANSACTION, to=DELEGATION_MANAGER, value=0)
    watch.sign(redeeming)
    watch.close()
    with pytest.raises(WalletError, match="could not be signed"):
        watch.sign(redeeming)


def test_its_passphrase_comes_from_a_private_file_that_is_named(
    tmp_path: Path, lightly_encrypted: None
) -> None:
    named, credential = tmp_path / "named", tmp_path / "zuno-watch-key"
    for path, text in ((named, "one two\n"), (credential, "three four")):
        path.write_text(text)
        path.chmod(0o600)
    home = Home(tmp_path / "home", tmp_path / "cache")
    made = make_watch_key(
        home,
        choice=StoreChoice.FILE,
        new_passphrase=lambda _: Passphrase.from_text("three four"),
    )
    systemd = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    both = {PASSPHRASE_FILE: str(named), **systemd}
    with pytest.raises(WrongPassphraseError):
        open_watch_signer(home, BASE, environment=both)
    watch = open_watch_signer(home, BASE, environment=systemd)
    assert watch.address == made.key.address
    watch.close()
    with pytest.raises(KeystoreError, match=PASSPHRASE_FILE):
        open_watch_signer(home, BASE, environment={})
    named.chmod(0o644)
    with pytest.raises(WalletError, match="read by others"):
        open_watch_signer(home, BASE, environment=both)


@pytest.mark.parametrize("field", ["address", "store", "version"])
def test_a_record_that_was_changed_opens_no_key(
    tmp_path: Path, lightly_encrypted: None, field: str
) -> None:
    named = tmp_path / "named"
    named.write_text("three four")
    named.chmod(0o600)
    environment = {PASSPHRASE_FILE: str(named)}
    home = Home(tmp_path / "home", tmp_path / "cache")
    make_watch_key(
        home,
        choice=StoreChoice.FILE,
        new_passphrase=lambda _: Passphrase.from_text("three four"),
    )
    record = home.keystore / "watch-key.json"
    honest = json.loads(record.read_text())
    seal = watch_seal(home, BASE, environment)
    proven = is_proven(home, BASE, environment)
    unchecked = is_proven(home, BASE, {})
    changed = {"address": STRANGER, "store": "keyring", "version": 2}[field]
    record.write_text(json.dumps({**honest, field: changed}))

    assert (proven, unchecked) == (True, False)
    assert len(seal) == 32
    with pytest.raises(WalletError):
        watch_seal(home, BASE, environment)
    with pytest.raises(WalletError):
        is_proven(home, BASE, environment)


def test_it_goes_to_a_second_machine_as_a_keystore_that_others_read_too(
    tmp_path: Path, lightly_encrypted: None
) -> None:
    home, other = (Home(tmp_path / name, tmp_path / "cache") for name in ("first", "standby"))
    first, carried = Passphrase.from_text("three four"), tmp_path / "carried.json"
    made = make_watch_key(home, choice=StoreChoice.FILE, new_passphrase=lambda _: first)
    export_watch_key(
        home,
        BASE,
        carried,
        passphrase=lambda: Passphrase.from_text("three four"),
        new_passphrase=lambda: Passphrase.from_text("five six"),
        environment={},
    )
    secret = Account.decrypt(json.loads(carried.read_text()), "five six")
    with pytest.raises(WrongPassphraseError):
        read_keystore(carried, Passphrase.from_text("three four"))
    taken = make_watch_key(
        other,
        choice=StoreChoice.FILE,
        new_passphrase=lambda _: Passphrase.from_text("five six"),
        made=read_keystore(carried, Passphrase.from_text("five six")),
    )
    named = tmp_path / "named"
    named.write_text("five six")
    named.chmod(0o600)
    signer = open_watch_signer(other, BASE, environment={PASSPHRASE_FILE: str(named)})

    assert Account.from_key(secret).address.lower() == made.key.address
    assert stat.S_IMODE(carried.stat().st_mode) == 0o600
    assert (taken.key.address, signer.address) == (made.key.address, made.key.address)
    signer.close()
    with pytest.raises(WalletError, match="already there"):
        export_watch_key(
            home,
            BASE,
            carried,
            passphrase=lambda: Passphrase.from_text("three four"),
            new_passphrase=lambda: Passphrase.from_text("five six"),
            environment={},
        )


def test_no_wallets_key_becomes_a_watch_key(tmp_path: Path, lightly_encrypted: None) -> None:
    home = Home(tmp_path / "home", tmp_path / "cache")
    key = PrivateKey(KEY)
    watch_address(home, key.address, name="mine")
    with pytest.raises(WalletRefusedError, match="a wallet of yours"):
        make_watch_key(
            home,
            choice=StoreChoice.FILE,
            new_passphrase=lambda _: Passphrase.from_text("five six"),
            made=key,
        )
