"""A command, declared once: how it is written and said, what it does, and what runs it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

from zuno_tui.intents.intent import Intent

if TYPE_CHECKING:
    from argparse import Namespace

    from chain.protocols.reference import PositionRef
    from zuno_tui.app.feature import ActionMaker
    from zuno_tui.app.session import Session
    from zuno_tui.intents.context import PhraseContext
    from zuno_tui.intents.remaining import Remaining
    from zuno_tui.present.answer import CommandAnswer


Names = Literal["positions", "candidates", "alerts", "records", "networks", "sent", "none"]
"""What of the desk may be named after a verb."""

Suggestion: TypeAlias = Intent | str
"""What the palette offers: to ask at once, or a phrase that is only put in the prompt."""


class Verb(Struct, frozen=True):
    """A way to say a command at the prompt."""

    name: str
    read: Callable[[Remaining], Intent]
    usage: str = ""
    """How it is written in the help; its name where nothing follows."""
    does: str = ""
    """What this verb does, where its command has several."""
    spoken: tuple[str, ...] = ()
    """Other ways to say it, whole."""
    names: Names = "none"
    money: bool = False
    """Leads towards a signature: it is understood exactly or not at all, and never offered as
    what a slip of the fingers may have meant."""
    possible: Callable[[PhraseContext], bool] = lambda _: True
    """Whether it makes sense just now; an impossible verb is understood, but not proposed."""

    @property
    def usage_text(self) -> str:
        return self.usage or self.name


def alone(intent: Intent, *fillers: str) -> Callable[[Remaining], Intent]:
    """Reads a verb that nothing follows but words that add nothing."""

    def read(said: Remaining) -> Intent:
        said.end(*fillers)
        return intent

    return read


class Group(IntEnum):
    """What a command is about, in the order in which they are listed."""

    POSITIONS = 0
    ACTING = 1
    WATCHING = 2
    ADVICE = 3
    TRADING = 4
    AGENTS = 5
    SETUP = 6

    @property
    def title(self) -> str:
        return "Set-up" if self is Group.SETUP else self.name.capitalize()


class Command(Struct, frozen=True, kw_only=True):
    name: str = ""
    """The last word of its intent's command where it is not called otherwise."""
    does: str
    """One sentence, without its capital and its stop, wherever the command is listed."""
    examples: tuple[str, ...] = ()
    """Whole lines, shown by --help and in the manual."""
    notes: str = ""
    """What --help explains beyond its words and flags."""
    group: Group
    intent: type[Intent] = Intent
    subcommands: tuple[Command, ...] = ()
    """Commands of their own behind this one's name, as in `zuno alerts ack`."""
    needs_subcommand: bool = False
    on_command_line: bool = True
    takes_shared_flags: bool = True
    """Whether network, wallet and home can be named for it."""
    reaches_network: bool = True
    """Whether it speaks to a chain, or reads what was kept of one: then it may be the demo's."""

    answer: Callable[[Session, Any], Coroutine[Any, Any, CommandAnswer]] | None = None
    """Reads and answers in lines or as a document; at the desk it is a page."""
    tells_old_block: bool = False
    """Whether it answers with the last block's figures where no endpoint has a new one."""
    action: Callable[[Session, Any], ActionMaker | None] | None = None
    """What is to be built and approved; at the desk it goes on the card. None only answers."""
    only_on: tuple[str, ...] = ()
    """The protocols whose positions it can be asked about; of all of them where none is named."""
    run: Callable[[Namespace], int] | None = None
    """Anything else on the command line."""

    verbs: tuple[Verb, ...] = ()
    suggest: Callable[[PhraseContext], Iterable[Suggestion]] = lambda _: ()
    """What of it the palette offers just now."""
    key: str = ""
    """The id of the desk's key for it, as settings take it in [keys]."""

    def __post_init__(self) -> None:
        if not self.name:
            force_setattr(self, "name", self.intent.command[-1])


def with_positions(context: PhraseContext) -> bool:
    return bool(context.positions)


def with_plan(context: PhraseContext) -> bool:
    return context.plan_id is not None


def with_alerts(context: PhraseContext) -> bool:
    return bool(context.alerts)


def with_sent(context: PhraseContext) -> bool:
    return bool(context.sent)


def of_selected(
    make: Callable[[PositionRef], Suggestion], *, on: tuple[str, ...] = ()
) -> Callable[[PhraseContext], Iterable[Suggestion]]:
    """For the position under the cursor, where that can be done on its protocol."""

    def suggest(context: PhraseContext) -> Iterable[Suggestion]:
        ref = context.selected
        return () if ref is None or (on and ref.protocol not in on) else (make(ref),)

    return suggest


def of_plan(make: Callable[[str], Suggestion]) -> Callable[[PhraseContext], Iterable[Suggestion]]:
    """For the plan on the card, where somebody argued for it."""
    return lambda context: (
        () if context.plan_id is None or not context.argued else (make(context.plan_id),)
    )


def always(*offered: Suggestion) -> Callable[[PhraseContext], Iterable[Suggestion]]:
    return lambda _: offered
