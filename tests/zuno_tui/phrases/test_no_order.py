"""What is denied, supposed, asked, put off or conditional never becomes the deed it names."""

from __future__ import annotations

import pytest

from tests.zuno_tui.phrases.interpreted import DESK
from zuno_tui.commands.prompt.interpretation import leads_to_signature
from zuno_tui.commands.prompt.understanding import interpret
from zuno_tui.commands.registry import registry

DEEDS = (
    "close 26",
    "collect all",
    "add 500 usdc to 27",
    "take half out of 26",
    "remove 25% from 33",
    "sell 0.5 weth for usdc",
    "close the out of range ones",
)
AROUND = """
don't {}|please don't {} yet|never {}|i do not want you to {}|you shouldn't {}|not {}|no need to {}
{} if eth drops below 2900|when eth hits 3500 {}|{} once gas is cheap|{} unless eth pumps
{} tomorrow|{} in 2 hours
wait until friday then {}|{} every day|remind me to {}|tell me before you {}
should i {}|is it a good idea to {}|would you {}?|{}?|how do i {}|can you explain how to {}
what if i {}|let's say i {}|suppose i {}|how much would i get if i {}|i'm thinking about it: {}?
did you {}?|why did you {}|i will {} myself|cancel {}|dry run: {}|preview {}|forget it, do not {}
"""
BESIDES = """
{} first|first {}|{} again|{} for the last time|ok {} then|{} because it is out of range|{} lol
{} since it's losing money|{}, it is my worst one|{}, it's the biggest|{} so i can sleep|{} only
{} and nothing else|{} and show me the plan|{} like last time|{} to my wallet|{} with the best price
{} (the out of range one)|yes {}|{} and all that|{} at the current price|{} everything else stays
"""
MONEY = {verb.name for verb in registry().verbs if verb.money}


@pytest.mark.parametrize("around", AROUND.strip().replace("\n", "|").split("|"))
def test_no_deed_is_made_of_what_is_no_order(around: str) -> None:
    made = {
        phrase: [intent.twin for intent in found.intents]
        for deed in DEEDS
        for phrase in (around.format(deed),)
        for found in (interpret(phrase, DESK),)
        if any(map(leads_to_signature, found.intents))
    }

    assert made == {}


@pytest.mark.parametrize("deed", DEEDS)
def test_the_same_deeds_are_made_of_orders(deed: str) -> None:
    found = interpret(f"could you please {deed}", DESK)

    assert any(map(leads_to_signature, found.intents))


@pytest.mark.parametrize("around", BESIDES.strip().replace("\n", "|").split("|"))
def test_what_stands_beside_an_order_leads_to_nothing_else(around: str) -> None:
    for deed in DEEDS:
        meant = {intent.twin for intent in interpret(deed, DESK).intents}
        found = interpret(around.format(deed), DESK)
        made = {intent.twin for intent in found.intents if leads_to_signature(intent)}

        assert made | {one for one in found.choices if _leads_to_money(one)} <= meant, around


def _leads_to_money(line: str) -> bool:
    return line.split()[1] in MONEY


def test_what_is_to_work_again_is_not_left() -> None:
    found = interpret("get the out of range ones back to work", DESK)

    assert [intent.twin for intent in found.intents] == ["zuno recommend 30", "zuno recommend 36"]


def test_a_range_far_from_the_price_is_asked_back_unless_typed_exactly() -> None:
    asked, exact = interpret("move 30 to 290 330", DESK), interpret("move 30 290 330", DESK)

    assert asked.choices == ("zuno move 30 2900 3300", "zuno move 30 290 330")
    assert [intent.twin for intent in exact.intents] == ["zuno move 30 290 330"]


@pytest.mark.parametrize(
    ("phrase", "choices"),
    [
        ("take hlaf out of 26", ("zuno decrease 26 50",)),
        ("remove 25 pecent from 33", ("zuno decrease 33 25",)),
        ("take moitie out of 26", ()),
        ("withdraw everything fom 36", ("zuno close 36",)),
        ("swap 1 weth to udsc", ("zuno swap 1 WETH USDC",)),
        ("what if eth plonks 10 percent", ("zuno what-if ETH -10", "zuno what-if ETH 10")),
        (
            "open 0.5 weth with usd, safe",
            tuple(f"zuno create '0.5 WETH with {one} conservative'" for one in ("USDC", "USDT")),
        ),
    ],
)
def test_what_a_slip_hides_is_asked_for_and_never_more(
    phrase: str, choices: tuple[str, ...]
) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents
    assert found.question
    assert found.choices == choices


@pytest.mark.parametrize(
    "phrase",
    [
        "add the fees of 27 to 33",
        "close everything older than 30",
        "close half of my positions",
        "buy 1 eth and put it in 33",
        "close my position on arbitrum",
        "withdraw usdc",
    ],
)
def test_what_may_be_meant_otherwise_is_asked_without_an_offer(phrase: str) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents
    assert found.question
    assert not any(_leads_to_money(one) for one in found.choices)


@pytest.mark.parametrize("phrase", ["ty", "please", "thanks lol", "ok ok", "the"])
def test_courtesies_alone_ask_for_nothing(phrase: str) -> None:
    assert not interpret(phrase, DESK).intents


@pytest.mark.parametrize("phrase", ["was my close sent", "did you cancel my tx"])
def test_what_was_sent_is_only_asked_about(phrase: str) -> None:
    assert [intent.twin for intent in interpret(phrase, DESK).intents] == ["zuno outbox"]
