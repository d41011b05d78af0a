"""What another agent may ask for: a table of commands that only read, argue or propose."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from zuno_tui.present.output import Json


class ToolArgument(NamedTuple):
    does: str
    pattern: str = ""
    choices: tuple[str, ...] = ()
    flag: str = ""
    """What it stands behind on the command line; nothing where it stands alone."""
    required: bool = False

    @property
    def schema(self) -> dict[str, Json]:
        held: dict[str, Json] = {"type": "string", "description": self.does}
        if self.choices:
            return {**held, "enum": list(self.choices)}
        return {**held, "pattern": f"^({self.pattern})$"}

    def takes(self, text: str) -> bool:
        return text in self.choices or bool(self.pattern and re.fullmatch(self.pattern, text))


class Tool(NamedTuple):
    title: str
    does: str
    answers: tuple[str, ...]
    """The fields of its answer that a client can count on."""
    arguments: Mapping[str, ToolArgument] = {}
    command: str = ""
    """Where it is called otherwise than the command it types."""
    seconds: int = 120
    """After which it is given up."""
    argues: bool = False
    """Whether it leaves a plan and its record in the home."""


WALLET = ToolArgument(
    "one of the wallets that zuno watches; the current one otherwise", r"0x[0-9a-fA-F]{40}"
)
PAGE = ToolArgument("of a long list, from 1", r"[1-9][0-9]{0,3}")
_ID = ToolArgument(
    "a position's number, like 28, or 3:4 of v3", r"(?:3:)?[0-9]{1,78}", required=True
)
_PROFILE = ToolArgument(
    "how careful", choices=("conservative", "balanced", "aggressive"), flag="--profile"
)
_SYMBOL = r"[A-Za-z0-9.]{1,20}|0x[0-9a-fA-F]{40}"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_PLAN = ("planId", "kind", "position", "choice", "candidates", "hold", "exit", "transcript")

TOOLS: Mapping[str, Tool] = {
    "positions": Tool(
        "Positions of a wallet",
        "Every position of the wallet, freshly read: range, worth, fees to collect, what was "
        "withdrawn and waits. Begin here: other tools take a position's number.",
        ("network", "block", "owner", "found", "total", "uncollected", "positions"),
    ),
    "inspect": Tool(
        "One position",
        "One position in full: price, range, worth, fees, volatility, its hook, and what its pool "
        "paid over its risk in 7 days (edge7d; under 1 providing there loses to arbitrage).",
        ("tokenId", "protocol", "price", "inRange", "value", "feesValue", "unknown"),
        {"id": _ID},
    ),
    "portfolio": Tool(
        "All wallets in one sum",
        "All wallets and networks in one sum, with what each earned.",
        ("unit", "total", "whole", "wallets", "alerts"),
    ),
    "pools": Tool(
        "Pools, ranked",
        "Pools, ranked by what they paid over their risk in the last 7 days.",
        ("network", "found", "complete", "pools"),
    ),
    "price": Tool(
        "Price of a token",
        "A token's price in dollars, with the pool or feed it comes from.",
        ("symbol", "price", "source"),
        {"symbol": ToolArgument("like ETH", _SYMBOL, required=True)},
    ),
    "alerts": Tool(
        "What needs somebody",
        "What needs somebody's attention, most urgent first, and whether a monitor runs.",
        ("alerts", "monitor"),
    ),
    "history": Tool(
        "History of positions",
        "Every change of the wallet's positions, with fees and costs.",
        ("unit", "whole", "stories", "entries"),
        {
            "from": ToolArgument("the first UTC day, like 2026-01-31", _DAY, flag="--from"),
            "to": ToolArgument("the last UTC day", _DAY, flag="--to"),
        },
    ),
    "explain": Tool(
        "The reasons of a plan",
        "The reasons of a plan; of the latest if you name none.",
        (),
        {"plan": ToolArgument("a plan's id", r"plan_[0-9a-f]{16}")},
    ),
    "scorecard": Tool(
        "How past advice turned out",
        "How past advice turned out, judged by what the chain did since: fees less LVR less cost "
        "first, the price's part beside it.",
        ("plans", "advice", "scores"),
    ),
    "recommend": Tool(
        "Argue about a position",
        "Let zuno's agents argue about a position, which takes seconds to minutes. Leaves a plan "
        "and its record on this machine, for reading. Nothing moves: only a person approves.",
        _PLAN,
        {"id": _ID, "profile": _PROFILE},
        seconds=300,
        argues=True,
    ),
    "propose_plan": Tool(
        "Hand a plan to the person",
        "Argue about a position and hand the plan to the person: their desk says that you propose "
        "it. The answer holds the exact line for them to type (handOver). Tell them that line; "
        "only they can approve and sign.",
        (*_PLAN, "handOver"),
        {"id": _ID, "profile": _PROFILE},
        command="recommend",
        seconds=300,
        argues=True,
    ),
}


class UnknownToolError(Exception):
    """A call that is not in the table."""


def arguments_of(tool: Tool) -> dict[str, ToolArgument]:
    paged = {} if tool.argues or tool.title == "Price of a token" else {"page": PAGE}
    return {**tool.arguments, "wallet": WALLET, **paged}


def input_schema(tool: Tool) -> dict[str, Json]:
    arguments = arguments_of(tool)
    return {
        "type": "object",
        "properties": {name: each.schema for name, each in arguments.items()},
        "required": [name for name, each in arguments.items() if each.required],
        "additionalProperties": False,
    }


def output_schema(tool: Tool) -> dict[str, Json]:
    """Beside these an answer has what the command prints with --json."""
    fields: dict[str, Json] = {name: {} for name in tool.answers}
    return {"type": "object", "properties": fields, "required": list(tool.answers)}


def command_of(name: str, given: Mapping[str, object]) -> list[str]:
    """The words of the command; whatever a client sent is looked at again here."""
    tool = TOOLS.get(name)
    if tool is None:
        raise UnknownToolError(f"There is no tool {name[:40]!r}. There are: {', '.join(TOOLS)}.")
    arguments = arguments_of(tool)
    unknown = sorted(set(given) - set(arguments))
    if unknown:
        raise UnknownToolError(f"{name} takes no argument {unknown[0][:40]!r}.")
    progress = ["--stream"] * tool.argues
    return [tool.command or name, *_words(arguments, given), *progress, "--json"]


def _words(arguments: Mapping[str, ToolArgument], given: Mapping[str, object]) -> Iterator[str]:
    for name, each in arguments.items():
        value = given.get(name)
        if value is None:
            if each.required:
                raise UnknownToolError(f"{name} is missing: {each.does}.")
            continue
        text = str(value)
        if not each.takes(text):
            expected = " or ".join(each.choices) or each.does
            raise UnknownToolError(f"{name} is {text[:40]!r}; it is {expected}.")
        if each is WALLET:
            yield from ("--address", text)
        elif each is not PAGE:
            yield from (each.flag, text) if each.flag else (text,)
