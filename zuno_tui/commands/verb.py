"""A verb of the prompt: how it is said, what it does, and how the words after it are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from zuno_tui.commands.intents import Intent
from zuno_tui.phrases.remaining import Remaining

if TYPE_CHECKING:
    from zuno_tui.phrases.context import PhraseContext

Names = Literal["positions", "candidates", "alerts", "records", "networks", "sent", "none"]
"""What of the desk may be named after a verb."""

Reader: TypeAlias = Callable[[Remaining], Intent]


class Verb(Struct, frozen=True):
    name: str
    usage: str
    does: str
    read: Reader
    spoken: tuple[str, ...] = ()
    """Other ways to say it, whole."""
    names: Names = "none"
    money: bool = False
    """Leads towards a signature: it is understood exactly or not at all, and never offered as
    what a slip of the fingers may have meant."""
    possible: Callable[[PhraseContext], bool] = lambda _: True
    """Whether it makes sense just now; an impossible verb is understood, but not proposed."""
