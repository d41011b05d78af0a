"""The first minute: what is asked, what it leaves on disk, and what never gets there."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest
from textual.events import Paste
from textual.widgets import Input, Static

from chain.base.home import Home
from chain.contracts.checksum import checksummed
from chain.contracts.networks import network_named
from chain.names.ens import ResolvedName
from chain.wallet.address_book import KeyStorage, read_book
from chain.wallet.keystore import open_key
from chain.wallet.keystore_file import write_keystore
from chain.wallet.secrets import Passphrase, PrivateKey
from tests.zuno_tui.screen.looks import SIZES as LOOKS
from tests.zuno_tui.screen.looks import assert_looks, lines_of
from tests.zuno_tui.screen.scenes import desk_app
from zuno_tui.screen.panes import endpoint_trial
from zuno_tui.screen.screens.first_run import FirstRunScreen
from zuno_tui.session import first_steps
from zuno_tui.session.endpoint_trial import Check, CheckState
from zuno_tui.settings import Flags, load_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.pilot import Pilot

ADDRESS = "0x2A66090E5fbA13c69cC270A0B48A8Ee5c73A6F4f".lower()
SEED = "test test test test test test test test test test test junk"
SECOND_OF_SEED = "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
KEY = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
ENDPOINT = "https://rpc.example/v2/abcdef"
CHOICES_DOWN = {"watch": 1, "hardware": 2, "new": 3, "key": 4, "seed": 5, "keystore": 6}
NETWORKS = [network.name for network in first_steps.networks_to_offer()]
BASE = ("down",) * NETWORKS.index("base")
SIZES = [(80, 24), (120, 36), (200, 50)]


def _begin(choice: str) -> tuple[str, ...]:
    return (*("down",) * CHOICES_DOWN[choice], "enter")


WATCH, IMPORT = _begin("watch"), _begin("key")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endpoints serve; what trying them finds is tried elsewhere."""
    monkeypatch.setattr(endpoint_trial, "TRY_AFTER_SECONDS", 99.0)
    monkeypatch.setattr(
        first_steps, "try_place", lambda _, found: found(Check("RPC", CheckState.WELL, "answers"))
    )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", tmp_path / "cache")


class Answered:
    """What the screen was closed with."""

    def __init__(self) -> None:
        self.choices: list[str | None] = []

    def __call__(self, choice: str | None) -> None:
        self.choices.append(choice)


async def _open(pilot: Pilot[None], home: Home, answered: Answered) -> FirstRunScreen:
    screen = FirstRunScreen(home)
    pilot.app.push_screen(screen, answered)
    await pilot.pause()
    return screen


async def _paste(pilot: Pilot[None], text: str) -> None:
    pilot.app.post_message(Paste(text))
    await pilot.pause()


async def _settled(pilot: Pilot[None]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def _told(pilot: Pilot[None], screen: FirstRunScreen, words: str) -> str:
    """What trying the endpoint found, once these words are there."""
    for _ in range(500):
        found = str(screen.query_one("#first-trial", Static).content)
        if words in found:
            return found
        await pilot.pause(0.02)
    raise AssertionError(f"{words!r} was not told")


def _said(screen: FirstRunScreen) -> str:
    return str(screen.query_one("#first-said", Static).content)


async def test_the_demo_is_one_key_away_and_leaves_nothing(home: Home) -> None:
    answered = Answered()
    async with desk_app().run_test() as pilot:
        await _open(pilot, home, answered)
        await pilot.press("enter")
        await pilot.pause()

    assert answered.choices == ["demo"]
    assert not home.root.exists()


async def test_an_address_is_watched_on_a_network(home: Home) -> None:
    answered = Answered()
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot, home, answered)
        await pilot.press(*WATCH, *BASE, "enter")
        await _paste(pilot, ENDPOINT)
        await pilot.press("enter")
        await _settled(pilot)
        await _paste(pilot, "0x1234")
        await pilot.press("enter")
        await _settled(pilot)
        assert "not an address" in _said(screen)
        screen.query_one(Input).value = ADDRESS
        await pilot.press("enter")
        await _settled(pilot)

    settings = load_settings(home.settings, {}, Flags())
    assert answered.choices == ["desk"]
    assert settings.chosen_network().name == "base"
    assert settings.endpoints_for(settings.chosen_network()) == (ENDPOINT,)
    assert home.settings.stat().st_mode & 0o777 == 0o600
    assert read_book(home.keystore).current == ADDRESS


