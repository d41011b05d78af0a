"""The first minute: look around in the demo, watch an address, or bring a key."""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import TYPE_CHECKING, ClassVar, Literal

from msgspec import Struct
from textual import work
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from chain.base.clean_text import DROP
from chain.base.secrecy import looks_secret
from chain.contracts.checksum import checksummed
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.hidden_field import HiddenField
from zuno_tui.screen.panes.plain_text import PlainText
from zuno_tui.session import first_steps
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from chain.base.home import Home
    from chain.contracts.networks import Network
    from chain.names.ens import ResolvedName
    from chain.wallet.secrets import Passphrase, PrivateKey


class SetupStep(Enum):
    CHOICE = auto()
    NETWORK = auto()
    ENDPOINT = auto()
    ADDRESS = auto()
    KEY = auto()
    PASSPHRASE = auto()
    AGAIN = auto()


class SetupWords(Struct, frozen=True):
    title: str
    words: str
    field: str
    """The id of what is typed or chosen with."""


STEPS = {
    SetupStep.CHOICE: SetupWords(
        "Welcome to zuno",
        "A desk for people who provide liquidity on Uniswap v4.\n"
        "Nothing is ever signed unless you type the word for it.",
        "first-choice",
    ),
    SetupStep.NETWORK: SetupWords(
        "Which network?", "You can switch later: switch to base", "first-network"
    ),
    SetupStep.ENDPOINT: SetupWords("Which endpoint?", "", "first-line"),
    SetupStep.ADDRESS: SetupWords(
        "Whose positions?",
        "An address, 0x and 40 digits, or an ENS name. Watching needs no key and can sign nothing.",
        "first-line",
    ),
    SetupStep.KEY: SetupWords(
        "The private key",
        "64 hexadecimal digits, not shown. It goes into the system's keyring, or into a file\n"
        "encrypted under a passphrase. The same from a shell: zuno wallet import",
        "first-secret",
    ),
    SetupStep.PASSPHRASE: SetupWords("A passphrase for the key's file", "", "first-secret"),
    SetupStep.AGAIN: SetupWords(
        "The same passphrase again",
        "So that a slip does not lock the key away. Keep a copy of the file, and the passphrase.",
        "first-secret",
    ),
}
CHOICES = (
    ("demo", "Look around in the demo", "on this machine; no key, no network"),
    ("watch", "Watch an address", "see and ask for advice; no key"),
    ("key", "Import a key", "the same, and sign what you approve"),
)
BEFORE = {
    SetupStep.NETWORK: SetupStep.CHOICE,
    SetupStep.ENDPOINT: SetupStep.NETWORK,
    SetupStep.ADDRESS: SetupStep.ENDPOINT,
    SetupStep.KEY: SetupStep.ENDPOINT,
    SetupStep.PASSPHRASE: SetupStep.KEY,
    SetupStep.AGAIN: SetupStep.KEY,
}


def choice_row(title: str, means: str) -> Content:
    return Content.assemble((f"{title:<26}", "bold"), means)


def network_row(network: Network) -> Content:
    own = "its own endpoint" if network.endpoints else "needs an endpoint of yours"
    testing = " · for testing" if network.testnet else ""
    return Content.assemble((f"{network.title:<26}", "bold"), f"{own}{testing}")


def endpoint_words(network: Network) -> str:
    if network.endpoints:
        return (
            f"Enter alone takes {network.title}'s own endpoint. A URL of yours is faster; it is\n"
            "kept in settings.toml, which only you can read."
        )
    return (
        f"{network.title} has no endpoint of its own: give the URL of one. It is kept in\n"
        "settings.toml, which only you can read."
    )


FirstChoice = Literal["demo", "desk"]
_HERE, _NOT_HERE = Content("› "), Content("  ")


class MarkedList(OptionList):
    """A list whose chosen line has a mark before it, so that no colour need tell it."""

    _pointed_at: int | None = None

    def __init__(self, rows: Sequence[Content], *, id: str) -> None:  # noqa: A002
        # Before the list itself, which points at its first line while it is being made.
        self._rows = rows
        super().__init__(*(Option(_NOT_HERE + row) for row in rows), id=id)

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        for place, mark in ((self._pointed_at, _NOT_HERE), (highlighted, _HERE)):
            if place is not None:
                self.replace_option_prompt_at_index(place, mark + self._rows[place])
        self._pointed_at = highlighted


