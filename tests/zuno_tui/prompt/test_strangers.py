"""What people say who know zuno from its help alone, by what is general in it."""

import pytest

from tools.fit_phrases import STRANGERS
from tools.phrase_report import STRANGERS_DESK
from zuno_tui.catalog.interpret import interpret
from zuno_tui.catalog.registry import registry
from zuno_tui.catalog.typed_line import may_look
from zuno_tui.prompt.ranking import line_rows


def test_each_line_that_strangers_meant_is_one_that_sentences_come_to() -> None:
    lines = {row.line for row in line_rows()}

    for written in STRANGERS.read_text("utf-8").splitlines():
        phrase, _, line = written.partition("\t")
        assert phrase
        assert line in lines, phrase


@pytest.mark.parametrize(
    ("phrase", "line"),
    [
        ("take 26 over to v4 with the 0.05 fee tier", "migrate 26 v4 0.05%"),
        ("best pool for link", "pools LINK"),
        ("harvest 28 weeky if more than 40 bucks", "order collect 28 every 7d over $40"),
        ("recentre 31 but dont sell anything", "move 31 --no-swap"),
        ("wind down no 38, we are done there", "close 38"),
        ("get me link for 100 usdc", "swap 100 USDC LINK"),
        ("swap a hundred dollars of usdc to link", "swap 100 USDC LINK"),
        ("i need my weth as native coin, 0.3 of it", "unwrap 0.3"),
        ("ping me when bitcoin breaks a hundred thousand", "alert WBTC above 100000"),
        ("what if bitcoin halves", "what-if WBTC -50"),
        ("delta neutral everything", "hedge all"),
        ("log in as savings", "wallet use savings"),
        ("impermanant loss meaning", "glossary IL"),
        ("why on earth did you go short yesterday?", "trade why"),
    ],
)
def test_a_line_is_filled_by_what_was_said(phrase: str, line: str) -> None:
    assert interpret(phrase, STRANGERS_DESK, registry()).lines == (line,)


@pytest.mark.parametrize(
    "phrase",
    ["fees 28", "delete everything", "do not let zuno carry out my orders", "remind me on friday"],
)
def test_nothing_that_acts_is_filled_without_a_word_of_it(phrase: str) -> None:
    found = interpret(phrase, STRANGERS_DESK, registry())

    assert all(may_look(intent, registry()) for intent in found.intents)


def test_an_order_is_exported_by_its_own_number() -> None:
    found = interpret("order export 1 order-1.json", STRANGERS_DESK, registry())

    assert "position" not in (found.question or "")