async def test_a_name_gives_way_to_its_address_which_is_entered(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = Answered()
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot, home, answered)
        await pilot.press(*WATCH, *BASE, "enter", "enter")
        await _settled(pilot)
        await _paste(pilot, "alice.eth")
        await pilot.press("enter")
        await _settled(pilot)
        assert "[rpc]" in _said(screen)

        found = ResolvedName("alice.eth", ADDRESS, "other.eth")
        monkeypatch.setattr(first_steps, "looked_up_name", lambda _place, _name: found)
        await pilot.press("enter")
        await _settled(pilot)
        assert answered.choices == []
        assert screen.query_one(Input).value == checksummed(ADDRESS)
        assert "other.eth" in _said(screen)
        await pilot.press("enter")
        await _settled(pilot)

    assert answered.choices == ["desk"]
    assert read_book(home.keystore).current == ADDRESS


async def test_a_networks_own_endpoint_needs_no_line_in_the_settings(home: Home) -> None:
    answered = Answered()
    async with desk_app().run_test() as pilot:
        await _open(pilot, home, answered)
        await pilot.press(*WATCH, *BASE, "enter", "enter")
        await _settled(pilot)
        await _paste(pilot, ADDRESS)
        await pilot.press("enter")
        await _settled(pilot)

    assert answered.choices == ["desk"]
    assert tomllib.loads(home.settings.read_text("utf-8")) == {"network": "base"}


async def test_a_network_without_an_endpoint_asks_for_one(home: Home) -> None:
    answered = Answered()
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot, home, answered)
        ethereum = ("down",) * NETWORKS.index("ethereum")
        await pilot.press(*WATCH, *ethereum, "enter", "enter")
        await _settled(pilot)
        assert "give the URL of one" in _said(screen)
        await _paste(pilot, "not a url")
        await pilot.press("enter")
        await pilot.pause()
        assert "must be a URL" in _said(screen)

    assert answered.choices == []


async def test_a_key_goes_into_a_file_where_there_is_no_keyring(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_steps, "keyring_trouble", lambda: "There is no keyring here.")
    monkeypatch.setattr("chain.wallet.keystore_file.cost_for", lambda _: 2)
    answered = Answered()
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot, home, answered)
        await pilot.press(*IMPORT, *BASE, "enter", "enter")
        await _settled(pilot)
        await _paste(pilot, "12345")
        await pilot.press("enter")
        await _settled(pilot)
        assert "not a private key" in _said(screen)
        await _paste(pilot, f"0x{KEY}\n")
        await pilot.press("enter")
        await _settled(pilot)
        words = str(screen.query_one("#first-words", Static).content)
        assert "There is no keyring here." in words
        await pilot.press(*"short", "enter")
        assert "too short" in _said(screen)
        await _paste(pilot, "a long passphrase")
        await pilot.press("enter")
        await _paste(pilot, "another one")
        await pilot.press("enter")
        await _settled(pilot)
        assert "The two differ" in str(screen.query_one("#first-words", Static).content)
        for _ in range(2):
            await _paste(pilot, "a long passphrase")
            await pilot.press("enter")
        await _settled(pilot)

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
        screen = await _open(pilot, home, Answered())
        await pilot.press(*WATCH, *BASE, "enter", "enter")
        await _settled(pilot)
        await _paste(pilot, KEY)
        await pilot.press("enter")
        await _settled(pilot)

        assert "looks like a key" in _said(screen)
        assert screen.query_one(Input).value == ""
    assert not home.root.exists()


async def test_a_home_that_cannot_be_written_is_one_sentence(home: Home) -> None:
    home.root.write_text("in the way")
    answered = Answered()
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot, home, answered)
        await pilot.press(*WATCH, *BASE, "enter", "enter")
        await _settled(pilot)
        await _paste(pilot, ADDRESS)
        await pilot.press("enter")
        await _settled(pilot)

        assert _said(screen)
    assert answered.choices == []


async def test_escape_goes_back_step_by_step_and_then_out(home: Home) -> None:
    answered = Answered()
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot, home, answered)
        await pilot.press(*IMPORT, *BASE, "enter", "enter")
        await _settled(pilot)
        await pilot.press(*"abc")
        titles = []
        for _ in range(4):
            titles.append(str(screen.query_one("#first").border_title))
            await pilot.press("escape")
            await pilot.pause()

    assert titles == ["The private key", "Which endpoint?", "Which network?", "Welcome to zuno"]
    assert answered.choices == [None]
    assert not home.root.exists()


def test_networks_that_can_be_read_at_once_come_first() -> None:
    offered = first_steps.networks_to_offer()
    live = [bool(one.endpoints) for one in offered if not one.testnet]
    assert live == sorted(live, reverse=True)
    assert offered[0].endpoints


