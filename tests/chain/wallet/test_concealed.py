"""Secrets that show themselves to nobody."""

from __future__ import annotations

import copy
import pickle

import pytest

from chain.wallet.errors import WalletError
from chain.wallet.secrets import CURVE_ORDER, Passphrase, PrivateKey
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
