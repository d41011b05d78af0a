"""Several commands of one phrase: a list first, then one at a time, or all that only look."""

from __future__ import annotations

from zuno_tui.commands.alerts import Acknowledge
from zuno_tui.commands.collect import CollectFees
from zuno_tui.commands.prompt.several import SeveralIntents
from zuno_tui.commands.prompt.understanding import understand
from zuno_tui.phrases.context import PhraseContext, SpokenPosition

HELD = (SpokenPosition(7, "WETH/USDC", "0.05%", "in range"), SpokenPosition(8, "ETH/USDC"))
DESK = PhraseContext(positions=(7, 8), held=HELD)


def test_all_is_a_list_that_waits_for_a_word() -> None:
    meant = understand("collect all", DESK)

    assert meant == SeveralIntents((CollectFees(7), CollectFees(8)))
    assert not meant.confirmed
    assert all(str(number) in meant.sentence for number in (2, 7, 8))


def test_what_goes_on_the_card_is_taken_one_by_one() -> None:
    assert not SeveralIntents((CollectFees(7), CollectFees(8))).at_once
    assert SeveralIntents((Acknowledge("1"), Acknowledge("2"))).at_once
