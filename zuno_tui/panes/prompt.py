"""Where the person types what they want."""

from __future__ import annotations

from textual.message import Message
from textual.widgets import Input


class Prompt(Input):
    class Submitted(Message):
        def __init__(self, text: str) -> None:
            self.text = text
            super().__init__()
