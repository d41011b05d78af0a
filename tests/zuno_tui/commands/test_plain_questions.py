"""The figures behind what-if and earned, and the document of `zuno say`."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import pytest

from chain.base.spelling import one_slip_apart
from chain.base.units import DAY
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.by_day import DayOfRange
from zuno_tui.app.earned import days_in
from zuno_tui.app.what_if import moved_sqrt_price
from zuno_tui.catalog.registry import registry
from zuno_tui.commands.catalog.saying import interpretation_document
from zuno_tui.commands.glossary import glossary_answer
from zuno_tui.commands.what_if import read_change, read_level
from zuno_tui.present.glossary import GLOSSARY, term_named
from zuno_tui.prompt.context import PhraseContext
from zuno_tui.prompt.interpret import interpret
from zuno_tui.prompt.phrase_error import PhraseError


def test_a_price_moves_by_the_square_of_its_root() -> None:
    now = sqrt_price_at_tick(1_000)
    up, same = Fraction(4), Fraction(1)

    assert moved_sqrt_price(now, up, same) == 2 * now
    assert moved_sqrt_price(now, same, up) == isqrt(now * now // 4)
    assert moved_sqrt_price(now, up, up) == now


def test_a_week_has_the_present_day_and_six_before_it() -> None:
    days = [DayOfRange(day * DAY, 10, 4) for day in range(20)]
    now = 19 * DAY + 5_000

    assert days_in(days, now, 1) == days[-1:]
    assert days_in(days, now, 7) == days[-7:]
    assert days_in(days, now, 30) == days


def test_yesterday_is_the_day_before_the_present_one_alone() -> None:
    days = [DayOfRange(day * DAY, day, 1) for day in range(20)]

    assert days_in(days, 19 * DAY + 5_000, 2, without=1) == days[18:19]


@pytest.mark.parametrize("text", ["-100", "-250", "ten", "", "1e9"])
def test_no_price_falls_by_all_of_itself(text: str) -> None:
    with pytest.raises(ValueError, match="not a change"):
        read_change(text)


def test_changes_and_levels_are_read_as_they_are_said() -> None:
    assert read_change("+12.5%") == "12.5"
    assert read_level("$2.5k") == "2500"


def test_every_term_is_found_by_every_name_and_none_twice() -> None:
    names = [name for term in GLOSSARY for name in (term.name.lower(), *term.also)]

    assert len(names) == len(set(names))
    for term in GLOSSARY:
        assert all(term_named(name) is term for name in (term.name, *term.also))


def test_a_word_the_glossary_lacks_is_refused() -> None:
    with pytest.raises(PhraseError):
        glossary_answer("flux capacitor")


@pytest.mark.parametrize(
    ("phrase", "understood", "commands", "asks"),
    [
        ("exit 26", True, ["zuno close 26"], False),
        ("undo", True, [], False),
        ("decrease 26", True, [], True),
        ("exit", True, [], True),
        ("frob the wibble", False, [], False),
    ],
)
def test_what_a_phrase_comes_to_as_a_document(
    phrase: str, *, understood: bool, commands: list[str], asks: bool
) -> None:
    document = interpretation_document(interpret(phrase, PhraseContext(), registry()))

    assert document["understood"] is understood
    assert document["commands"] == commands
    assert (document["question"] is not None) is asks


@pytest.mark.parametrize(
    ("typed", "apart"),
    [
        ("colect", True),
        ("collectt", True),
        ("cloect", False),
        ("ocllect", True),
        ("collect", False),
    ],
)
def test_one_slip_is_one_letter(typed: str, apart: bool) -> None:
    assert one_slip_apart(typed, "collect") is apart
