"""Commands found and filled by what they declare, without a row of the grammar for each."""

import pytest

from tools.phrase_report import DESK
from zuno_tui.catalog.interpret import interpret
from zuno_tui.catalog.registry import registry
from zuno_tui.catalog.typed_line import may_look
from zuno_tui.prompt.ranking import line_rows, ranked_rows
from zuno_tui.prompt.sentences import said_of
from zuno_tui.prompt.slots import is_look, read_sentence

_BY_HAND = {("apply",), ("order", "cancel")}
"""What signs is typed; orders are cancelled by a verb of their own, `cancel order 2`."""


def _nearest(text: str) -> list[tuple[str, ...]]:
    """The commands of the lines that are nearest to a sentence."""
    ranked = ranked_rows(said_of(read_sentence(text, DESK), DESK))
    return [registry().path_of(each.row.line.partition("{")[0]) for each in ranked]


@pytest.mark.parametrize("path", sorted({*registry().paths()} - _BY_HAND), ids=" ".join)
def test_each_command_is_reached_by_its_own_help(path: tuple[str, ...]) -> None:
    does = registry().paths()[path].does

    assert path in _nearest(f"{' '.join(path)}: {does}")


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("show pools holding wbtc ranked by depth", "zuno pools WBTC --by depth"),
        ("give me a koinly csv for 2025", "zuno history --format koinly --from 2025-01-01"),
        ("let the trade desk look at sol, news of the last hour alone", "SOL --emergency"),
        ("portfolio of cold", "zuno portfolio cold"),
        ("alerts, ended ones too", "zuno alerts --all"),
        ("my endpoint does not find 880 and 881, add them", "zuno watch-ids 880 881"),
    ],
)
def test_an_option_is_filled_by_naming_it(typed: str, line: str) -> None:
    found = interpret(typed, DESK, registry())

    assert any(line in each for each in (*(each.twin for each in found.intents), *found.choices))


def test_a_line_that_is_never_asked_for_by_a_question_acts() -> None:
    paths = registry().paths()
    for row in line_rows():
        command = paths.get(registry().path_of(row.line.partition("{")[0]))
        if command is not None and command.action is not None and not row.is_conditional:
            assert row.acts or is_look(row.verb), row.line


@pytest.mark.parametrize(
    "typed",
    [
        *("do not let zuno carry out my orders", "never delegate my account", "stop delegating"),
        *("let my account send plans as one transaction", "revoke everything but permit2"),
        *("make this machine carry out my orders again", "dont cancel order 2", "orders again"),
        *("cancel every order but number 2", "watch btc every 30m", "reject safe transaction 3"),
        *("sign and send what i approved", "add positions 880 and 881 by number"),
    ],
)
def test_what_acts_is_never_run_and_what_is_denied_never_filled(typed: str) -> None:
    found = interpret(typed, DESK, registry())
    acts = [intent for intent in found.intents if not may_look(intent, registry())]

    assert not (acts and found.runs)
    assert not (acts and {"not", "dont", "never", "but"} & {*typed.split()})
