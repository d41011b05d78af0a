"""What a person asks of standing orders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from zuno_tui.intents.arguments import POSITION, read_address, read_file_name
from zuno_tui.intents.intent import Argument, Intent

if TYPE_CHECKING:
    from chain.execution.plan.protocol import OrderKind
    from chain.protocols.reference import PositionRef

_SPAN = re.compile(r"(\d{1,5}(?:\.\d+)?)\s*(m|min|h|d|w)", re.ASCII | re.IGNORECASE)
_SECONDS = {"m": 60, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def is_span(text: str) -> bool:
    return _SPAN.fullmatch(text) is not None


def read_span(text: str) -> int:
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a length of time, like 30m, 2h or 7d")
    return round(float(found[1]) * _SECONDS[found[2].lower()])


OrdersSwitch: TypeAlias = Literal["stop", "go", "first", "standby"]
OrderNumber: TypeAlias = int | Literal["all"]


def read_order_number(text: str) -> OrderNumber:
    if text.lower() == "all":
        return "all"
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValueError(f"{text!r} is not an order's number, like 3, nor all")
    return int(text)


def _read_one(text: str) -> int:
    number = read_order_number(text)
    if number == "all":
        raise ValueError("one order at a time")
    return number


_WORDS = Argument(
    "words",
    "below 2900, above 3400, out-of-range 2h or loss-over 5%; until 1 Dec",
    metavar="WHEN",
    several=True,
)
_COLLECTING = Argument(
    "words", "every 7d over $50; times 4, until 1 Dec", metavar="WHEN", several=True
)
_BY = Argument(
    "--by",
    "the watch key that carries it out, where it is not this home's",
    metavar="ADDRESS",
    read=read_address,
)
_HOLD = Argument("--hold", "how long the condition must hold", metavar="TIME", read=read_span)


_GROWING = Argument(
    "words", "over $50, every 7d, times 4, until 1 Dec", metavar="WHEN", several=True
)
_MOVING = Argument(
    "words", "up to 3400 or down to 2800; until 1 Dec", metavar="WHERE", several=True
)
_FOLLOW = Argument(
    "--follow", "so many moves in a row, each as far as the first", metavar="N", read=_read_one
)


class OrderClose(Intent, frozen=True):
    command: ClassVar = ("order", "close")
    kind: ClassVar[OrderKind] = "close"
    arguments: ClassVar = (POSITION, _WORDS, _HOLD, _BY)

    ref: PositionRef
    words: tuple[str, ...]
    hold: int | None = None
    by: str | None = None


class OrderCollect(Intent, frozen=True):
    command: ClassVar = ("order", "collect")
    kind: ClassVar[OrderKind] = "collect"
    arguments: ClassVar = (POSITION, _COLLECTING, _HOLD, _BY)

    ref: PositionRef
    words: tuple[str, ...]
    hold: int | None = None
    by: str | None = None


class OrderCompound(Intent, frozen=True):
    command: ClassVar = ("order", "compound")
    kind: ClassVar[OrderKind] = "compound"
    arguments: ClassVar = (POSITION, _GROWING, _HOLD, _BY)

    ref: PositionRef
    words: tuple[str, ...] = ()
    hold: int | None = None
    by: str | None = None


class OrderMove(Intent, frozen=True):
    command: ClassVar = ("order", "move")
    kind: ClassVar[OrderKind] = "move"
    arguments: ClassVar = (POSITION, _MOVING, _FOLLOW, _HOLD, _BY)

    ref: PositionRef
    words: tuple[str, ...]
    follow: int | None = None
    hold: int | None = None
    by: str | None = None


class OrderPlaces(Intent, frozen=True):
    """Opens the ranges that moves in a row go through, with nothing to speak of in them."""

    command: ClassVar = ("order", "places")
    kind: ClassVar[OrderKind] = "move"
    arguments: ClassVar = (POSITION, _MOVING, _FOLLOW)

    ref: PositionRef
    words: tuple[str, ...]
    follow: int | None = None
    hold: ClassVar[None] = None


OrderAsked: TypeAlias = OrderClose | OrderCollect | OrderCompound | OrderMove


class OrderForm(Intent, frozen=True):
    """The form at the desk; as a command what an order would go by, and how one is written."""

    command: ClassVar = ("order", "form")
    arguments: ClassVar = (POSITION,)

    ref: PositionRef


class CancelOrders(Intent, frozen=True):
    command: ClassVar = ("order", "cancel")
    arguments: ClassVar = (
        Argument("number", "an order's number, or all", metavar="N|all", read=read_order_number),
    )

    number: OrderNumber


class ExportOrder(Intent, frozen=True):
    command: ClassVar = ("order", "export")
    arguments: ClassVar = (
        Argument("number", "an order's number, or all", metavar="N|all", read=read_order_number),
        Argument("file", "where to; a folder for all of them", metavar="FILE", read=read_file_name),
    )

    number: OrderNumber
    file: Path


class ImportOrder(Intent, frozen=True):
    command: ClassVar = ("order", "import")
    arguments: ClassVar = (
        Argument("file", "a file, or a folder of them", metavar="FILE", read=read_file_name),
    )

    file: Path


class ListOrders(Intent, frozen=True):
    command: ClassVar = ("orders",)
    arguments: ClassVar = (
        Argument(
            "what",
            "stop: this machine carries out no order; go: it does again; first, standby: which of "
            "two machines with the same watch key it is",
            metavar="stop|go|first|standby",
            choices=("stop", "go", "first", "standby"),
        ),
    )

    what: OrdersSwitch | None = None