async def test_an_endpoint_that_does_not_serve_is_taken_only_when_one_insists(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def fails(place: first_steps.StartPlace, found: Callable[[Check], None]) -> None:
        tried.append(place.endpoint)
        found(Check("RPC", CheckState.BROKEN, "It is a web page.", "Copy another URL."))

    monkeypatch.setattr(endpoint_trial, "TRY_AFTER_SECONDS", 0.01)
    monkeypatch.setattr(first_steps, "try_place", fails)
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot, home, Answered())
        await pilot.press(*WATCH, *BASE, "enter")
        await _settled(pilot)
        await _paste(pilot, ENDPOINT)
        trial = await _told(pilot, screen, "Copy another URL.")
        title = str(screen.query_one("#first").border_title)
        await pilot.press("enter")
        await _settled(pilot)
        warned = _said(screen)
        await pilot.press("enter")
        await _settled(pilot)
        after = str(screen.query_one("#first").border_title)
        shown = "\n".join(lines_of(pilot))

    assert tried[-1] == ENDPOINT
    assert "✗" in trial
    assert title == "Which endpoint?"
    assert "all the same" in warned
    assert after == "Whose positions?"
    assert "abcdef" not in shown


FOUND = (
    Check("RPC", CheckState.WELL, "answers in 82 ms"),
    Check("chain id", CheckState.WELL, "8453, as Base should"),
    Check("head", CheckState.WELL, "block 31,204,113, 2 s old"),
    Check("logs", CheckState.CAUTION, "of 10 blocks at once", "Owners are asked for instead."),
    Check("archive", CheckState.CAUTION, "no state of old blocks", "The past is told from logs."),
)


async def test_how_a_tried_endpoint_looks(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def finds(_: first_steps.StartPlace, found: Callable[[Check], None]) -> None:
        for check in FOUND:
            found(check)

    monkeypatch.setattr(endpoint_trial, "TRY_AFTER_SECONDS", 0.01)
    monkeypatch.setattr(first_steps, "try_place", finds)
    async with desk_app().run_test(size=LOOKS[-1]) as pilot:
        screen = await _open(pilot, home, Answered())
        await pilot.press(*WATCH, *BASE, "enter")
        await _paste(pilot, ENDPOINT.replace("abcdef", "8e1fCANARY77b0"))
        await _told(pilot, screen, "from logs")
        for width, height in reversed(LOOKS):
            await pilot.resize_terminal(width, height)
            drawn = await assert_looks(f"tried endpoint {width}x{height}", pilot)
            assert "CANARY" not in "\n".join(drawn)


@pytest.mark.parametrize("how", ["new", "seed", "keystore"])
async def test_a_key_is_made_or_brought(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str
) -> None:
    monkeypatch.setattr(first_steps, "keyring_trouble", lambda: "There is no keyring here.")
    monkeypatch.setattr("chain.wallet.keystore_file.cost_for", lambda _: 2)
    if how == "seed":
        # What is there already stays, and what was brought is looked at.
        first_steps.watch_address(home, first_steps.StartPlace(network_named("optimism")), ADDRESS)
    answered = Answered()
    phrase = "a long passphrase"
    file = tmp_path / "wallet.json"
    async with desk_app().run_test() as pilot:
        screen = await _open(pilot, home, answered)
        await pilot.press(*_begin(how), *BASE, "enter", "enter")
        await _settled(pilot)
        if how == "seed":
            await _paste(pilot, SEED.replace("junk", "test"))
            await pilot.press("enter")
            await _settled(pilot)
            assert "not a seed phrase" in _said(screen)
            await _paste(pilot, SEED)
            await pilot.press("enter")
            await _settled(pilot)
            await pilot.press("down", "enter")
        elif how == "keystore":
            with Passphrase.from_text(phrase) as opening, PrivateKey.from_text(KEY) as key:
                write_keystore(file, key, opening, cost=2)
            await _paste(pilot, str(file))
            await pilot.press("enter")
            await _paste(pilot, phrase)
            await pilot.press("enter")
        await _settled(pilot)
        for _ in range(0 if how == "keystore" else 2):
            await _paste(pilot, phrase)
            await pilot.press("enter")
            await _settled(pilot)
        if how == "new":
            [made] = read_book(home.keystore).wallets
            assert checksummed(made.address) in str(
                screen.query_one("#first-words", Static).content
            )
            await pilot.press("escape", "enter")
            await _settled(pilot)

    book = read_book(home.keystore)
    [wallet] = [one for one in book.wallets if one.address != ADDRESS]
    assert book.current == wallet.address
    assert answered.choices == ["desk"]
    expected = {"seed": SECOND_OF_SEED, "keystore": KEY}
    with open_key(home, wallet, lambda: Passphrase.from_text(phrase)) as key:
        assert how == "new" or key.as_text() == expected[how]
    for path in home.root.rglob("*"):
        assert not path.is_file() or "junk" not in path.read_text("utf-8", errors="replace")


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x36", "200x50"])
def test_how_it_looks(snap_compare: Callable[..., bool], home: Home, size: tuple[int, int]) -> None:
    async def before(pilot: Pilot[None]) -> None:
        await pilot.pause()
        await _open(pilot, home, Answered())
        await pilot.press("down")

    assert snap_compare(desk_app(), run_before=before, terminal_size=size)
