"""What is offered back: no deed that no word of the phrase names, and none to a question."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.zuno_tui.phrases.interpreted import DESK, LISTS, interpreted, said_in
from zuno_tui.commands.prompt.interpretation import is_question
from zuno_tui.commands.prompt.offering import NAMED_BY, deed_in
from zuno_tui.commands.prompt.understanding import interpret
from zuno_tui.commands.registry import registry

if TYPE_CHECKING:
    from zuno_tui.commands.prompt.interpretation import Interpretation

NAMING = {
    "approve": (
        r"approv|sign|yes|agree|ok|go|do|looks|"
        r"sounds|fine|good|great|perfect|lgtm|ship|accept|confirm"
    ),
    "cancel transaction": r"cancel|stop|tx|transaction",
    "close": (
        r"clos|exit|out|leav|withdraw|remov|pull|kill|"
        r"sell|empty|take|dump|all|back|exut|end|nuke"
    ),
    "collect": r"colle|claim|harvest|fee|reward|earn|profit|grab|sweep|yield|cash|take",
    "compound": r"compo?u?nd|reinvest|back|fee|roll|reward",
    "create": (
        r"open|new|creat|mint|put|lp|deploy|provide|"
        r"start|add|position|invest|build|park|range|more"
    ),
    "decrease": (
        r"decreas|reduc|trim|take|out|withdraw|remov|half|cut|"
        r"keep|less|pull|back|sell|shrink|light|free|derisk"
    ),
    "increase": r"increas|add|put|more|top|into|in|double|deposit|throw|grow|boost|\+",
    "move": r"move|mv|shift|range|re-?cent|set|bring|between|wid|around|edge|to",
    "outbox": r"sent|tx|transaction|outbox",
    "revoke": r"revok|allow|approv|permission",
    "speed up": r"speed|fast",
    "swap": r"swap|sell|buy|convert|trade|exchange|turn|change|flip|get|dump|ape",
    "unwrap": r"unwrap|unrwap|weth",
    "wrap": r"wrap|weth|add|put",
}
"""Words by which a person names each deed, as this test sees it."""


def _deeds_offered(found: Interpretation) -> set[str]:
    offer = "" if found.misunderstood is None else found.misunderstood.offer
    return {deed for line in (*found.choices, offer) if (deed := deed_in(line))}


def _unnamed(said: str, meant: str, found: Interpretation) -> set[str]:
    return {
        deed
        for deed in _deeds_offered(found)
        if deed not in meant and re.search(rf"\b(?:{NAMING[deed]})", said.lower()) is None
    }


@pytest.mark.parametrize("name", LISTS)
def test_no_deed_is_offered_that_no_word_names(name: str) -> None:
    unnamed = {
        one.said: found
        for one in said_in(name)
        if (found := _unnamed(one.said, one.meant, interpreted(one.said)))
    }

    assert unnamed == {}


@pytest.mark.parametrize("name", LISTS)
def test_no_question_is_offered_a_deed(name: str) -> None:
    offered = {
        one.said: found
        for one in said_in(name)
        if is_question(one.said) and (found := _deeds_offered(interpreted(one.said)))
    }

    assert offered == {}


def test_every_verb_that_leads_to_a_signature_is_watched() -> None:
    money = {verb.name for verb in registry().verbs if verb.money}

    assert money | {"create", "move"} == set(NAMED_BY)


@pytest.mark.parametrize(
    "phrase",
    [
        "liquidity, ticks and what waits for 37",
        "did it pocket anything this month?",
        "collect fees on all of them?",
        "my retired uncle has 2 weth and usdc",
        "a closet for 36",
        "loves 27 500 usdc",
    ],
)
def test_nearness_names_no_deed(phrase: str) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents or not any(deed_in(intent.twin) for intent in found.intents)
    assert _deeds_offered(found) == set()


@pytest.mark.parametrize(
    ("phrase", "deeds"),
    [("collekt 27", {"collect"}), ("close 26?", {"close"}), ("gimme my fees", {"collect"})],
)
def test_what_is_named_is_offered(phrase: str, deeds: set[str]) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents
    assert _deeds_offered(found) == deeds


@pytest.mark.parametrize(
    ("phrase", "choices"),
    [
        ("add 500 weth to 35", ("zuno increase 35 500 USDC", "zuno increase 35 500 WETH")),
        ("put 9 million usdc in 27", ("zuno increase 27 9000000 USDC",)),
        ("decrease 26 or 27 by 40", ("zuno decrease 26 40", "zuno decrease 27 40")),
        ("get me out of all of it", ()),
    ],
)
def test_what_was_hardly_meant_is_asked(phrase: str, choices: tuple[str, ...]) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents
    assert found.question
    assert found.choices == choices


@pytest.mark.parametrize(
    ("phrase", "meant"),
    [
        ("i want my eth as weth, 0.3", ["zuno wrap 0.3"]),
        ("i want my weth as eth, 0.3", ["zuno unwrap 0.3"]),
        ("collect but only from the btc ones", ["zuno collect 26", "zuno collect 37"]),
        ("close both losers", []),
        ("i'd close 36", ["zuno recommend 36"]),
        ("fees from 34 please", ["zuno collect 34"]),
    ],
)
def test_no_opposite_deed_and_no_other_position(phrase: str, meant: list[str]) -> None:
    assert [intent.twin for intent in interpret(phrase, DESK).intents] == meant


@pytest.mark.parametrize(
    "phrase",
    [
        "the fees from 29 were nice",
        "my interest from 29 is low",
        "fees off 26 are small",
        "i have nothing to do with 30",
    ],
)
def test_what_is_only_told_is_no_order(phrase: str) -> None:
    found = interpret(phrase, DESK)

    assert not any(deed_in(intent.twin) for intent in found.intents)
    assert _deeds_offered(found) == set()


def test_an_amount_typed_exactly_is_followed() -> None:
    found = interpret("increase 35 500 WETH", DESK)

    assert [intent.twin for intent in found.intents] == ["zuno increase 35 500 WETH"]
