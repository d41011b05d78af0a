"""Keyrings that misbehave: forgetful, slow, talking of the key, holding another wallet's."""

from __future__ import annotations

import time
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend

from chain.wallet.errors import KeyringUnusableError
from chain.wallet.keyring_store import SERVICE, find_keyring
from chain.wallet.secrets import PrivateKey
from tests.chain.wallet.canary import ADDRESS, KEY, KEY_TEXT, seen_in, told_with_locals


class Kept(KeyringBackend):
    """Works as it should; `priority` makes the library take it for one that is there."""

    priority = 1.0

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.entries[service, username]


def install(monkeypatch: pytest.MonkeyPatch, backend: Kept) -> None:
    """Under the name of a backend that is trusted: what it does is all that differs."""
    trusted = type("Keyring", (type(backend),), {"__module__": "keyring.backends.SecretService"})
    backend.__class__ = trusted
    monkeypatch.setattr(keyring, "get_keyring", lambda: backend)


def test_a_key_is_kept_given_back_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Kept()
    install(monkeypatch, backend)
    found = find_keyring()

    found.keep(PrivateKey(KEY))

    assert backend.entries == {(SERVICE, ADDRESS): KEY_TEXT}
    assert found.key_of(ADDRESS).reveal() == KEY
    found.forget(ADDRESS)
    found.forget(ADDRESS)
    with pytest.raises(KeyringUnusableError, match="holds no key"):
        found.key_of(ADDRESS)


def test_a_chain_of_keyrings_is_asked_for_its_trusted_one(monkeypatch: pytest.MonkeyPatch) -> None:
    trusted, plain = Kept(), Kept()
    install(monkeypatch, trusted)
    chain = type(
        "ChainerBackend",
        (),
        {"__module__": "keyring.backends.chainer", "backends": [plain, trusted]},
    )()
    monkeypatch.setattr(keyring, "get_keyring", lambda: chain)

    find_keyring().keep(PrivateKey(KEY))

    assert plain.entries == {}
    assert len(trusted.entries) == 1


class Forgetful(Kept):
    def set_password(self, service: str, username: str, password: str) -> None:
        pass


class Altering(Kept):
    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password[::-1]


@pytest.mark.parametrize("kind", [Forgetful, Altering])
def test_a_keyring_that_does_not_give_back_is_found_out(
    kind: type[Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, kind())

    with pytest.raises(KeyringUnusableError, match="did not give back the key"):
        find_keyring().keep(PrivateKey(KEY))


def test_another_wallets_key_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Kept()
    install(monkeypatch, backend)
    backend.entries[SERVICE, "0x" + "11" * 20] = KEY_TEXT

    with pytest.raises(KeyringUnusableError, match="another wallet's key"):
        find_keyring().key_of("0x" + "11" * 20)


class Talkative(Kept):
    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError(f"could not store {password}")


def test_what_a_failing_keyring_says_of_the_key_is_not_passed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, Talkative())

    with pytest.raises(KeyringUnusableError, match="RuntimeError") as caught:
        find_keyring().keep(PrivateKey(KEY))

    shown = told_with_locals(caught.value)
    assert "locals" in shown
    assert seen_in(shown) == []


class Slow(Kept):
    def set_password(self, *_: Any) -> None:
        time.sleep(5)


def test_a_keyring_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Slow())
    found = find_keyring(seconds=0.2)

    with pytest.raises(KeyringUnusableError, match=r"did not answer within 0\.2 s"):
        found.keep(PrivateKey(KEY))