class FirstRunScreen(Screen[FirstChoice | None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", id="first.back"),
    ]
    CSS = """
    FirstRunScreen { align: center middle; background: $background; }
    #first {
        width: 90%; max-width: 92; height: auto; border: round $primary; padding: 1 2;
        border-title-style: bold; border-title-color: $primary; border-subtitle-color: $quiet;
        background: $surface;
    }
    #first-words { height: auto; margin-bottom: 1; }
    #first OptionList {
        height: auto; max-height: 14; border: none; padding: 0;
        background: $surface; background-tint: $surface;
    }
    #first .option-list--option-highlighted {
        background: $panel; color: $primary; text-style: $block-cursor-text-style;
    }
    #first-line { border: none; height: 1; padding: 0 1; background: $panel; }
    #first-secret { height: 1; padding: 0 1; background: $panel; }
    #first-said { height: auto; min-height: 1; margin-top: 1; color: $warning; }
    """

    def __init__(self, home: Home) -> None:
        super().__init__()
        self._home = home
        self._networks = first_steps.networks_to_offer()
        self._network = self._networks[0]
        self._brings_key = False
        self._place = first_steps.StartPlace(self._network)
        self._key: PrivateKey | None = None
        self._passphrase: Passphrase | None = None
        self._step = SetupStep.CHOICE
        self._waits = False

    def compose(self) -> ComposeResult:
        with Vertical(id="first"):
            yield PlainText("", id="first-words")
            choices = [choice_row(title, means) for _, title, means in CHOICES]
            yield MarkedList(choices, id="first-choice")
            yield MarkedList(list(map(network_row, self._networks)), id="first-network")
            line = Input(id="first-line", select_on_focus=False)
            # A blinking cursor would send bytes for as long as nobody types.
            line.cursor_blink = False
            yield line
            yield HiddenField(id="first-secret")
            yield PlainText("", id="first-said")

    def on_mount(self) -> None:
        self._show(SetupStep.CHOICE)

    def on_unmount(self) -> None:
        self._forget()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_list.id == "first-network":
            self._network = self._networks[event.option_index]
            self._show(SetupStep.ENDPOINT)
            return
        name, *_ = CHOICES[event.option_index]
        if name == "demo":
            self.dismiss("demo")
        else:
            self._brings_key = name == "key"
            self._show(SetupStep.NETWORK)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        text = event.value.translate(DROP).strip()
        if self._step is SetupStep.ENDPOINT:
            self._choose_place(text)
        elif looks_secret(text):
            event.input.clear()
            self._say("That looks like a key, and was not kept. Go back and choose to import it.")
        elif "." in text:
            self._look_up(text)
        else:
            self._watch(text)

    def on_hidden_field_entered(self, event: HiddenField.Entered) -> None:
        typed = event.field.take()
        match self._step:
            case SetupStep.KEY:
                self._take_key(typed)
            case SetupStep.PASSPHRASE:
                self._take_passphrase(typed)
            case _:
                self._take_again(typed)

    def action_back(self) -> None:
        """One step back; from the first one, out."""
        if self._waits:
            return
        self._forget()
        if self._step is SetupStep.CHOICE:
            self.dismiss(None)
        else:
            self._show(BEFORE[self._step])

    def _choose_place(self, endpoint: str) -> None:
        try:
            self._place = first_steps.checked_place(self._network, endpoint)
        except SettingsError as error:
            self._say(str(error))
            return
        self._show(SetupStep.KEY if self._brings_key else SetupStep.ADDRESS)

    @work(group="first run", exclusive=True, exit_on_error=False)
    async def _watch(self, address: str) -> None:
        place = self._place
        failure = await self._failure(lambda: first_steps.watch_address(self._home, place, address))
        if failure is None:
            self.dismiss("desk")
        else:
            self._say(failure)

    @work(group="first run", exclusive=True, exit_on_error=False)
    async def _look_up(self, name: str) -> None:
        """Put the address that a name stands for in its place, to be seen before it is taken."""
        place = self._place
        found: list[ResolvedName] = []
        failure = await self._failure(lambda: found.append(first_steps.looked_up_name(place, name)))
        if failure is not None:
            self._say(failure)
            return
        from zuno_tui.session.names import name_words

        self.query_one(Input).value = checksummed(found[0].address)
        self._say(f"{name_words(found[0])} Enter takes that address.")

    @work(group="first run", exclusive=True, exit_on_error=False)
    async def _take_key(self, typed: bytes) -> None:
        failure = await self._failure(lambda: self._read_key(typed))
        if failure is not None:
            self._say(failure)
            return
        self._say("Asking the system's keyring …")
        trouble = await asyncio.to_thread(first_steps.keyring_trouble)
        if trouble is None:
            await self._keep()
        else:
            words = f"{trouble}\nSo the key goes into a file, encrypted under a passphrase."
            self._show(SetupStep.PASSPHRASE, words)

    def _take_passphrase(self, typed: bytes) -> None:
        from chain.wallet.secrets import Passphrase
        from zuno_tui.session.wallet_secrets import SHORTEST_PASSPHRASE, is_long_enough

        self._passphrase = Passphrase(typed)
        if is_long_enough(self._passphrase):
            self._show(SetupStep.AGAIN)
        else:
            self._say(f"That is too short: at least {SHORTEST_PASSPHRASE} characters.")

    @work(group="first run", exclusive=True, exit_on_error=False)
    async def _take_again(self, typed: bytes) -> None:
        from chain.wallet.secrets import Passphrase

        with Passphrase(typed) as again:
            same = self._passphrase is not None and self._passphrase.equals(again)
        if same:
            self._say("Encrypting the key; this takes a moment on purpose …")
            await self._keep()
        else:
            self._show(SetupStep.PASSPHRASE, "The two differ. Type it again.")

    async def _keep(self) -> None:
        place, key, passphrase = self._place, self._key, self._passphrase
        if key is None:
            return
        failure = await self._failure(
            lambda: first_steps.keep_first_key(self._home, place, key, passphrase)
        )
        if failure is None:
            self.dismiss("desk")
            return
        # What was typed is wiped by now, so it is asked for again from the start.
        self._forget()
        self._show(SetupStep.KEY)
        self._say(failure)

    def _read_key(self, typed: bytes) -> None:
        from chain.wallet.secrets import PrivateKey

        self._key = PrivateKey.from_text(typed.decode("ascii", "replace"))

    async def _failure(self, job: Callable[[], object]) -> str | None:
        """Why the job, done off this loop, did not end well; None where it did."""
        self._waits = True
        try:
            await asyncio.to_thread(job)
        except Exception as error:  # a first run that fails is a sentence and another try
            from zuno_tui.desk.faults import fault_words

            return fault_words(error)
        finally:
            self._waits = False
        return None

    def _show(self, step: SetupStep, words: str | None = None) -> None:
        self._step = step
        told = STEPS[step]
        if step is SetupStep.ENDPOINT:
            words = endpoint_words(self._network)
        sheet = self.query_one("#first")
        sheet.border_title = Content(told.title)
        leaving = "escape quits" if step is SetupStep.CHOICE else "escape goes back"
        sheet.border_subtitle = Content(f"enter goes on · {leaving}")
        self.query_one("#first-words", PlainText).update(_lines(words or told.words))
        for field in self.query("OptionList, Input, HiddenField"):
            field.display = field.id == told.field
        self.query_one(Input).clear()
        self._say("")
        self.set_focus(self.query_one(f"#{told.field}"))

    def _say(self, words: str) -> None:
        self.query_one("#first-said", PlainText).update(literal(words))

    def _forget(self) -> None:
        for secret in (self._key, self._passphrase):
            if secret is not None:
                secret.wipe()
        self._key = self._passphrase = None


def _lines(words: str) -> Content:
    return Content("\n").join(literal(line) for line in words.split("\n"))
