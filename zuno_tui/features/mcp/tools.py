"""The tools another agent may call, each a read command with every argument held to a pattern.

A tool is carried out by a child process that types this very command: what serves knows neither
gate nor wallet, and there is no way to type anything that is not in this table.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from zuno_tui.present.output import Json


class ToolArgument(NamedTuple):
    does: str
    pattern: str
    flag: str = ""
    """What it stands behind on the command line; nothing where it stands alone."""
    required: bool = False


class Tool(NamedTuple):
    does: str
    arguments: Mapping[str, ToolArgument] = {}
    seconds: int = 120
    """After which it is given up."""


_ID = ToolArgument("the position's token id", r"(?:3:)?[0-9]{1,78}", required=True)
_PROFILE = ToolArgument("how careful", r"conservative|balanced|aggressive", "--profile")
_SYMBOL = r"[A-Za-z0-9.]{1,20}|0x[0-9a-fA-F]{40}"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"

TOOLS: Mapping[str, Tool] = {
    "positions": Tool("Every position of the wallet, freshly read, with range, worth and fees."),
    "inspect": Tool(
        "One position: price, range, worth, fees, volatility, what its pool pays.", {"id": _ID}
    ),
    "portfolio": Tool("All wallets and networks in one sum."),
    "pools": Tool("Pools, ranked by what they paid over their risk in the last 7 days."),
    "price": Tool(
        "A token's price in dollars, with its source.",
        {"symbol": ToolArgument("like ETH", _SYMBOL, required=True)},
    ),
    "alerts": Tool("What needs somebody's attention."),
    "history": Tool(
        "Every change of the wallet's positions, with fees and costs.",
        {
            "from": ToolArgument("the first UTC day, like 2026-01-31", _DAY, "--from"),
            "to": ToolArgument("the last UTC day", _DAY, "--to"),
        },
    ),
    "explain": Tool(
        "Why a plan says what it says; the latest without an argument.",
        {"plan": ToolArgument("a plan's id", r"plan_[0-9a-f]{16}")},
    ),
    "scorecard": Tool("How past advice turned out, judged by what the chain did since."),
    "recommend": Tool(
        "Let zuno's agents argue about a position. The plan is to be looked at: a person alone "
        "can carry it out, at the desk.",
        {"id": _ID, "profile": _PROFILE},
        seconds=300,
    ),
}


class UnknownToolError(Exception):
    """A call that is not in the table."""


def schema_of(tool: Tool) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {
            name: {"type": "string", "description": each.does, "pattern": f"^({each.pattern})$"}
            for name, each in tool.arguments.items()
        },
        "required": [name for name, each in tool.arguments.items() if each.required],
        "additionalProperties": False,
    }


def command_of(name: str, given: Mapping[str, object]) -> list[str]:
    """The words of the command; whatever a client sent is looked at again here."""
    tool = TOOLS.get(name)
    if tool is None:
        raise UnknownToolError(f"There is no tool {name[:40]!r}. There are: {', '.join(TOOLS)}.")
    unknown = sorted(set(given) - set(tool.arguments))
    if unknown:
        raise UnknownToolError(f"{name} takes no argument {unknown[0][:40]!r}.")
    return [name, *_words(tool, given), "--json"]


def _words(tool: Tool, given: Mapping[str, object]) -> Iterator[str]:
    for name, each in tool.arguments.items():
        value = given.get(name)
        if value is None:
            if each.required:
                raise UnknownToolError(f"{name} is missing: {each.does}.")
            continue
        text = str(value)
        if re.fullmatch(each.pattern, text) is None:
            raise UnknownToolError(f"{name} is {text[:40]!r}, which is not {each.does}.")
        yield from (each.flag, text) if each.flag else (text,)


MOST_CHARACTERS = 60_000
MOST_ROWS = 100
_MOST_TEXT = 500
_FOREIGN = re.compile(
    "symbol|name|label|pair|title|token|hook|pool|story|words|source|rationale|critique|summary|why"
    "|text|reason|trouble|remark",
    re.IGNORECASE,
)
"""Under such keys text may come from a contract, a peer or a model."""
_OWN = re.compile(r"0x[0-9a-fA-F]*|[0-9.,:+-]*|[a-z]+[a-z0-9_]*")
"""Hashes, figures and codes: nothing that a stranger could say anything with."""


def bounded(document: Json) -> Json:
    """The same, with long lists cut and counted, and foreign text between « and »."""
    for rows in (MOST_ROWS, 30, 10, 3):
        cut = _cut(document, rows, "")
        if len(repr(cut)) <= MOST_CHARACTERS:
            return cut
    return {"cut": "The answer is too long to be given whole. Ask for less of it."}


def _cut(value: Json, rows: int, key: str) -> Json:
    if isinstance(value, dict):
        return {clean(name): _cut(each, rows, name) for name, each in value.items()}
    if isinstance(value, list | tuple):
        kept: list[Json] = [_cut(each, rows, key) for each in value[:rows]]
        left = len(value) - rows
        return [*kept, f"… and {left} more, left out"] if left > 0 else kept
    if isinstance(value, str):
        text = clean(value)
        said = _FOREIGN.search(key) is not None and _OWN.fullmatch(text) is None
        return f"«{text}»" if said else text
    return value


def clean(text: str) -> str:
    from chain.base.clean_text import clean_text

    return clean_text(text.replace("«", "‹").replace("»", "›"), limit=_MOST_TEXT)
