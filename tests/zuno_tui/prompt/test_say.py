"""`zuno say`: a look runs, what moves money or changes a setting is only printed."""

import json
from pathlib import Path

import pytest

from tools.phrase_report import DESK
from zuno_tui.catalog.interpret import interpret
from zuno_tui.catalog.registry import registry
from zuno_tui.cli import main
from zuno_tui.commands.catalog.saying import interpretation_document, may_name_positions
from zuno_tui.intents.context import PhraseContext
from zuno_tui.present.exit_codes import DONE, REFUSED


def _say(phrase: str, home: Path, *flags: str) -> int:
    return main(["say", phrase, "--home", str(home), "--network", "devnet", *flags])


@pytest.mark.parametrize(
    ("phrase", "line"),
    [
        ("take me to arbitrum", "zuno --network arbitrum"),
        ("lmk when eth is under 2900", "zuno alert ETH below 2900"),
        ("make 2 eth into weth", "zuno wrap 2"),
    ],
)
def test_what_a_sentence_would_change_is_printed_and_not_run(
    phrase: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _say(phrase, tmp_path) == REFUSED

    printed = capsys.readouterr()
    assert printed.out.splitlines() == [line]
    assert "Nothing was run. To run it, type the command itself." in printed.err


def test_a_dry_run_prints_the_same_and_is_no_refusal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _say("make 2 eth into weth", tmp_path, "--dry-run", "--json") == DONE

    assert json.loads(capsys.readouterr().out)["commands"] == ["zuno wrap 2"]


def test_a_question_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert _say("what does impermanent loss mean", tmp_path) == DONE

    printed = capfd.readouterr()
    assert "$ zuno glossary IL" in printed.err
    assert "Impermanent loss" in printed.out


def test_apply_is_never_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _say("apply", tmp_path) == REFUSED

    assert "typed as its own command" in capsys.readouterr().err


@pytest.mark.parametrize("phrase", ["close 30", "add 1 weth to 35", "btc price", "frob"])
def test_what_the_wallet_holds_may_change_what_is_meant(phrase: str) -> None:
    assert may_name_positions(interpret(phrase, PhraseContext(), registry()))


@pytest.mark.parametrize("phrase", ["gas", "price of ETH", "undo", "what is LVR", "positions"])
def test_what_is_about_no_position_needs_none(phrase: str) -> None:
    assert not may_name_positions(interpret(phrase, PhraseContext(), registry()))


@pytest.mark.parametrize(
    ("phrase", "lines"),
    [
        ("follow 27 up to 3400", ("order move 27 up to 3400",)),
        ("follow 27 down to 2800", ("order move 27 down to 2800",)),
        ("compound 27 every week", ("order compound 27 every 7d",)),
        ("compound 27 weekly over $20", ("order compound 27 every 7d over $20",)),
        ("order move 27 up to 3,400 --follow 2", ("order move 27 up to 3,400 --follow 2",)),
        ("follow 27", ("watch-ids 27",)),
        ("follow 27 up", ()),
    ],
)
def test_what_is_to_happen_later_is_an_order(phrase: str, lines: tuple[str, ...]) -> None:
    meant = interpret(phrase, DESK, registry())
    choices = tuple(choice.removeprefix("zuno ") for choice in meant.choices)

    assert (choices or meant.lines) == lines


def test_keys_of_the_desk_are_an_answer_and_no_command() -> None:
    document = interpretation_document(interpret("cancel that", DESK, registry()))

    assert document["commands"] == []
    assert document["understood"]
    assert document["answer"]
