"""The words and flags that several commands take, and how their values are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from zuno_tui.intents.intent import Argument, Intent, OneOf, PositionName, read_ref, write_ref

if TYPE_CHECKING:
    from chain.base.units import Numeral
    from chain.protocols.reference import PositionRef
    from zuno_tui.intents.remaining import Remaining


def read_hours_file(said: Remaining) -> Path:
    if not said:
        said.refuse("which file of hours.", f"{said.verb} FILE")
    return read_file_name(said.text)


_EXPOSED = (
    "a private key is never given on the command line: other programs and the shell's history "
    "see it there. Treat that key as exposed, and move what it holds. "
    "zuno wallet import asks for a key without showing it"
)


def positions_named(intent: Intent) -> tuple[PositionRef, ...]:
    """Those that an intent names one by one."""
    named: tuple[PositionName | None, ...] = (
        getattr(intent, "ref", None),
        *(getattr(intent, "refs", None) or ()),
    )
    return tuple(ref for ref in named if ref is not None and ref != "all")


def read_address(text: str) -> str:
    if re.fullmatch(r"0x[0-9a-fA-F]{40}", text) is None:
        raise ValueError("an address is 0x and 40 hexadecimal digits")
    return text.lower()


def read_amount(text: str) -> Numeral:
    from chain.base.units import read_numeral

    return read_numeral(text)


def write_amount(amount: Numeral) -> str:
    from chain.base.units import spelled_out

    return spelled_out(amount)


def read_percent(text: str) -> int:
    digits = text.removesuffix("%")
    if not digits.isascii() or not digits.isdigit():
        raise ValueError(f"{text!r} is not a whole percentage, like 25")
    return int(digits)


def read_alert(text: str) -> str:
    digits = text.removeprefix("#")
    if text != "all" and (not digits.isascii() or not digits.isdigit() or len(digits) > 18):
        raise ValueError(f"{text!r} is not an alert's number, like 3, nor all")
    return digits


def read_without_key(text: str) -> str:
    from chain.base.clean_text import LIKE_A_KEY

    if LIKE_A_KEY.search(text):
        raise ValueError(_EXPOSED)
    return text


def read_file_name(text: str) -> Path:
    return Path(read_without_key(text))


def hours_file(columns: str) -> OneOf:
    """The file of hours that a command is about."""
    words = f"a CSV with time (when the hour began), {columns}; .gz too"
    return OneOf((Argument("--hours", words, metavar="FILE", read=read_file_name),), required=True)


def read_position_name(text: str) -> PositionName:
    return "all" if text.lower() == "all" else read_ref(text)


POSITION = Argument("ref", metavar="ID", read=read_ref, write=write_ref)
POSITIONS = Argument(
    "refs",
    "positions by their numbers, or all: one plan, one signature",
    metavar="ID|all",
    read=read_position_name,
    write=write_ref,
    several=True,
)
AMOUNT = Argument("amount", "like 0.5", metavar="AMOUNT", read=read_amount, write=write_amount)
ALERT = Argument("alert_id", metavar="ID|all", read=read_alert)
PLAN = Argument("plan_id", metavar="PLAN")
CANDIDATE = Argument("--candidate", "instead of the recommended one", metavar="A|B|…|close")
CONFIRM = Argument("--confirm", "instead of the typed word", metavar="HASH")
PASSPHRASE_FILE = Argument(
    "--passphrase-file",
    "without a terminal: the keystore's passphrase from a file only you can read (0600)",
    metavar="FILE",
    read=read_file_name,
)
PROFILE = Argument("--profile", choices=("conservative", "balanced", "aggressive"))
KEEP = Argument(
    "--keep", "a token that no move may sell; long for the one that is priced", metavar="TOKEN"
)
UNTIL = Argument("--until", "the day the kept token is needed, like March", metavar="DAY")
STREAM = Argument("--stream", "print the debate as it runs", switch=True)
DETERMINISTIC = Argument("--deterministic", "ask no model", switch=True, inherited=True)
TRANSPORT = Argument(
    "--transport",
    "where the agents run: on the mesh, in this process, or the first that can be had",
    choices=("auto", "mesh", "local"),
    inherited=True,
)
DESK_FLAGS = (
    Argument("--theme", "zuno-dark, zuno-light, … or colourless", metavar="NAME", inherited=True),
    Argument("--ascii", "draw with plain characters only", switch=True, inherited=True),
    Argument("--no-bell", "no bell for critical alerts", switch=True, inherited=True),
    DETERMINISTIC,
    TRANSPORT,
)
LONGEST_SECONDS = 366 * 86_400
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_NAMES = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("w", "week", "weeks"), "w"),
}
_DURATION = re.compile(r"(?P<count>an?|[0-9]{1,6})\s*(?P<unit>[a-z]+)", re.ASCII)


def read_duration(text: str) -> int | None:
    """Whole seconds; None for what is not a length of time, or longer than a year."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None or match["unit"] not in _NAMES:
        return None
    count = 1 if match["count"].startswith("a") else int(match["count"])
    seconds = count * _SECONDS[_NAMES[match["unit"]]]
    return seconds if 0 < seconds <= LONGEST_SECONDS else None
