"""What is seldom asked for, in words that were written before they were tried."""

from __future__ import annotations

import pytest

from tests.zuno_tui.phrases.interpreted import DESK
from zuno_tui.commands.prompt.understanding import interpret

MEANT = """
could you watch position 33 for me|watch-ids 33
monitor only the out of range ones|watch-ids 30 36
put 27 and 33 under observation|watch-ids 27 33
don't lose sight of 36|watch-ids 36
let me pick the range of 27 by hand|range 27
i want to set the edges of 36 myself|range 36
open the range picker for 38|range 38
what would a range of 2900 to 3300 bring for 38|range 38 2900 3300
make 33 delta neutral|hedge 33
how big a short do i need against 27|hedge 27
insure 26 against a crash|hedge 26
cover the downside of 36 with a short|hedge 36
let the bulls and bears argue about eth|trade ETH
long or short on bitcoin?|trade WBTC
my open trades|trade status
which agents are online|mesh
is the critic reachable|mesh
what needs my signature|outbox
whats slipage|glossary slippage
prof said 'tick spacing', meaning?|glossary tick
explain impermanent loss to a 5 year old|glossary IL
how much came in this week|earned week
add two and a half weth to 27|increase 27 2.5 WETH
cut 26 by 500 bps|decrease 26 5
take 1500 basis points off 27|decrease 27 15
33 += 0.2 eth|increase 33 0.2 ETH
27 -= 25%|decrease 27 25
swap my tether for usdc, 400|swap 400 USDT USDC
turn 2 wrapped ether into plain|unwrap 2
convert 1 weth to native|unwrap 1
just the fees from 29, leave the principal|collect 29
which positions went out while i slept|positions
tick range and fees of 33|inspect 33
are fees high on the network right now|gas
how bad is it if bitcoin halves|what-if WBTC -50
"""


@pytest.mark.parametrize("line", MEANT.strip().splitlines())
def test_what_was_meant_is_understood(line: str) -> None:
    phrase, meant = line.split("|")
    found = interpret(phrase, DESK)

    assert [intent.twin for intent in found.intents] == [f"zuno {meant}"]


@pytest.mark.parametrize(
    ("phrase", "choices"),
    [
        ("leave only a quarter of 27", ("zuno decrease 27 75",)),
        ("keep two thirds of 33, take the rest out", ("zuno decrease 33 33",)),
        ("shrink 36 so that just 10% stays", ("zuno decrease 36 90",)),
        ("acknowledge it", tuple(f"zuno alerts ack {one}" for one in DESK.alerts)),
        ("how would this have done last year", ()),
        ("rerun the last debate", ()),
        ("i'd like some weth for 400 usdc", ()),
    ],
)
def test_what_is_missing_is_asked_for(phrase: str, choices: tuple[str, ...]) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents
    assert found.question
    assert found.choices == choices


@pytest.mark.parametrize(
    "phrase", ["first time here, walk me round", "i closed the wrong position", "take that back"]
)
def test_what_no_command_does_is_answered(phrase: str) -> None:
    found = interpret(phrase, DESK)

    assert not found.intents
    assert found.answer


@pytest.mark.parametrize("phrase", ["i would rather wait with 36", "the downside of 27"])
def test_a_word_one_letter_from_a_deed_is_none(phrase: str) -> None:
    found = interpret(phrase, DESK)

    assert not any(intent.twin.startswith("zuno collect") for intent in found.intents)
    assert not found.choices
