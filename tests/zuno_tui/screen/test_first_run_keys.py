"""Keys that are made or brought in the first minute: where they are kept, and where never."""

from pathlib import Path

import keyring
import pytest
from keyring.backends import fail
from textual.widgets import Input, Static

from chain.base.home import Home
from chain.contracts.addresses import checksum
from chain.contracts.networks import network_named
from chain.wallet.address_book import KeyStorage, read_book
from chain.wallet.keystore import open_key
from chain.wallet.keystore_file import write_keystore
from chain.wallet.secrets import Passphrase, PrivateKey
from tests.zuno_tui.screen.first_run_pilot import (
    ADDRESS,
    BASE,
    IMPORT,
    KEY,
    WATCH,
    Answered,
    begin,
    opened,
    paste,
    said,
    settled,
)
from tests.zuno_tui.screen.scenes import desk_app
from zuno_tui.app import first_steps

SEED = "test test test test test test test test test test test junk"
SECOND_OF_SEED = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"

pytestmark = pytest.mark.usefixtures("endpoints_that_serve", "no_keyring", "lightly_encrypted")


@pytest.fixture
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "get_keyring", fail.Keyring)


async def test_a_key_goes_into_a_file_where_there_is_no_keyring(home: Home) -> None:
    answered = Answered()
    async with desk_app().run_test() as pilot:
        screen = await opened(pilot, home, answered)
        await pilot.press(*IMPORT, *BASE, "enter", "enter")
        await settled(pilot)
        await paste(pilot, "12345")
        await pilot.press("enter")
        await settled(pilot)
        assert "not a private key" in said(screen)
        await paste(pilot, f"0x{KEY}\n")
        await pilot.press("enter")
        await settled(pilot)
        words = str(screen.query_one("#first-words", Static).content)
        assert "keyring" in words
        await pilot.press(*"short", "enter")
        assert "too short" in said(screen)
        await paste(pilot, "a long passphrase")
        await pilot.press("enter")
        await paste(pilot, "another one")
        await pilot.press("enter")
        await settled(pilot)
        assert "The two differ" in str(screen.query_one("#first-words", Static).content)
        for _ in range(2):
            await paste(pilot, "a long passphrase")
            await pilot.press("enter")
        await settled(pilot)

    [wallet] = read_book(home.keystore).wallets
    assert answered.choices == ["desk"]
    assert wallet.keeping is KeyStorage.FILE
    with open_key(home, wallet, lambda: Passphrase.from_text("a long passphrase")) as key:
        assert key.as_text() == KEY
    for path in home.root.rglob("*"):
        if path.is_file():
            assert KEY not in path.read_text("utf-8", errors="replace"), path
            assert path.stat().st_mode & 0o077 == 0, path


async def test_a_key_in_the_addresss_place_is_refused_and_forgotten(home: Home) -> None:
    async with desk_app().run_test() as pilot:
        screen = await opened(pilot, home, Answered())
        await pilot.press(*WATCH, *BASE, "enter", "enter")
        await settled(pilot)
        await paste(pilot, KEY)
        await pilot.press("enter")
        await settled(pilot)

        assert "looks like a key" in said(screen)
        assert screen.query_one(Input).value == ""
    assert not home.root.exists()


@pytest.mark.parametrize("how", ["new", "seed", "keystore"])
async def test_a_key_is_made_or_brought(home: Home, tmp_path: Path, how: str) -> None:
    if how == "seed":
        # What is there already stays, and what was brought is looked at.
        first_steps.watch_address(home, first_steps.StartPlace(network_named("optimism")), ADDRESS)
    answered = Answered()
    phrase = "a long passphrase"
    file = tmp_path / "wallet.json"
    async with desk_app().run_test() as pilot:
        screen = await opened(pilot, home, answered)
        await pilot.press(*begin(how), *BASE, "enter", "enter")
        await settled(pilot)
        if how == "seed":
            await paste(pilot, SEED.replace("junk", "test"))
            await pilot.press("enter")
            await settled(pilot)
            assert "not a seed phrase" in said(screen)
            await paste(pilot, SEED)
            await pilot.press("enter")
            await settled(pilot)
            await pilot.press("down", "enter")
        elif how == "keystore":
            with Passphrase.from_text(phrase) as opening, PrivateKey.from_text(KEY) as key:
                write_keystore(file, key, opening, cost=2)
            await paste(pilot, str(file))
            await pilot.press("enter")
            await paste(pilot, phrase)
            await pilot.press("enter")
        await settled(pilot)
        for _ in range(0 if how == "keystore" else 2):
            await paste(pilot, phrase)
            await pilot.press("enter")
            await settled(pilot)
        if how == "new":
            [made] = read_book(home.keystore).wallets
            assert checksum(made.address) in str(screen.query_one("#first-words", Static).content)
            await pilot.press("escape", "enter")
            await settled(pilot)

    book = read_book(home.keystore)
    [wallet] = [one for one in book.wallets if one.address != ADDRESS]
    assert book.current == wallet.address
    assert answered.choices == ["desk"]
    expected = {"seed": SECOND_OF_SEED, "keystore": KEY}
    with open_key(home, wallet, lambda: Passphrase.from_text(phrase)) as key:
        assert how == "new" or key.as_text() == expected[how]
    for path in home.root.rglob("*"):
        assert not path.is_file() or "junk" not in path.read_text("utf-8", errors="replace")
