"""Every command line that a phrase comes to, or is offered, is one that `zuno` can read."""

from __future__ import annotations

import contextlib
import io
import shlex
from functools import cache
from typing import TYPE_CHECKING

from chain.contracts.networks import all_networks
from tests.zuno_tui.phrases.interpreted import LISTS, interpreted, said_in
from zuno_tui.cli.parser import build_parser
from zuno_tui.commands.create import CreatePosition
from zuno_tui.commands.prompt.saying import interpretation_document
from zuno_tui.commands.registry import registry
from zuno_tui.phrases.create_phrase import parse_create
from zuno_tui.phrases.phrase_error import PhraseError

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator


@cache
def _parser() -> ArgumentParser:
    return build_parser(registry().on_command_line())


@cache
def _is_read(line: str) -> bool:
    """By the command line's own grammar, and `create` by that of its phrase."""
    program, *words = shlex.split(line)
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            parsed = _parser().parse_args(words)
        except SystemExit as ended:
            return program == "zuno" and ended.code == 0
    created = parsed.chosen is not None and parsed.chosen.intent is CreatePosition
    return program == "zuno" and (not created or _is_opened(parsed.phrase))


def _is_opened(phrase: str) -> bool:
    try:
        parse_create(phrase, all_networks()[0])
    except PhraseError:
        return False
    return True


def _lines() -> Iterator[str]:
    for name in LISTS:
        for one in said_in(name):
            found = interpreted(one.said)
            lines = (*(intent.twin for intent in found.intents), *found.choices)
            yield from (line for line in lines if line.startswith("zuno "))


def test_every_command_line_can_be_read() -> None:
    lines = set(_lines())

    assert len(lines) > 300
    assert {line for line in lines if not _is_read(line)} == set()


def test_what_cannot_be_read_is_noticed() -> None:
    assert not _is_read("zuno move 27 2900")
    assert not _is_read("zuno frobnicate 7")
    assert not _is_read("zuno create '0.5 ETH WETH/USDC'")


def test_keys_of_the_desk_are_an_answer_and_no_command() -> None:
    document = interpretation_document(interpreted("cancel that"))

    assert document["commands"] == []
    assert document["understood"]
    assert document["answer"]
