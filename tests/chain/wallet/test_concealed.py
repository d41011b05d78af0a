"""Keys concealed, out of reach, and from a phrase."""

import copy
import pickle
import subprocess
import sys

import pytest

from chain.wallet.errors import WalletError
from chain.wallet.secrets import CURVE_ORDER, MOST_ACCOUNTS, Passphrase, PrivateKey, keys_of_phrase
from tests.chain.wallet.canary import ADDRESS, KEY, KEY_TEXT, PASSPHRASE, seen_in


def test_nothing_prints_a_secret() -> None:
    for secret in (PrivateKey(KEY), Passphrase.from_text(PASSPHRASE)):
        shown = f"{secret} {secret!r} {[secret]}"
        assert seen_in(shown) == []
        assert "hidden" in shown


@pytest.mark.parametrize("secret", [PrivateKey(KEY), Passphrase.from_text(PASSPHRASE)])
def test_nothing_copies_or_saves_a_secret(secret: PrivateKey | Passphrase) -> None:
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not copied or saved"):
            attempt(secret)


def test_a_wiped_key_is_gone() -> None:
    with PrivateKey(KEY) as key:
        assert key.reveal() == KEY

    with pytest.raises(WalletError, match="already wiped"):
        key.reveal()


@pytest.mark.parametrize(
    "text", [KEY_TEXT, f"0x{KEY_TEXT}", f"0X{KEY_TEXT.upper()}", f"  {KEY_TEXT}\n"]
)
def test_a_key_is_read_as_people_write_it(text: str) -> None:
    assert PrivateKey.from_text(text).address == ADDRESS


@pytest.mark.parametrize(
    "text",
    ["", KEY_TEXT[:-1], KEY_TEXT + "0", "g" * 64, "0" * 64, f"{CURVE_ORDER:064x}", "f" * 64],
)
def test_what_is_no_key_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(WalletError) as refusal:
        PrivateKey.from_text(text)

    assert not text or text not in str(refusal.value)


@pytest.mark.parametrize(
    "secret", [b"", KEY[1:], b"\0" + KEY, KEY + b"\0", bytes(32), CURVE_ORDER.to_bytes(32, "big")]
)
def test_a_key_is_a_number_of_32_bytes_on_the_curve(secret: bytes) -> None:
    with pytest.raises(WalletError, match="outside the curve"):
        PrivateKey(secret)


def test_every_number_of_the_curve_is_a_key_and_may_be_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("secrets.randbelow", lambda _: 0)
    assert int.from_bytes(PrivateKey.generate().reveal(), "big") == 1
    monkeypatch.setattr("secrets.randbelow", lambda below: below - 1)
    assert int.from_bytes(PrivateKey.generate().reveal(), "big") == CURVE_ORDER - 1


def test_a_secret_is_overwritten_before_it_is_let_go() -> None:
    let_go = list[bytes]()

    class Watched(bytearray):
        def clear(self) -> None:
            let_go.append(bytes(self))
            super().clear()

    key = PrivateKey(KEY)
    key._secret = Watched(KEY)
    key.wipe()
    assert let_go == [bytes(32)]


def test_passphrases_are_compared_and_counted_in_bytes() -> None:
    first, same, other = (Passphrase.from_text(text) for text in ("ключ", "ключ", "ключи"))
    assert first.equals(same)
    assert not first.equals(other)
    assert (first.length, other.length) == (8, 10)


def test_new_keys_differ() -> None:
    assert len({PrivateKey.generate().address for _ in range(20)}) == 20


_IMPORT_ALL = """
import importlib, pkgutil, sys
room = importlib.import_module({room!r})
for module in pkgutil.walk_packages(room.__path__, room.__name__ + "."):
    importlib.import_module(module.name)
print(*sorted(sys.modules))
"""


@pytest.mark.parametrize("room", ["agents", "chain.execution"])
def test_importing_a_whole_room_brings_no_key_within_reach(room: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_ALL.format(room=room)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    imported = set(done.stdout.split())
    assert room in imported
    assert not {name for name in imported if name.startswith("chain.wallet")}
    assert imported.isdisjoint({"eth_account", "eth_keyfile", "keyring"})


def test_importing_the_wallet_does_not_import_what_signs() -> None:
    """A command pays for the signing library only when it signs."""
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_ALL.format(room="chain.wallet")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert set(done.stdout.split()).isdisjoint(
        {"eth_account", "eth_keyfile", "keyring", "coincurve", "web3", "eth"}
    )


PHRASE = b"test test test test test test test test test test test junk"
# The accounts that Hardhat and Anvil print for this phrase.
FIRST, THIRD = (
    "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc",
)


@pytest.mark.parametrize("typed", [PHRASE, b"  " + PHRASE.upper().replace(b" ", b"  ") + b"\n"])
def test_accounts_are_those_of_other_wallets(typed: bytes) -> None:
    first, third = keys_of_phrase(typed, (0, 2))
    assert (first.address, third.address) == (FIRST, THIRD)


@pytest.mark.parametrize(
    ("typed", "accounts"),
    [
        (PHRASE.replace(b"junk", b"test"), (0,)),
        (PHRASE.replace(b"junk", b"jnuk"), (0,)),
        (PHRASE.replace(b"junk", b""), (0,)),
        (b"\xff" * 12, (0,)),
        (b"\xff " * 12, (0,)),
        (PHRASE, (-1,)),
        (PHRASE, (100,)),
        (PHRASE, (0, 100)),
        (PHRASE, (-1, 0)),
    ],
)
def test_what_is_no_phrase_is_refused_and_not_repeated(
    typed: bytes, accounts: tuple[int, ...]
) -> None:
    with pytest.raises(WalletError) as refused:
        keys_of_phrase(typed, accounts)
    assert "test" not in str(refused.value)
    assert refused.value.__context__ is None


def test_a_phrase_of_another_length_is_told_its_length() -> None:
    """One of a length that there is, with words in no order that there is, is no phrase either."""
    for count in range(30):
        is_one = count in (12, 15, 18, 21, 24)
        said = "two are in the wrong order" if is_one else f"and that has {count}"
        with pytest.raises(WalletError, match=said):
            keys_of_phrase(b"test " * count, (0,))


def test_a_hundred_accounts_can_be_asked_for() -> None:
    assert MOST_ACCOUNTS == 100
    assert len({key.address for key in keys_of_phrase(PHRASE, (0, 1, 99))}) == 3
    assert keys_of_phrase(PHRASE, ()) == ()


@pytest.mark.parametrize("accounts", [(-1,), (100,), (0, -1)])
def test_an_account_out_of_bounds_is_said_to_be_so(accounts: tuple[int, ...]) -> None:
    with pytest.raises(WalletError, match="counted from 0 to 99"):
        keys_of_phrase(PHRASE, accounts)
