"""Where the person types what they want: completed, remembered, never submitted by a paste."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input
from textual.widgets.input import Selection

from chain.base.clean_text import DROP, looks_secret
from chain.protocols.reference import PositionRef, position_name
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.pieces import LONGEST_PHRASE
from zuno_tui.screen.keys import PROMPT
from zuno_tui.screen.panes.frame import literal
from zuno_tui.screen.panes.text import PlainText
from zuno_tui.screen.prompt_history import PhraseHistory

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Key, Paste

    from zuno_tui.catalog.completion import PhraseCompletion


_PLACEHOLDER = "type a command or a question · ? for help"
_WITH_EXAMPLE = "type a command or a question, like recommend {ref} · ? for help"
_ONE_LINE = "Only the first line was pasted. Nothing has run."


def _completions(text: str, context: PhraseContext) -> Sequence[PhraseCompletion]:
    # The grammar is needed for the first letter, not for the first paint.
    from zuno_tui.catalog.completion import completions
    from zuno_tui.catalog.registry import registry

    return completions(text, context, registry())


class PromptPane(Input):
    BINDINGS: ClassVar[list[BindingType]] = [*PROMPT]

    class Submitted(Message):
        """A phrase was typed and sent by the person's own Enter."""

        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()

    class Left(Message):
        """The person wants to go back to the panes."""

    class Noticed(Message):
        """Something about the typing itself is worth a word."""

        def __init__(self, words: str) -> None:
            self.words = words
            super().__init__()

    class Offered(Message):
        """How the phrase could go on."""

        def __init__(self, offers: Sequence[PhraseCompletion]) -> None:
            self.offers = offers
            super().__init__()

    def __init__(
        self,
        context: Callable[[], PhraseContext] = PhraseContext,
        history: PhraseHistory | None = None,
        *,
        id: str | None = None,  # noqa: A002 - as every widget names it
    ) -> None:
        self._on_the_desk = context
        self._history = PhraseHistory() if history is None else history
        self._offered = ""
        super().__init__(
            placeholder=_PLACEHOLDER,
            suggester=_Completing(context),
            max_length=LONGEST_PHRASE,
            select_on_focus=False,
            id=id,
        )
        # A blinking cursor would send bytes all night.
        self.cursor_blink = False

    def exemplify(self, ref: PositionRef | None) -> None:
        """While nothing is typed, an example that would work: with a position that is there."""
        self.placeholder = (
            _PLACEHOLDER if ref is None else _WITH_EXAMPLE.format(ref=position_name(ref))
        )

    def offer(self, phrase: str) -> None:
        """Put a phrase where it can be read, changed and sent.

        A key that offers one may be the first letter of typing it, or of another like it:
        whoever types on with its second letter is taken to type the word.
        """
        self._put(phrase)
        self._offered = self.value

    def keep_to_mend(self, phrase: str) -> None:
        """What was not understood stands there again, selected: to be changed, or typed over."""
        if not looks_secret(phrase):
            self._put(phrase)
            self.selection = Selection(0, len(self.value))

    def _put(self, phrase: str) -> None:
        self.value = phrase.translate(DROP)[:LONGEST_PHRASE]
        self.cursor_position = len(self.value)

    def watch_value(self, value: str) -> None:
        if value != self._offered:
            self._offered = ""
        self.post_message(self.Offered(_completions(value, self._on_the_desk())))

    async def action_submit(self) -> None:
        text = self.value.strip()
        self.clear()
        if text:
            self._history.keep(text)
            self.post_message(self.Submitted(text))

    def action_complete(self) -> None:
        offers = _completions(self.value, self._on_the_desk())
        if offers:
            self._put(offers[0].phrase)

    def action_earlier(self) -> None:
        self._put(self._history.earlier(self.value))

    def action_later(self) -> None:
        self._put(self._history.later())

    def action_leave(self) -> None:
        if not self._offered:  # what nobody typed need not come back
            self._history.set_aside(self.value.strip())
        self.clear()
        self.post_message(self.Left())

    def action_paste(self) -> None:
        """The app's own clipboard is cleaned as the terminal's is."""
        self._insert(self.app.clipboard)

    async def _on_key(self, event: Key) -> None:
        """Editing keys act at once.

        Left to bubble as bindings they would act after letters that were typed later, when a
        slow line delivers several at once; what has an id may be remapped, and does bubble.
        """
        if event.character == "?" and not self.value:
            event.stop()
            event.prevent_default()
            self.post_message(self.Submitted("help"))
            return
        if event.is_printable:
            if self._offered and event.character == self._offered[1:2]:
                self._put(self._offered[0])
            return
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if binding.id is None:
                event.stop()
                event.prevent_default()
                await self.run_action(binding.action)
                return

    def _on_paste(self, event: Paste) -> None:
        event.prevent_default()
        event.stop()
        self._insert(event.text)

    def _insert(self, pasted: str) -> None:
        first, *others = pasted.splitlines() or [""]
        self.replace(first.translate(DROP), *sorted(self.selection))
        if any(line.strip() for line in others):
            self.post_message(self.Noticed(_ONE_LINE))


class Offers(PlainText):
    """A short list above the prompt: how the phrase could go on, and what that would do."""

    def __init__(self) -> None:
        super().__init__(id="offers")
        self._offered: Sequence[PhraseCompletion] = ()
        self.display = False

    def show(self, offers: Sequence[PhraseCompletion]) -> None:
        # Every key comes by here, and a list that changes is laid out anew.
        if offers == self._offered:
            return
        self._offered = offers
        self.display = bool(offers)
        self.styles.offset = (2, -len(offers))
        width = max((len(offer.phrase) for offer in offers), default=0)
        lines = [
            Content.assemble(literal(f"{offer.phrase:<{width}}  ", "bold"), literal(offer.means))
            for offer in offers
        ]
        self.update(Content("\n").join(lines))


class PromptBar(Vertical):
    """The prompt with its mark and its list."""

    def __init__(
        self, context: Callable[[], PhraseContext], history: PhraseHistory | None = None
    ) -> None:
        super().__init__(id="prompt-bar")
        self._on_the_desk = context
        self._history = history

    def compose(self) -> ComposeResult:
        yield Offers()
        with Horizontal(id="prompt-row"):
            yield PlainText("› ", id="prompt-mark")
            yield PromptPane(self._on_the_desk, self._history, id="prompt")

    def on_prompt_pane_offered(self, event: PromptPane.Offered) -> None:
        event.stop()
        self.query_one(Offers).show(event.offers if self.query_one(PromptPane).has_focus else ())

    def on_descendant_blur(self) -> None:
        self.query_one(Offers).show(())


class _Completing(Suggester):
    """The likeliest completion, in grey behind what is typed."""

    def __init__(self, context: Callable[[], PhraseContext]) -> None:
        # The same letters can go on differently once the desk has changed.
        super().__init__(use_cache=False, case_sensitive=True)
        self._on_the_desk = context

    async def get_suggestion(self, value: str) -> str | None:
        offers = _completions(value, self._on_the_desk())
        return offers[0].phrase if offers else None
