"""What travels to the screen from outside its own loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual.message import Message

if TYPE_CHECKING:
    from zuno_tui.desk.events import Event


class DeskSpoke(Message, bubble=False):
    """The desk told something; posted from its own thread."""

    def __init__(self, event: Event) -> None:
        self.event = event
        super().__init__()


@runtime_checkable
class Hearing(Protocol):
    """A screen that wants to know what the desk tells while it is open."""

    def hear(self, event: Event) -> bool:
        """Whether the event found its place here, so that no screen need open for it."""
