"""`zuno create "…"`: four agents argue about a position to open."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from zuno_tui import app
from zuno_tui.catalog.command import Command, Group, Verb
from zuno_tui.intents.intents import CreatePosition

if TYPE_CHECKING:
    from zuno_tui.intents.remaining import Remaining


def _read(said: Remaining) -> CreatePosition:
    first, *others = said.text.lower().split() or ("",)
    if first in ("to", "into", "in") or (not others and first.removeprefix("#").isdigit()):
        said.refuse("what is to be opened.", "create 0.5 WETH with USDC, conservative")
    if re.search(r"\$ ?[0-9]", said.text) and " between " not in f" {said.text.lower()} ":
        said.refuse("of which token: a dollar is none.", "create 1,000 USDC with WETH")
    if not any(character.isdigit() for character in said.text):
        said.refuse("how much of what.", "create 0.5 WETH with USDC, conservative")
    return CreatePosition(said.text)


COMMAND = Command(
    does="plan a new position",
    examples=(
        'zuno create "0.5 WETH with USDC, conservative"',
        'zuno create "1,000 USDC in WETH/USDC 0.05%"',
        'zuno create "0.5 WETH/USDC between 2900 and 3300"',
    ),
    notes=(
        "PHRASE: an amount and its token, or two; then, in any order: the pair (WETH/USDC) or\n"
        "`with` its other token; a fee (0.05% or 5bps); conservative, balanced or aggressive;\n"
        "`stay long` in what you give; two prices (`between 2900 and 3300`); `on` a network."
    ),
    group=Group.ADVICE,
    intent=CreatePosition,
    run=lambda arguments: app.debate.run_create(arguments),
    verbs=(
        Verb(
            "create",
            _read,
            "create AMOUNT TOKEN/TOKEN [RISK]",
            spoken=(
                *("open", "mint", "new position", "create a position", "create position"),
                *("open a position", "add liquidity", "provide liquidity", "provide"),
            ),
        ),
    ),
)
