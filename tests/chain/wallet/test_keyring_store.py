"""Keyrings that misbehave: forgetful, slow, talking of the key, holding another wallet's."""

import threading
import time
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import InitError, KeyringLocked, PasswordDeleteError, PasswordSetError

from chain.wallet.errors import KeyringUnusableError
from chain.wallet.keyring_store import ANSWER_SECONDS, SERVICE, find_keyring
from chain.wallet.secrets import PrivateKey
from tests.chain.wallet.canary import (
    ADDRESS,
    KEY,
    KEY_TEXT,
    open_secrets,
    seen_in,
    told_with_locals,
)


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
    with pytest.raises(KeyringUnusableError, match="did not give back what it was given"):
        find_keyring().keep_text("venue", "a secret")


def test_a_secret_that_is_no_key_is_kept_under_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Kept()
    install(monkeypatch, backend)
    found = find_keyring()

    found.keep_text("venue", "ключ")

    assert backend.entries == {(SERVICE, "venue"): "ключ"}
    assert (found.text_of("venue"), found.text_of("another")) == ("ключ", None)


class Locked(Kept):
    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked


def test_a_locked_keyring_shows_itself_before_a_key_is_at_stake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, Locked())

    with pytest.raises(KeyringUnusableError, match="is locked"):
        find_keyring()


def test_a_keyring_that_nobody_vouches_for_is_named_and_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keyring, "get_keyring", Kept)

    with pytest.raises(KeyringUnusableError, match=r"test_keyring_store\.Kept, which is not one"):
        find_keyring()


def test_what_is_kept_and_is_no_key_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Kept()
    install(monkeypatch, backend)
    backend.entries[SERVICE, ADDRESS] = KEY_TEXT + "00"

    with pytest.raises(KeyringUnusableError, match="UnreadableKey") as caught:
        find_keyring().key_of(ADDRESS)

    assert seen_in(str(caught.value)) == []
    assert caught.value.__context__ is None


def test_another_wallets_key_is_not_opened_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Kept()
    install(monkeypatch, backend)
    backend.entries[SERVICE, "0x" + "11" * 20] = KEY_TEXT

    with pytest.raises(KeyringUnusableError, match="another wallet's key") as refused:
        find_keyring().key_of("0x" + "11" * 20)

    assert open_secrets(refused.value) == []


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
        threading.Event().wait()


def test_a_keyring_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Slow())
    found = find_keyring(seconds=0.2)

    with pytest.raises(KeyringUnusableError, match=r"did not answer within 0\.2 s"):
        found.keep(PrivateKey(KEY))

    asking = [thread for thread in threading.enumerate() if thread.name == "keyring"]
    assert asking
    assert all(thread.daemon for thread in asking), "it would hold the process after its end"
    assert ANSWER_SECONDS == 30, "for a person who types into a dialog"


class Thinking(Kept):
    def get_password(self, service: str, username: str) -> str | None:
        time.sleep(0)
        return super().get_password(service, username)


def test_a_keyring_that_takes_a_moment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Thinking())
    found = find_keyring()
    found.keep(PrivateKey(KEY))
    assert found.key_of(ADDRESS).reveal() == KEY


@pytest.mark.parametrize(
    ("backends", "said"),
    [
        ([], "has no keyring that answers"),
        (["fail.Keyring"], "has no keyring that answers"),
        (["fail.Keyring", "null.Keyring", "chainer.Other"], r"is keyring\.backends\.null\.Keyring"),
    ],
)
def test_without_a_trusted_keyring_it_is_said_what_there_is(
    monkeypatch: pytest.MonkeyPatch, backends: list[str], said: str
) -> None:
    def named(place: str, **fields: object) -> object:
        module, name = place.split(".")
        return type(name, (), {"__module__": f"keyring.backends.{module}", **fields})()

    chain = named("chainer.ChainerBackend", backends=[named(each) for each in backends])
    monkeypatch.setattr(keyring, "get_keyring", lambda: chain)
    with pytest.raises(KeyringUnusableError, match=said):
        find_keyring()


class Refusing(Kept):
    error: type[Exception] = OSError

    def set_password(self, service: str, username: str, password: str) -> None:
        raise self.error

    def delete_password(self, service: str, username: str) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InitError, "is locked or not set up"),
        (PasswordSetError, "refused to keep the key"),
        (PasswordDeleteError, "refused to delete the key"),
        (OSError, r"cannot be used \(OSError\)"),
    ],
)
def test_why_a_keyring_refuses_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception], said: str
) -> None:
    backend = Refusing()
    backend.error = error
    install(monkeypatch, backend)
    found = find_keyring()
    backend.entries[SERVICE, ADDRESS] = KEY_TEXT
    with pytest.raises(KeyringUnusableError, match=f"Secret Service {said}"):
        found.keep(PrivateKey(KEY))
    with pytest.raises(KeyringUnusableError, match=f"Secret Service {said}"):
        found.forget(ADDRESS)
