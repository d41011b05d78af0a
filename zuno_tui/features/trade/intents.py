"""What a person asks of the trade desk."""

import re
from typing import ClassVar, Literal

from zuno_tui.intents.arguments import (
    DETERMINISTIC,
    read_duration,
    read_percent,
    read_position_name,
)
from zuno_tui.intents.intent import Argument, Intent, PositionName, write_ref

ModeName = Literal["swing", "position"]
ASKED = ("status", "report", "memory", "why")
"""What may be asked of the desk instead of naming a coin."""
SUBJECTS = (*ASKED, "watch")
MODE = Argument("--mode", "for how long", choices=("swing", "position"))
ANYWAY = Argument(
    "--anyway", "on paper: open what is expected to bring nothing all the same", switch=True
)
EMERGENCY = Argument("--emergency", "news of the last hour alone", switch=True)
COIN = re.compile(r"[A-Za-z0-9]{2,12}", re.ASCII)


EVERY, _LEAST_EVERY = 900, 60


def read_every(text: str) -> int:
    seconds = read_duration(text)
    if seconds is None or seconds < _LEAST_EVERY:
        raise ValueError(f"{text!r} is not a time between two looks, like 15m or 1h")
    return seconds


def _read_coin(text: str) -> str:
    if COIN.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a coin, like ETH")
    return text.upper()


_COINS = Argument(
    "coins", "after watch: the coins, or off", metavar="COIN", read=_read_coin, several=True
)
_WATCHING = (
    Argument(
        "--every",
        "with watch: between two looks, like 15m",
        metavar="TIME",
        read=read_every,
        write=lambda seconds: f"{seconds}s",
    ),
    Argument("--tokens", "with watch: the most a day", metavar="N", read=int),
    Argument("--dollars", "with watch: the most a day for models", metavar="USD", read=float),
    Argument("--once", "with watch: look once, and end", switch=True),
)


def read_subject(text: str) -> str:
    if text.lower() in SUBJECTS:
        return text.lower()
    if COIN.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a coin, like ETH, or one of {', '.join(SUBJECTS)}")
    return text.upper()


class Trade(Intent, frozen=True):
    command: ClassVar = ("trade",)
    arguments: ClassVar = (
        Argument(
            "subject",
            f"a coin, like ETH; or {', '.join(SUBJECTS)}",
            metavar="SYMBOL",
            besides=SUBJECTS,
            read=read_subject,
        ),
        _COINS,
        MODE,
        EMERGENCY,
        ANYWAY,
        DETERMINISTIC,
        *_WATCHING,
    )

    subject: str
    mode: ModeName = "swing"
    emergency: bool = False
    anyway: bool = False
    deterministic: bool = False
    coins: tuple[str, ...] = ()
    every: int = EVERY
    tokens: int | None = None
    dollars: float | None = None
    once: bool = False


NEUTRAL, BAND = 1.0, 0.2
_SHARES = {"neutral": 1.0, "full": 1.0, "half": 0.5, "quarter": 0.25}


def read_share(text: str) -> float:
    """Above 0, at most 1."""
    word = text.lower()
    if word in _SHARES:
        return _SHARES[word]
    number = word.removesuffix("%")
    try:
        share = float(number) / (100 if word.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise ValueError(f"{text!r} is not a share: neutral, 0.5 or 25%")
    return share


def write_share(share: float) -> str:
    return f"{share * 100:g}%"


_SUBJECT = Argument(
    "ref", "a position's number, or all", metavar="ID|all", read=read_position_name, write=write_ref
)
_TARGET = Argument(
    "--target",
    "of its coins, what should be short: neutral, 0.5 or 25%",
    metavar="SHARE",
    read=read_share,
    write=write_share,
)
_BAND = Argument(
    "--band",
    "how far it may be off before you are told to adjust it",
    metavar="SHARE",
    read=read_share,
    write=write_share,
)


class Hedge(Intent, frozen=True):
    command: ClassVar = ("hedge",)
    arguments: ClassVar = (_SUBJECT, _TARGET, _BAND, MODE, EMERGENCY, DETERMINISTIC)

    ref: PositionName
    target: float = NEUTRAL
    band: float = BAND
    mode: ModeName = "swing"
    emergency: bool = False
    deterministic: bool = False


def _read_part(text: str) -> int:
    percent = read_percent(text)
    if not 1 <= percent <= 100:
        raise ValueError("a part is from 1 to 100 percent")
    return percent


class Unhedge(Intent, frozen=True):
    command: ClassVar = ("unhedge",)
    arguments: ClassVar = (
        _SUBJECT,
        Argument(
            "percent",
            "of the hedge; all of it where none is given",
            metavar="PERCENT",
            read=_read_part,
        ),
    )

    ref: PositionName
    percent: int | None = None
