"""Two clauses about two positions, joined in every way: neither gets the deed of the other."""

from __future__ import annotations

from itertools import product

import pytest

from tests.zuno_tui.phrases.interpreted import DESK
from zuno_tui.commands.prompt.interpretation import leads_to_signature
from zuno_tui.commands.prompt.offering import deed_in
from zuno_tui.commands.prompt.understanding import interpret

ORDERS = {
    "collect {}": "collect {}",
    "close {}": "close {}",
    "take 10% from {}": "decrease {} 10",
    "add 500 usdc to {}": "increase {} 500 USDC",
    "move {} to 2900-3300": "move {} 2900 3300",
}
OTHERS = ("show {}", "how is {}", "recommend {}", "don't close {}", "leave {} alone", "skip {}")
SELDOM_ORDERS = {
    "compound {}": "compound {}",
    "take half out of {}": "decrease {} 50",
    "claim fees of {}": "collect {}",
    "exit {}": "close {}",
    "withdraw {}": "close {}",
}
SELDOM_OTHERS = (
    *("mute {}", "what about {}", "should i close {}", "keep {}", "not {}", "rebalance {}"),
    *("is {} in range", "but not {}"),
)
JOINS = (" and ", ", ", " but ", " ")
SELDOM_JOINS = (" then ", " & ", ". ", "; ", " also ", ", and ", " plus ", "! ", " - ")


def _others(phrase: str, meant: set[str]) -> set[str]:
    """Every line that would move tokens and was not asked for."""
    found = interpret(phrase, DESK)
    made = {intent.twin for intent in found.intents if leads_to_signature(intent)}
    offered = {choice for choice in found.choices if deed_in(choice)}
    return {line.removeprefix("zuno ") for line in made | offered} - meant


def _wrong(parts: dict[str, str], joins: tuple[str, ...]) -> dict[str, set[str]]:
    return {
        phrase: others
        for (one, first), (two, second), join in product(parts.items(), parts.items(), joins)
        if first or second
        for phrase in (one.format(27) + join + two.format(33),)
        if (others := _others(phrase, {first.format(27), second.format(33)}))
    }


def test_no_position_gets_the_deed_of_another() -> None:
    assert _wrong({**ORDERS, **dict.fromkeys(OTHERS, "")}, JOINS) == {}


@pytest.mark.soak
@pytest.mark.parametrize("join", [*JOINS, *SELDOM_JOINS])
def test_no_position_gets_the_deed_of_another_by_any_join(join: str) -> None:
    looking = dict.fromkeys((*OTHERS, *SELDOM_OTHERS), "")

    assert _wrong({**ORDERS, **SELDOM_ORDERS, **looking}, (join,)) == {}
