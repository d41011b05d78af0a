"""Phrases of people who had not seen the grammar, each with what they meant, and how it went."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from msgspec import Struct, convert

from zuno_tui.commands.prompt.understanding import interpret
from zuno_tui.commands.registry import registry
from zuno_tui.phrases.context import PhraseContext, SpokenPosition

MONEY = {verb.name for verb in registry().verbs if verb.money}


class Said(Struct, frozen=True):
    said: str
    meant: str
    right: bool
    """Whether it was understood, or asked back rightly, the first time it was tried."""


SAID = [
    convert(json.loads(line), Said)
    for line in (Path(__file__).parent / "strangers.jsonl").read_text("utf-8").splitlines()
]
POSITIONS = """
26 WBTC/USDC 0.3%    in_range      6960 31 29
27 WETH/USDC 0.05%   in_range     23035 113 162
29 USDC/USDT 0.01%   in_range     29998 9 9
30 WETH/USDC 0.3%    out_of_range  8585 26 26
31 WETH/USDC 0.3%    empty            0 0 30
33 ETH/USDC  0.3%    in_range     17794 182 151
34 WETH/USDC dynamic in_range      9897 64 53
35 WETH/USDC 0.3%    in_range      6043 32 31
36 WETH/USDC 0.3%    out_of_range 15000 153 153
37 WBTC/WETH 0.05%   in_range      8337 2 -40
38 WETH/USDC 0.05%   near_edge    12047 0 0
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


def _commands(said: str) -> str:
    return " ; ".join(intent.twin.removeprefix("zuno ") for intent in interpret(said, DESK).intents)


@pytest.mark.soak
def test_how_many_were_understood() -> None:
    right = sum(one.right for one in SAID)
    word_for_word = sum(_commands(one.said) == one.meant for one in SAID)

    sys.stdout.write(
        f"{right} of {len(SAID)} phrases of strangers were understood or asked back rightly when "
        f"they were first tried; {word_for_word} give the very command that was meant today\n"
    )
    assert right == 120


@pytest.mark.parametrize("one", SAID, ids=[one.said for one in SAID])
def test_nothing_that_moves_tokens_is_made_of_a_phrase_that_meant_otherwise(one: Said) -> None:
    made = _commands(one.said)

    verbs = {command.split()[0] for command in made.split(" ; ") if command}
    if verbs & MONEY and made != one.meant:
        deed = slice(3)  # what is done, to which position, with how much
        assert one.right or made.split()[deed] == one.meant.split()[deed], made
