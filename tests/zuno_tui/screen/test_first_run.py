"""The first minute: what is asked, what it leaves on disk, and what never gets there."""

import tomllib
from collections.abc import Callable

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from chain.base.home import Home
from chain.contracts.addresses import checksum
from chain.names.ens import ResolvedName
from chain.wallet.address_book import read_book
from tests.zuno_tui.screen.first_run_pilot import (
    ADDRESS,
    BASE,
    ENDPOINT,
    IMPORT,
    NETWORKS,
    WATCH,
    Answered,
    opened,
    paste,
    said,
    settled,
    trial_told,
)
from tests.zuno_tui.screen.looks import SIZES as LOOKS
from tests.zuno_tui.screen.looks import assert_looks, lines_of
from tests.zuno_tui.screen.scenes import desk_app
from zuno_tui.app import first_steps
from zuno_tui.app.first_steps import Check, CheckState
from zuno_tui.screen.panes import endpoint_trial
from zuno_tui.settings import Flags, load_settings

pytestmark = pytest.mark.usefixtures("endpoints_that_serve")

SIZES = [(80, 24), (120, 36), (200, 50)]


async def test_the_demo_is_one_key_away_and_leaves_nothing(home: Home) -> None:
    answered = Answered()
    async with desk_app().run_test() as pilot:
        await opened(pilot, home, answered)
        await pilot.press("enter")
        await pilot.pause()

    assert answered.choices == ["demo"]
    assert not home.root.exists()


async def test_an_address_is_watched_on_a_network(home: Home) -> None:
    answered = Answered()
    async with desk_app().run_test() as pilot:
        screen = await opened(pilot, home, answered)
        await pilot.press(*WATCH, *BASE, "enter")
        await paste(pilot, ENDPOINT)
        await pilot.press("enter")
        await settled(pilot)
        await paste(pilot, "0x1234")
        await pilot.press("enter")
        await settled(pilot)
        assert "not an address" in said(screen)
        screen.query_one(Input).value = ADDRESS
        await pilot.press("enter")
        await settled(pilot)

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
        screen = await opened(pilot, home, answered)
        await pilot.press(*WATCH, *BASE, "enter", "enter")
        await settled(pilot)
        await paste(pilot, "alice.eth")
        await pilot.press("enter")
        await settled(pilot)
        assert "[rpc]" in said(screen)

        found = ResolvedName("alice.eth", ADDRESS, "other.eth")
        monkeypatch.setattr(first_steps, "looked_up_name", lambda _place, _name: found)
        await pilot.press("enter")
        await settled(pilot)
        assert answered.choices == []
        assert screen.query_one(Input).value == checksum(ADDRESS)
        assert "other.eth" in said(screen)
        await pilot.press("enter")
        await settled(pilot)

    assert answered.choices == ["desk"]
    assert read_book(home.keystore).current == ADDRESS


async def test_a_networks_own_endpoint_needs_no_line_in_the_settings(home: Home) -> None:
    answered = Answered()
    async with desk_app().run_test() as pilot:
        await opened(pilot, home, answered)
        await pilot.press(*WATCH, *BASE, "enter", "enter")
        await settled(pilot)
        await paste(pilot, ADDRESS)
        await pilot.press("enter")
        await settled(pilot)

    assert answered.choices == ["desk"]
    assert tomllib.loads(home.settings.read_text("utf-8")) == {"network": "base"}


async def test_a_network_without_an_endpoint_asks_for_one(home: Home) -> None:
    answered = Answered()
    async with desk_app().run_test() as pilot:
        screen = await opened(pilot, home, answered)
        ethereum = ("down",) * NETWORKS.index("ethereum")
        await pilot.press(*WATCH, *ethereum, "enter", "enter")
        await settled(pilot)
        assert "give the URL of one" in said(screen)
        await paste(pilot, "not a url")
        await pilot.press("enter")
        await pilot.pause()
        assert "must be a URL" in said(screen)

    assert answered.choices == []


async def test_a_home_that_cannot_be_written_is_one_sentence(home: Home) -> None:
    home.root.write_text("in the way")
    answered = Answered()
    async with desk_app().run_test() as pilot:
        screen = await opened(pilot, home, answered)
        await pilot.press(*WATCH, *BASE, "enter", "enter")
        await settled(pilot)
        await paste(pilot, ADDRESS)
        await pilot.press("enter")
        await settled(pilot)

        assert said(screen)
    assert answered.choices == []


async def test_escape_goes_back_step_by_step_and_then_out(home: Home) -> None:
    answered = Answered()
    async with desk_app().run_test() as pilot:
        screen = await opened(pilot, home, answered)
        await pilot.press(*IMPORT, *BASE, "enter", "enter")
        await settled(pilot)
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
        screen = await opened(pilot, home, Answered())
        await pilot.press(*WATCH, *BASE, "enter")
        await settled(pilot)
        await paste(pilot, ENDPOINT)
        trial = await trial_told(pilot, screen, "Copy another URL.")
        title = str(screen.query_one("#first").border_title)
        await pilot.press("enter")
        await settled(pilot)
        warned = said(screen)
        await pilot.press("enter")
        await settled(pilot)
        after = str(screen.query_one("#first").border_title)
        shown = "\n".join(lines_of(pilot))

    assert tried[-1] == ENDPOINT
    assert "✗" in trial
    assert title == "Which endpoint?"
    assert "anyway" in warned
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
        screen = await opened(pilot, home, Answered())
        await pilot.press(*WATCH, *BASE, "enter")
        await paste(pilot, ENDPOINT.replace("abcdef", "8e1fCANARY77b0"))
        await trial_told(pilot, screen, "from logs")
        for width, height in reversed(LOOKS):
            await pilot.resize_terminal(width, height)
            drawn = await assert_looks(f"tried endpoint {width}x{height}", pilot)
            assert "CANARY" not in "\n".join(drawn)


@pytest.mark.every_update
@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x36", "200x50"])
def test_how_it_looks(snap_compare: Callable[..., bool], home: Home, size: tuple[int, int]) -> None:
    async def before(pilot: Pilot[None]) -> None:
        await pilot.pause()
        await opened(pilot, home, Answered())
        await pilot.press("down")

    assert snap_compare(desk_app(), run_before=before, terminal_size=size)
