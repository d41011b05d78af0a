"""What `zuno say` reads before it answers: nobody has read the positions there."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.zuno_tui.phrases.interpreted import DESK
from zuno_tui.commands.prompt.saying import may_name_positions
from zuno_tui.commands.prompt.understanding import interpret
from zuno_tui.phrases.context import PhraseContext
from zuno_tui.phrases.phrase_error import NotReadYetError

NOTHING_READ = PhraseContext(alerts=DESK.alerts, alerts_of=DESK.alerts_of)
READ = replace(NOTHING_READ, positions=DESK.positions, held=DESK.held)


def _commands(phrase: str, context: PhraseContext) -> list[str]:
    return [intent.twin for intent in interpret(phrase, context).intents]


@pytest.mark.parametrize(
    "phrase",
    ["close 30", "add 1 weth to 35", "close 28", "btc price", "move 30 to 290 330", "frob"],
)
def test_what_the_wallet_holds_may_change_what_is_meant(phrase: str) -> None:
    assert may_name_positions(interpret(phrase, NOTHING_READ))


@pytest.mark.parametrize("phrase", ["close 30 and 36", "what happens to 27 if eth goes to 2500"])
def test_of_several_numbers_only_the_positions_tell_which_is_one(phrase: str) -> None:
    with pytest.raises(NotReadYetError):
        interpret(phrase, NOTHING_READ)


@pytest.mark.parametrize(
    "phrase", ["gas", "price of ETH", "undo", "what is LVR", "alert ETH below 3000", "positions"]
)
def test_what_is_about_no_position_needs_none(phrase: str) -> None:
    assert not may_name_positions(interpret(phrase, NOTHING_READ))


@pytest.mark.parametrize(
    ("phrase", "commands"),
    [
        ("close 30 and 36", ["zuno close 30", "zuno close 36"]),
        ("add 1 weth to 35", ["zuno increase 35 1 WETH"]),
        ("close 28", []),
        ("btc price", ["zuno price WBTC"]),
        ("claim 27, 33 and 35", ["zuno collect 27", "zuno collect 33", "zuno collect 35"]),
    ],
)
def test_with_the_positions_read_it_is_understood(phrase: str, commands: list[str]) -> None:
    assert _commands(phrase, READ) == commands
