"""What each phrase of the lists comes to at the desk they were written for, interpreted once."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, convert

from zuno_tui.commands.prompt.understanding import interpret
from zuno_tui.phrases.context import PhraseContext, SpokenPosition

if TYPE_CHECKING:
    from zuno_tui.commands.prompt.interpretation import Interpretation


class Said(Struct, frozen=True):
    said: str
    meant: str
    right: bool
    """Whether it was understood, or asked back rightly, the first time it was tried."""


LISTS = {
    "strangers": 120,
    "own_words_first": 122,
    "own_words_second": 122,
    "own_words_third": 138,
    "strangers_second": 124,
    "own_words_fourth": 117,
    "own_words_fifth": 130,
    "own_words_sixth": 120,
    "own_words_seventh": 127,
    "own_words_eighth": 126,
    "own_words_ninth": 123,
    "strangers_third": 110,
    "strangers_fourth": 137,
    "strangers_fifth": 118,
    "strangers_sixth": 136,
}
"""How many of 150 were understood, or asked back rightly, the first time."""

POSITIONS = """
26 WBTC/USDC 0.3%    in_range      6960 31 29 95000
27 WETH/USDC 0.05%   in_range     23035 113 162 3100
29 USDC/USDT 0.01%   in_range     29998 9 9 1
30 WETH/USDC 0.3%    out_of_range  8585 26 26 3100
31 WETH/USDC 0.3%    empty            0 0 30 3100
33 ETH/USDC  0.3%    in_range     17794 182 151 3100
34 WETH/USDC dynamic in_range      9897 64 53 3100
35 WETH/USDC 0.3%    in_range      6043 32 31 3100
36 WETH/USDC 0.3%    out_of_range 15000 153 153 3100
37 WBTC/WETH 0.05%   in_range      8337 2 -40 30.65
38 WETH/USDC 0.05%   near_edge    12047 0 0 3100
"""


def _held(line: str) -> SpokenPosition:
    number, pair, fee, state, *figures = line.split()
    return SpokenPosition(
        int(number), pair, fee, state.replace("_", " "), *(Fraction(one) for one in figures)
    )


HELD = tuple(_held(line) for line in POSITIONS.strip().splitlines())
DESK = PhraseContext(
    positions=tuple(one.token_id for one in HELD),
    held=HELD,
    selected=30,
    plan_id="plan_0123456789abcdef",
    plan_position=30,
    candidates=("1", "exit"),
    argued=True,
    alerts=("1", "2", "3", "4", "5"),
    alerts_of=(("1", 30), ("2", 36), ("3", 38), ("4", 26), ("5", 27)),
)


@cache
def said_in(name: str) -> tuple[Said, ...]:
    lines = (Path(__file__).parent / f"{name}.jsonl").read_text("utf-8").splitlines()
    return tuple(convert(json.loads(line), Said) for line in lines)


@cache
def interpreted(said: str) -> Interpretation:
    return interpret(said, DESK)
