"""What is wanted of several clauses: orders in turn, denials and remarks beside them."""

from __future__ import annotations

import pytest

from tests.zuno_tui.phrases.interpreted import DESK
from zuno_tui.commands.prompt.understanding import interpret, spoken_clauses


@pytest.mark.parametrize(
    ("phrase", "lines"),
    [
        ("collect 27, close 36", ["collect 27", "close 36"]),
        ("collect 27; compound 33", ["collect 27", "compound 33"]),
        ("collect 27 close 36", ["collect 27", "close 36"]),
        ("27 is out of range, close it", ["close 27"]),
        ("gas is cheap, collect 27", ["collect 27"]),
        ("do not touch 27, just show me", ["inspect 27"]),
        ("don't send anything yet, only let me read the plan", ["plan"]),
        ("i need normal eth not weth, 0.3 of them", ["unwrap 0.3"]),
        ("weth 2 -> eth", ["unwrap 2"]),
    ],
)
def test_each_clause_keeps_its_own_positions(phrase: str, lines: list[str]) -> None:
    assert [intent.twin for intent in interpret(phrase, DESK).intents] == [
        f"zuno {line}" for line in lines
    ]


@pytest.mark.parametrize(
    ("phrase", "choices"),
    [
        ("do not collect 27, compound it", ["compound 27"]),
        ("don't compound 35, just collect it", ["collect 35"]),
        ("leave 27 alone, close 36", ["close 36"]),
        ("swap 1 weth to usdc, not usdt", ["swap 1 WETH USDC"]),
        ("close my usdc positions, not weth", ["close 26", "close 29", "close 33"]),
        (
            "market is bleeding, cut all my btc positions in half",
            ["decrease 26 50", "decrease 37 50"],
        ),
        ("eth is mooning, i guess, close 27", ["close 27"]),
        ("close 26, just kidding", ["close 26"]),
        ("add 0,5 weth to 27", ["increase 27 0.5 WETH"]),
        ("move 27 3300 2900", ["move 27 2900 3300"]),
        ("sell 5000 weth for usdc", ["swap 5000 WETH USDC"]),
        ("open 9000000 usdc with weth", ["create '9000000 usdc with weth'"]),
    ],
)
def test_what_is_not_sure_is_asked_back(phrase: str, choices: list[str]) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents
    assert found.question
    assert list(found.choices) == [f"zuno {choice}" for choice in choices]


@pytest.mark.parametrize(
    "phrase",
    [
        "skip 27, collect the rest",
        "keep two thirds of 33, take the rest out",
        "close 26 to 29",
        "collect 26 through 30",
        "move 26 into 27",
        "merge 27 and 38",
        "exit all",
        "take everything",
        "shut everything down",
        "buy the dip!",
    ],
)
def test_which_are_meant_is_asked_without_an_order(phrase: str) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents
    assert found.question
    assert not any("27" in choice for choice in found.choices)


def test_a_comma_in_a_number_keeps_nothing_apart() -> None:
    assert spoken_clauses("add 1,000 usdc to 27, please.") == (
        ("add", "1,000", "usdc", "to", "27"),
        ("please",),
    )
