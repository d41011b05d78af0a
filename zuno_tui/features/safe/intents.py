"""What a person asks of a Safe's transactions."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from zuno_tui.intents.arguments import CONFIRM, PASSPHRASE_FILE, read_file_name, read_without_key
from zuno_tui.intents.intent import Argument, Intent


def _read_number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise ValueError(f"{text!r} is no number of a Safe transaction, like 3")
    return int(text)


_NUMBER = Argument("number", "of the Safe transaction", metavar="N", read=_read_number)


class ListSafe(Intent, frozen=True):
    command: ClassVar = ("safe",)


class ExportSafe(Intent, frozen=True):
    command: ClassVar = ("safe", "export")
    arguments: ClassVar = (
        _NUMBER,
        Argument("file", "where to", metavar="FILE", read=read_file_name),
    )

    number: int
    file: Path


class ImportSafe(Intent, frozen=True):
    command: ClassVar = ("safe", "import")
    arguments: ClassVar = (Argument("file", "from where", metavar="FILE", read=read_file_name),)

    file: Path


class RejectSafe(Intent, frozen=True):
    command: ClassVar = ("safe", "reject")
    arguments: ClassVar = (_NUMBER,)

    number: int


class ExecuteSafe(Intent, frozen=True):
    command: ClassVar = ("safe", "execute")
    arguments: ClassVar = (
        _NUMBER,
        Argument(
            "--from",
            "the wallet that sends it and pays the gas",
            metavar="WALLET",
            read=read_without_key,
            field="sender",
        ),
        CONFIRM,
        PASSPHRASE_FILE,
    )

    number: int
    sender: str | None = None
    confirm: str | None = None
    passphrase_file: Path | None = None
