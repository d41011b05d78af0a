"""Phrases with what they meant, written down before they were tried, and how that first try went.

Those of the five `strangers` lists were written by people who had not seen the grammar, the others
by its author. All have been used since to mend the grammar with: their figures are of then.
"""

from __future__ import annotations

import re
import sys

import pytest

from tests.zuno_tui.phrases.interpreted import LISTS, Said, interpreted, said_in
from zuno_tui.commands.registry import registry

MONEY = {verb.name for verb in registry().verbs if verb.money} - {"outbox"}
"""A look at the outbox sends nothing."""

SAID = [one for name in LISTS for one in said_in(name)]


def _commands(said: str) -> str:
    return " ; ".join(intent.twin.removeprefix("zuno ") for intent in interpreted(said).intents)


@pytest.mark.parametrize("name", LISTS)
def test_how_many_were_understood(name: str) -> None:
    said = said_in(name)
    right = sum(one.right for one in said)
    word_for_word = sum(_commands(one.said) == one.meant for one in said)

    sys.stdout.write(
        f"{name}: {right} of {len(said)} phrases were understood or asked back rightly when they "
        f"were first tried; {word_for_word} give the very command that was meant today\n"
    )
    assert (right, len(said)) == (LISTS[name], 150)


def _words(meant: str) -> list[str]:
    return meant.replace(",", "").split()


def _moves_other_tokens(one: Said) -> bool:
    made = _commands(one.said)
    verbs = {command.split()[0] for command in made.split(" ; ") if command}
    deed = made.split()[:3]  # what is done, to which position, with how much
    asked = made == one.meant or one.right or deed == _words(one.meant)[: len(deed)]
    return bool(verbs & MONEY) and not asked


def _moves_by_another_verb(one: Said) -> bool:
    """Also where it was understood once: `wrap` is not to become `unwrap` by later mending."""
    verbs = {command.split()[0] for command in _commands(one.said).split(" ; ") if command}
    named = set(re.findall(r"[a-z]+", one.meant))
    return "ASK" not in one.meant and bool((verbs & MONEY) - named)


def test_no_other_verb_moves_tokens_than_was_meant() -> None:
    assert [one.said for one in SAID if _moves_by_another_verb(one)] == []


def test_nothing_that_moves_tokens_is_made_of_a_phrase_that_meant_otherwise() -> None:
    assert [one.said for one in SAID if _moves_other_tokens(one)] == []
