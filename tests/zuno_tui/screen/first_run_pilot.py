"""The first run as it is gone through by keys, and what it says and is closed with."""

from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Static

from chain.base.home import Home
from tests.waiting import pauses
from zuno_tui.app import first_steps
from zuno_tui.screen.screens.first_run import FirstRunScreen

ADDRESS = "0x2A66090E5fbA13c69cC270A0B48A8Ee5c73A6F4f".lower()
KEY = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
ENDPOINT = "https://rpc.example/v2/abcdef"
CHOICES_DOWN = {"watch": 1, "hardware": 2, "new": 3, "key": 4, "seed": 5, "keystore": 6}
NETWORKS = [network.name for network in first_steps.networks_to_offer()]
BASE = ("down",) * NETWORKS.index("base")


def begin(choice: str) -> tuple[str, ...]:
    return (*("down",) * CHOICES_DOWN[choice], "enter")


WATCH, IMPORT = begin("watch"), begin("key")


class Answered:
    """What the screen was closed with."""

    def __init__(self) -> None:
        self.choices: list[str | None] = []

    def __call__(self, choice: str | None) -> None:
        self.choices.append(choice)


async def opened(pilot: Pilot[None], home: Home, answered: Answered) -> FirstRunScreen:
    screen = FirstRunScreen(home)
    pilot.app.push_screen(screen, answered)
    await pilot.pause()
    return screen


async def paste(pilot: Pilot[None], text: str) -> None:
    pilot.app.post_message(Paste(text))
    await pilot.pause()


async def settled(pilot: Pilot[None]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def trial_told(pilot: Pilot[None], screen: FirstRunScreen, words: str) -> str:
    """What trying the endpoint found, once these words are there."""
    for pause in pauses(repr(words)):
        found = str(screen.query_one("#first-trial", Static).content)
        if words in found:
            return found
        await pilot.pause(pause)
    raise AssertionError


def said(screen: FirstRunScreen) -> str:
    return str(screen.query_one("#first-said", Static).content)
