"""The recorded phrases as a report: their share is held, and nothing of theirs runs unasked."""

import sys

from tools.phrase_report import (
    FRESH,
    PROVIDERS,
    desk_of,
    is_same,
    list_names,
    outcome_of,
    recorded,
    share_of,
)

LEAST_SHARE = 0.85


def test_most_recorded_phrases_come_to_the_same_command() -> None:
    shares = [share_of(name) for name in list_names() if name not in (PROVIDERS, FRESH)]
    same, count = sum(share.same for share in shares), sum(share.count for share in shares)

    sys.stdout.write(f"{same} of {count} recorded phrases come to the same command\n")
    assert count == 2_250
    assert same >= LEAST_SHARE * count


def test_no_sentence_runs_what_moves_money_or_changes_a_setting() -> None:
    ran = {
        record.phrase: found.lines
        for name in list_names()
        for record in recorded(name)
        for found in (outcome_of(record.phrase, desk_of(name)),)
        if found.runs and not found.only_looks and not found.exact
    }

    assert ran == {}


def test_the_report_notices_another_command_and_another_position() -> None:
    record = next(each for each in recorded("strangers") if each.lines == ("zuno close 31",))
    desk = desk_of("strangers")

    assert is_same(record, outcome_of("exit 31", desk))
    assert not is_same(record, outcome_of("exit 30", desk))
    assert not is_same(record, outcome_of("collect 31", desk))
    assert not is_same(record, outcome_of("frob", desk))
