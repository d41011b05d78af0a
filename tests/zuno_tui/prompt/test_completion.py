"""What a half-typed phrase offers to become."""

import pytest

from chain.protocols.reference import v4_position
from zuno_tui.catalog.completion import MOST_SHOWN, completions
from zuno_tui.catalog.interpret import understand
from zuno_tui.catalog.registry import registry
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.phrase_error import Misunderstood

DESK = PhraseContext(
    positions=(v4_position(7), v4_position(9)),
    selected=v4_position(9),
    plan_id="plan_ab",
    candidates=("2", "1", "close"),
    alerts=("3",),
    records=("req_aa",),
)


def _offered(text: str, context: PhraseContext = DESK) -> list[str]:
    return [offered.phrase for offered in completions(text, context, registry())]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("", []),
        ("insp", ["inspect"]),
        ("recommend ", ["recommend 9", "recommend 7"]),
        ("recommend 7", []),
        ("rebalance ", ["rebalance 9", "rebalance 7"]),
        ("approve ", ["approve 2", "approve 1", "approve close"]),
        ("approve c", ["approve close"]),
        ("ack ", ["ack 3"]),
        ("replay r", ["replay req_aa"]),
        ("switch to opt", ["switch to optimism"]),
        ("help swi", ["help switch to"]),
        ("inspect 7 and ", []),
    ],
)
def test_how_a_phrase_goes_on(typed: str, offered: list[str]) -> None:
    assert _offered(typed) == offered


def test_only_what_is_possible_is_proposed() -> None:
    nothing = PhraseContext()

    assert "recommend" not in _offered("re", nothing)
    assert "approve" not in _offered("a", nothing)
    assert "apply" not in _offered("ap")
    assert "apply" in _offered("ap", PhraseContext(plan_id="plan_ab", approved=True))


def test_a_taken_completion_is_understood() -> None:
    for typed in ("recommend ", "inspect ", "approve ", "ack ", "replay ", "switch to ", "help "):
        for phrase in _offered(typed):
            assert not isinstance(understand(phrase, DESK, registry()), Misunderstood), phrase


def test_a_short_list() -> None:
    assert (
        len(_offered("inspect ", PhraseContext(positions=tuple(map(v4_position, range(500))))))
        == MOST_SHOWN
    )
