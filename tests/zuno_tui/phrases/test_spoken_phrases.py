"""What providers type, against what was meant by it; nothing dangerous, without exception."""

from __future__ import annotations

import sys
import tomllib
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from zuno_tui.commands.prompt.understanding import interpret, understand
from zuno_tui.commands.registry import registry
from zuno_tui.phrases.context import PhraseContext, SpokenPosition
from zuno_tui.phrases.phrase_error import Misunderstood, NotReadYetError

if TYPE_CHECKING:
    from zuno_tui.commands.prompt.interpretation import Interpretation

PHRASES: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "spoken_phrases.toml").read_text("utf-8")
)["phrase"]
LEAST_SHARE = 0.95
HELD = (
    SpokenPosition(26, "WETH/USDC", "0.05%", "in range", *map(Fraction, (9000, 50, 10))),
    SpokenPosition(27, "ETH/USDC", "0.3%", "out of range", *map(Fraction, (5000, 20, 5))),
    SpokenPosition(28, "WETH/USDC", "0.3%", "near edge", *map(Fraction, (4000, 10, -40))),
    SpokenPosition(33, "WBTC/USDC", "0.3%", "in range", *map(Fraction, (3000, 60, 90))),
    SpokenPosition(38, "USDC/USDT", "0.01%", "in range", *map(Fraction, (2000, 70, 20))),
)
DESK = PhraseContext(
    positions=tuple(one.token_id for one in HELD),
    held=HELD,
    selected=28,
    plan_id="plan_0123456789abcdef",
    plan_position=28,
    candidates=("1", "exit"),
    argued=True,
    alerts=("3", "4", "5"),
    alerts_of=(("3", 38), ("4", 26), ("5", 38)),
)
MONEY = {verb.name for verb in registry().verbs if verb.money}


@cache
def _found(said: str) -> Interpretation:
    return interpret(said, DESK)


def _as_meant(entry: dict[str, Any]) -> bool:
    found = _found(entry["said"])
    commands = [intent.twin for intent in found.intents]
    if "commands" in entry:
        return bool(commands == entry["commands"])
    if "asks" in entry:
        return found.question is not None and list(found.choices) == entry["asks"]
    if "answers" in entry:
        return found.answer is not None and not commands
    return not commands and not found.choices


def test_most_phrases_are_understood_as_they_were_meant() -> None:
    understood = [entry for entry in PHRASES if _as_meant(entry)]

    sys.stdout.write(f"{len(understood)} of {len(PHRASES)} phrases were understood as meant\n")
    assert len(understood) >= LEAST_SHARE * len(PHRASES)


def _leads_to_money(line: str) -> bool:
    return line.removeprefix("zuno ").split()[0] in MONEY and line != "zuno outbox"


def _unmeant(entry: dict[str, Any]) -> set[str]:
    found = _found(entry["said"])
    offer = "" if found.misunderstood is None else found.misunderstood.offer
    lines = [*(intent.twin for intent in found.intents), *found.choices, *filter(None, (offer,))]
    meant = {*entry.get("commands", ()), *entry.get("asks", ())}
    return {line for line in lines if _leads_to_money(line)} - meant


def test_no_larger_amount_no_opposite_verb_no_other_position() -> None:
    assert {entry["said"]: found for entry in PHRASES if (found := _unmeant(entry))} == {}


@pytest.mark.parametrize("phrase", ["exit 26", "exit", "exit now", "exit please"])
def test_exit_never_closes_the_desk(phrase: str) -> None:
    found = interpret(phrase, DESK)

    assert not any(type(intent).__name__ == "Quit" for intent in found.intents)


@pytest.mark.parametrize(
    "phrase",
    ["do it", "yes", "sign it", "send it", "aply", "appply it", "apply all", "approve all", "go"],
)
def test_nothing_but_its_own_word_leads_to_a_signature(phrase: str) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents
    assert not any("apply" in choice for choice in found.choices)


def test_what_names_an_id_needs_no_positions() -> None:
    nobody_read = PhraseContext()

    found = interpret("take half out of 26", nobody_read)

    assert [intent.twin for intent in found.intents] == ["zuno decrease 26 50"]


@pytest.mark.parametrize("phrase", ["collect all", "close my eth position", "add 500 to 26"])
def test_what_depends_on_the_positions_says_that_they_are_not_read(phrase: str) -> None:
    with pytest.raises(NotReadYetError) as caught:
        interpret(phrase, PhraseContext())

    assert caught.value.what == "positions"
    assert isinstance(understand(phrase, PhraseContext()), Misunderstood)


@pytest.mark.parametrize("phrase", ["reduce 26 to 75%", "decrease 26 to 75%"])
def test_what_is_to_stay_is_not_what_is_taken_out(phrase: str) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents
    assert found.choices == ("zuno decrease 26 25",)


@pytest.mark.parametrize(
    "phrase", ["exut 26", "closee 26", "compond 26", "cancle transaction", "hlave 26", "wihdraw 26"]
)
def test_a_slip_is_asked_back_where_money_is_behind_it(phrase: str) -> None:
    assert not interpret(phrase, DESK).intents


@pytest.mark.parametrize(
    ("phrase", "never"),
    [
        ("unmute 38", "mute"),
        ("increase 26 by 10%", "increase"),
        ("withdraw 1000 usdc from 28", "close"),
        ("leave it", "close"),
        ("hold", "close"),
    ],
)
def test_what_is_not_done_is_not_offered_either(phrase: str, never: str) -> None:
    found = interpret(phrase, DESK)
    offer = "" if found.misunderstood is None else found.misunderstood.offer

    assert not found.intents
    assert not found.choices
    assert never not in offer
