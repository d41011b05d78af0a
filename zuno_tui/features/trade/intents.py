"""What a person asks of the trade desk."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from zuno_tui.catalog.arguments import TOKEN_ID
from zuno_tui.catalog.command import Argument, Intent

ModeName = Literal["swing", "position"]


ASKED = ("status", "report", "memory", "why")
"""What may be asked of the desk instead of naming a coin."""


MODE = Argument("--mode", "for how long", choices=("swing", "position"), default="swing")


EMERGENCY = Argument("--emergency", "news of the last hour alone", switch=True, default=False)


COIN = re.compile(r"[A-Za-z0-9]{2,12}", re.ASCII)


def read_subject(text: str) -> str:
    if text.lower() in ASKED:
        return text.lower()
    if COIN.fullmatch(text) is None:
        raise ValueError(f"{text!r} is no coin, like ETH, nor one of {', '.join(ASKED)}")
    return text.upper()


class Trade(Intent, frozen=True):
    command: ClassVar = ("trade",)
    arguments: ClassVar = (
        Argument(
            "subject",
            f"a coin, like ETH; or {', '.join(ASKED)}",
            metavar="SYMBOL",
            read=read_subject,
        ),
        MODE,
        EMERGENCY,
    )

    subject: str
    mode: ModeName = "swing"
    emergency: bool = False


class Hedge(Intent, frozen=True):
    command: ClassVar = ("hedge",)
    arguments: ClassVar = (TOKEN_ID, MODE, EMERGENCY)

    token_id: int
    mode: ModeName = "swing"
    emergency: bool = False
