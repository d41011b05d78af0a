"""The first minute: look around in the demo, watch an address, or bring or make a key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList

from chain.base.clean_text import DROP, looks_secret
from chain.base.home import Home
from chain.contracts.addresses import checksum
from chain.names.ens import ResolvedName
from chain.wallet.secrets import Passphrase, PrivateKey
from zuno_tui.app import first_steps
from zuno_tui.screen.panes.endpoint_trial import EndpointTrial
from zuno_tui.screen.panes.fields import HiddenField, UrlMask
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.marked_list import MarkedList
from zuno_tui.screen.panes.text import PlainText
from zuno_tui.screen.screens.first_run_steps import (
    AFTER_ENDPOINT,
    BEFORE,
    BEFORE_FUNDS,
    CHOICES,
    HARDWARE_WORDS,
    STEPS,
    Beginning,
    SetupStep,
    account_rows,
    choice_rows,
    endpoint_words,
    network_rows,
    welcome,
)
from zuno_tui.settings import SettingsError

if TYPE_CHECKING:
    from textual.app import ComposeResult


class BroughtKeys:
    def __init__(self) -> None:
        self.keys: tuple[PrivateKey, ...] = ()
        """Of a seed phrase those of several accounts, else one."""
        self.passphrase: Passphrase | None = None

    @property
    def knows_passphrase(self) -> bool:
        """Whether there is one that is long enough to keep a key under."""
        from zuno_tui.app.wallet_secrets import is_long_enough

        return self.passphrase is not None and is_long_enough(self.passphrase)

    def bring(self, *keys: PrivateKey) -> None:
        self.keys = keys

    def choose(self, place: int) -> None:
        """This one alone; the others are wiped."""
        for other in (*self.keys[:place], *self.keys[place + 1 :]):
            other.wipe()
        self.keys = (self.keys[place],)

    def is_passphrase(self, typed: bytes) -> bool:
        """Whether the same was typed again."""
        from chain.wallet.secrets import Passphrase

        with Passphrase(typed) as again:
            return self.passphrase is not None and self.passphrase.equals(again)

    def forget(self) -> None:
        for key in self.keys:
            key.wipe()
        self.keys = ()
        self.forget_passphrase()

    def forget_passphrase(self) -> None:
        if self.passphrase is not None:
            self.passphrase.wipe()
        self.passphrase = None


FirstChoice = Literal["demo", "desk"]
_ACCOUNTS = range(5)


class FirstRunScreen(Screen[FirstChoice | None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", "back", id="first.back")]
    CSS = """
    FirstRunScreen { align: center middle; background: $background; }
    #first {
        width: 76; max-width: 95%; height: auto; border: round $primary; padding: 1 2;
        border-title-style: bold; border-title-color: $primary; border-subtitle-color: $quiet;
        background: $surface;
    }
    #first-words { height: auto; margin-bottom: 1; }
    #first OptionList {
        height: auto; max-height: 16; border: none; padding: 0;
        background: $surface; background-tint: $surface;
    }
    #first .option-list--separator { color: $line; }
    #first-line { border: none; height: 1; padding: 0 1; background: $panel; }
    #first-secret { height: 1; padding: 0 1; background: $panel; }
    #first-trial { height: auto; margin-top: 1; }
    #first-said { height: auto; margin-top: 1; color: $warning; }
    """

    def __init__(self, home: Home) -> None:
        super().__init__()
        self._home = home
        self._networks = first_steps.networks_to_offer()
        self._network = self._networks[0]
        self._beginning: Beginning = "watch"
        self._place = first_steps.StartPlace(self._network)
        self._brought = BroughtKeys()
        self._file = Path()
        self._step = SetupStep.CHOICE
        self._waits = False
        self._insists = False
        """Whether an endpoint that does not serve is taken all the same."""
        self._goes_on = False
        """Whether Enter was pressed before the endpoint was tried."""

    def compose(self) -> ComposeResult:
        with Vertical(id="first"):
            yield PlainText("", id="first-words")
            yield MarkedList(choice_rows(), id="first-list")
            line = Input(id="first-line", select_on_focus=False)
            # A blinking cursor would send bytes for as long as nobody types.
            line.cursor_blink = False
            yield line
            yield HiddenField(id="first-secret")
            yield EndpointTrial(id="first-trial")
            yield PlainText("", id="first-said")

    def on_mount(self) -> None:
        self._show(SetupStep.CHOICE)

    def on_unmount(self) -> None:
        self._brought.forget()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        match self._step:
            case SetupStep.CHOICE:
                self._beginning, *_ = CHOICES[event.option_index]
                if self._beginning == "demo":
                    self.dismiss("demo")
                else:
                    self._show(SetupStep.NETWORK)
            case SetupStep.NETWORK:
                self._network = self._networks[event.option_index]
                self._show(SetupStep.ENDPOINT)
            case SetupStep.ACCOUNT:
                self._brought.choose(event.option_index)
                self._take_key(None)
            case _:
                self.dismiss("desk")

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._step is SetupStep.ENDPOINT:
            self._insists = self._goes_on = False
            self._say("")
            self.query_one(EndpointTrial).begin_soon(self._network, event.value.strip())

    def on_endpoint_trial_finished(self) -> None:
        if self._goes_on and self._step is SetupStep.ENDPOINT:
            self._choose_place(self.query_one(Input).value.translate(DROP).strip())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        text = event.value.translate(DROP).strip()
        if self._step is SetupStep.ENDPOINT:
            self._choose_place(text)
        elif looks_secret(text):
            event.input.clear()
            self._say("That looks like a key, and was not kept. Go back and choose to import it.")
        elif self._step is SetupStep.FILE:
            self._choose_file(text)
        elif "." in text:
            self._look_up(text)
        else:
            self._watch(text)

    def on_hidden_field_entered(self, event: HiddenField.Entered) -> None:
        typed = event.field.take()
        match self._step:
            case SetupStep.KEY:
                self._take_key(lambda: first_steps.key_typed(typed))
            case SetupStep.SEED:
                self._take_seed(typed)
            case SetupStep.OPENING:
                self._take_keystore(typed)
            case SetupStep.PASSPHRASE:
                self._take_passphrase(typed)
            case _:
                self._take_again(typed)

    def action_back(self) -> None:
        """One step back; from the first one, out."""
        if self._waits or self._step is SetupStep.KEPT:
            return
        self._brought.forget()
        if self._step is SetupStep.CHOICE:
            self.dismiss(None)
        else:
            self._show(BEFORE[self._step])

    def _choose_place(self, endpoint: str) -> None:
        try:
            place = first_steps.checked_place(self._network, endpoint)
        except SettingsError as error:
            self._say(str(error))
            return
        trial = self.query_one(EndpointTrial)
        if not trial.ended:
            self._goes_on = True
            trial.begin(self._network, endpoint)
            return
        if trial.is_broken and not self._insists:
            self._insists, self._goes_on = True, False
            self._say("It does not work. Press Enter again to use it anyway.")
            return
        self._place = place
        if self._beginning == "new":
            self._take_key(first_steps.new_key)
        else:
            self._show(AFTER_ENDPOINT[self._beginning])

    @work(group="first run", exclusive=True, exit_on_error=False)
    async def _watch(self, address: str) -> None:
        place = self._place
        failure = await self._failure(lambda: first_steps.watch_address(self._home, place, address))
        self._say(failure) if failure else self.dismiss("desk")

    @work(group="first run", exclusive=True, exit_on_error=False)
    async def _look_up(self, name: str) -> None:
        """Put the address that a name stands for in its place, to be seen before it is taken."""
        place = self._place
        found: list[ResolvedName] = []
        failure = await self._failure(lambda: found.append(first_steps.looked_up_name(place, name)))
        if failure is not None:
            self._say(failure)
            return
        from zuno_tui.app.portfolio import name_words

        self.query_one(Input).value = checksum(found[0].address)
        self._say(f"{name_words(found[0])} Enter takes that address.")

    def _choose_file(self, text: str) -> None:
        self._file = Path(text).expanduser()
        if self._file.is_file():
            self._show(SetupStep.OPENING)
        else:
            self._say("There is no such file. Write where it is, like ~/keystore.json")

    @work(group="first run", exclusive=True, exit_on_error=False)
    async def _take_seed(self, typed: bytes) -> None:
        self._say("Deriving the accounts …")
        failure = await self._failure(
            lambda: self._brought.bring(*first_steps.keys_of_seed(typed, _ACCOUNTS))
        )
        self._say(failure) if failure else self._show(SetupStep.ACCOUNT)

    @work(group="first run", exclusive=True, exit_on_error=False)
    async def _take_keystore(self, typed: bytes) -> None:
        from chain.wallet.secrets import Passphrase

        self._say("Opening the file; this takes a moment on purpose …")
        opening = Passphrase(typed)
        failure = await self._failure(
            lambda: self._brought.bring(first_steps.key_in_keystore(self._file, opening))
        )
        if failure is not None:
            opening.wipe()
            self._say(failure)
            return
        # Kept in a file, it opens with the passphrase its owner already knows.
        self._brought.passphrase = opening
        await self._find_place()

    @work(group="first run", exclusive=True, exit_on_error=False)
    async def _take_key(self, make: Callable[[], PrivateKey] | None) -> None:
        if make is not None:
            failure = await self._failure(lambda: self._brought.bring(make()))
            if failure is not None:
                self._say(failure)
                return
        await self._find_place()

    async def _find_place(self) -> None:
        """Into the keyring where there is one, else into a file under a passphrase."""
        self._say("Asking the system's keyring …")
        trouble = await asyncio.to_thread(first_steps.keyring_trouble)
        if trouble is None:
            self._brought.forget_passphrase()
        if trouble is None or self._brought.knows_passphrase:
            await self._keep()
        else:
            words = f"{trouble}\nSo the key goes into a file, encrypted under a passphrase."
            self._show(SetupStep.PASSPHRASE, words)

    def _take_passphrase(self, typed: bytes) -> None:
        from chain.wallet.secrets import Passphrase
        from zuno_tui.app.wallet_secrets import SHORTEST_PASSPHRASE

        self._brought.passphrase = Passphrase(typed)
        if self._brought.knows_passphrase:
            self._show(SetupStep.AGAIN)
        else:
            self._say(f"That is too short: at least {SHORTEST_PASSPHRASE} characters.")

    @work(group="first run", exclusive=True, exit_on_error=False)
    async def _take_again(self, typed: bytes) -> None:
        if self._brought.is_passphrase(typed):
            self._say("Encrypting the key; this takes a moment on purpose …")
            await self._keep()
        else:
            self._show(SetupStep.PASSPHRASE, "The two differ. Type it again.")

    async def _keep(self) -> None:
        if not self._brought.keys:
            return
        place, key, passphrase = self._place, self._brought.keys[0], self._brought.passphrase
        address, kept = checksum(key.address), list[str]()
        failure = await self._failure(
            lambda: kept.append(first_steps.keep_first_key(self._home, place, key, passphrase))
        )
        if failure is not None:
            # What was typed is wiped by now, so it is asked for again from the start.
            self._brought.forget()
            self._show(AFTER_ENDPOINT.get(self._beginning, SetupStep.ENDPOINT))
            self._say(failure)
        elif self._beginning == "new":
            funds = BEFORE_FUNDS.format(coin=self._network.native_symbol)
            self._show(SetupStep.KEPT, f"{address}\n{kept[0]}\n{funds}")
        else:
            self.dismiss("desk")

    async def _failure(self, job: Callable[[], object]) -> str | None:
        """Why the job, done off this loop, did not end well; None where it did."""
        self._waits = True
        try:
            await asyncio.to_thread(job)
        except Exception as error:  # a first run that fails is a sentence and another try
            from zuno_tui.desk.jobs import fault_words

            return fault_words(error)
        finally:
            self._waits = False
        return None

    def _show(self, step: SetupStep, words: str | None = None) -> None:
        self._step = step
        told = STEPS[step]
        if step is SetupStep.ENDPOINT:
            words = endpoint_words(self._network)
        elif step is SetupStep.ADDRESS and self._beginning == "hardware":
            words = HARDWARE_WORDS
        sheet = self.query_one("#first")
        sheet.border_title = Content(told.title)
        leaving = "escape quits" if step is SetupStep.CHOICE else "escape goes back"
        sheet.border_subtitle = Content(
            "enter opens the desk" if step is SetupStep.KEPT else f"enter goes on · {leaving}"
        )
        told_words = welcome() if step is SetupStep.CHOICE else _lines(words or told.words)
        self.query_one("#first-words", PlainText).update(told_words)
        self._offer(step)
        for field in self.query("OptionList, Input, HiddenField"):
            field.display = field.id == told.field
        line = self.query_one(Input)
        line.highlighter = UrlMask() if step is SetupStep.ENDPOINT else None
        line.clear()
        self._say("")
        self.set_focus(self.query_one(f"#{told.field}"))
        trial = self.query_one(EndpointTrial)
        trial.forget()
        if step is SetupStep.ENDPOINT:
            trial.begin_soon(self._network, "")

    def _offer(self, step: SetupStep) -> None:
        match step:
            case SetupStep.CHOICE:
                rows = choice_rows()
            case SetupStep.NETWORK:
                rows = network_rows(self._networks)
            case SetupStep.ACCOUNT:
                rows = account_rows([key.address for key in self._brought.keys])
            case SetupStep.KEPT:
                rows = (Content("Open the desk"),)
            case _:
                return
        self.query_one(MarkedList).offer(rows)

    def _say(self, words: str) -> None:
        said = self.query_one("#first-said", PlainText)
        said.display = bool(words)
        said.update(literal(words))


def _lines(words: str) -> Content:
    return Content("\n").join(literal(line) for line in words.split("\n"))
