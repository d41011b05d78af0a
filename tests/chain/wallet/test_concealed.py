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


def test_new_keys_differ() -> None:
    assert len({PrivateKey.generate().address for _ in range(20)}) == 20
