"""The claim ledger, measured on sentences that were labelled before it was written."""

import json
import re
import sys
import time
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.model.claims import (
    ClaimFlag,
    ClaimLedger,
    FlagKind,
    Quantity,
    Unit,
    find_numerals,
    without_ids,
)

HERE = Path(__file__).parent
# Labelled before a line of the ledger was written. It then raised one false alarm and missed
# nothing; that one was mended.
LABELLED = HERE / "claims_labelled.jsonl"
# Written when it was done, in other words: nine false alarms, none missed; these were mended too.
SECOND_LOOK = HERE / "claims_second_look.jsonl"
# Written after that and never mended for: how it fares on words it does not know.
HELD_OUT = HERE / "claims_held_out.jsonl"


class Sentence(NamedTuple):
    group: str
    text: str
    flags: list[tuple[int, int, str]]


def the_ledger() -> ClaimLedger:
    ledger = ClaimLedger()
    head = json.loads(LABELLED.read_text("utf-8").splitlines()[0])
    for name, entry in head["ledger"].items():
        shown = find_numerals(entry["shown"])[0].value
        value = Decimal(str(entry["value"]))
        ledger.quantities[name] = Quantity(value, Unit(entry["unit"]), shown)
    return ledger


def labelled(path: Path) -> list[Sentence]:
    sentences = []
    for row in map(json.loads, path.read_text("utf-8").splitlines()):
        if "ledger" in row:
            continue
        spans = []
        for flag in row["flags"]:
            start = row["text"].index(flag["text"])
            spans.append((start, start + len(flag["text"]), flag["kind"]))
        sentences.append(Sentence(row["group"], row["text"], spans))
    return sentences


def overlaps(flag: ClaimFlag, span: tuple[int, int, str]) -> bool:
    return flag.start < span[1] and span[0] < flag.end


@pytest.mark.parametrize(
    ("path", "least_precision", "least_recall"),
    [(LABELLED, 0.98, 0.98), (SECOND_LOOK, 0.95, 0.98), (HELD_OUT, 0.80, 0.95)],
    ids=["labelled", "second look", "held out"],
)
def test_precision_and_recall(
    path: Path, least_precision: float, least_recall: float, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, sentences = the_ledger(), labelled(path)
    tally: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    wrong: list[str] = []
    for sentence in sentences:
        flags = ledger.check(sentence.text).flags
        found = [
            span
            for span in sentence.flags
            if any(overlaps(flag, span) and flag.kind == span[2] for flag in flags)
        ]
        invented = [
            flag for flag in flags if not any(overlaps(flag, span) for span in sentence.flags)
        ]
        counts = (len(found), len(invented), len(sentence.flags) - len(found))
        tally[sentence.group] = [a + b for a, b in zip(tally[sentence.group], counts, strict=True)]
        if invented or len(found) < len(sentence.flags):
            wrong.append(sentence.text)
    hits, false_alarms, missed = (sum(counts) for counts in zip(*tally.values(), strict=True))
    precision, recall = hits / (hits + false_alarms), hits / (hits + missed)
    lines = [
        f"{path.stem}: {len(sentences)} sentences, {hits + missed} flags:"
        f" precision {precision:.3f}, recall {recall:.3f}"
    ]
    for group, (hit, alarm, miss) in tally.items():
        lines.append(f"  {group:36} found {hit:3}  false alarms {alarm:2}  missed {miss:2}")
    lines += [f"  wrong about {text!r}" for text in wrong]
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(lines) + "\n")
    assert precision >= least_precision
    assert recall >= least_recall


NUMBERS = st.decimals(
    min_value=Decimal("0.0001"), max_value=10**7, allow_nan=False, allow_infinity=False, places=6
)


@given(NUMBERS, st.sampled_from(list(Unit)), st.integers(2, 6))
def test_a_number_quoted_as_the_prompt_wrote_it_is_right(
    value: Decimal, unit: Unit, digits: int
) -> None:
    ledger = ClaimLedger()
    cited = ledger.cite(value, unit, digits=digits)
    name, _, shown = cited.partition(" ")
    for sentence in (
        f"It is {cited} now.",
        f"It is {shown} {name} now.",
        f"I read {shown} as the value {name}, so I hold.",
    ):
        report = ledger.check(sentence)
        assert (report.matched, report.flags) == (1, ()), sentence


@given(
    NUMBERS.filter(lambda value: value > Decimal("0.01")),
    st.sampled_from(list(Unit)),
    st.decimals(min_value=Decimal("1.2"), max_value=50, places=2),
    st.booleans(),
)
def test_a_number_a_fifth_off_is_flagged(
    value: Decimal, unit: Unit, factor: Decimal, up: bool
) -> None:
    ledger = ClaimLedger()
    ledger.cite(value, unit, digits=6)
    other = ClaimLedger()
    wrong = value * factor if up else value / factor
    _, _, shown = other.cite(wrong, unit, digits=6).partition(" ")
    # A number written with one digit stands for all that round to it.
    if (unit is Unit.FRACTION and 95 <= factor <= 105) or len(wrong.normalize().as_tuple()[1]) < 2:
        return
    report = ledger.check(f"The pool shows {shown} [n1] now.")
    assert [flag.kind for flag in report.flags] == [FlagKind.MISMATCH]


def test_every_right_sentence_goes_wrong_with_its_number() -> None:
    ledger, sentences = the_ledger(), labelled(LABELLED)
    changed = 0
    for sentence in sentences:
        if sentence.group != "right citation" or len(find_numerals(sentence.text)) < 2:
            continue
        before = ledger.check(sentence.text)
        for name, quantity in list(ledger.quantities.items()):
            if not re.search(rf"\b{name}\b", sentence.text) or quantity.value == 0:
                continue
            ledger.quantities[name] = Quantity(
                quantity.value * Decimal("1.37"), quantity.unit, quantity.shown * Decimal("1.37")
            )
            after = ledger.check(sentence.text)
            ledger.quantities[name] = quantity
            assert len(after.flags) == len(before.flags) + 1, sentence.text
            changed += 1
    assert changed > 35


def test_flags_say_where_what_and_which_id() -> None:
    ledger = ClaimLedger()
    prompt = f"volatility {ledger.cite(0.0324, Unit.FRACTION)}, floor {ledger.cite(36, Unit.HOURS)}"
    assert prompt == "volatility [n1] 3.24%, floor [n2] 36 h"
    prose = "At 3.9 % [n1] it holds 36 h [n2], earns $5 and pays 2 % [n9]."
    report = ledger.check(prose)
    assert report.matched == 1
    assert [(prose[flag.start : flag.end], flag.kind, flag.cited) for flag in report.flags] == [
        ("3.9 %", "mismatch", ("n1",)),
        ("$5", "uncited", ()),
        ("2 %", "unknown", ("n9",)),
    ]


def test_numbers_are_written_as_prompts_need_them() -> None:
    ledger = ClaimLedger()
    assert [
        ledger.cite(Decimal(-1240), Unit.TICKS, digits=6),
        ledger.cite(1250000, Unit.USD),
        ledger.cite(-3.166, Unit.USD),
        ledger.cite(1.4, Unit.MULTIPLIER),
        ledger.cite(2850.5, Unit.PRICE, digits=6),
        ledger.cite(0.0000123, Unit.FRACTION),
        ledger.cite(0, Unit.USD),
    ] == [
        "[n1] -1,240 ticks",
        "[n2] $1,250,000",
        "[n3] -$3.17",
        "[n4] 1.4×",
        "[n5] 2,850.5",
        "[n6] 0.00123%",
        "[n7] $0",
    ]


def test_people_read_the_prose_without_ids_and_see_the_flags_in_their_places() -> None:
    ledger = the_ledger()
    prose = "[n1] 3.9 % ([n4]) beats 30 h [n3], but (n5, n6) $7 holds [n2] 1.9 %."
    flags = ledger.check(prose).flags
    text, moved = without_ids(prose, flags)
    assert text == "3.9 % beats 30 h, but $7 holds 1.9 %."
    assert [text[flag.start : flag.end] for flag in moved] == ["3.9 %", "30 h", "$7"]
    assert [flag.kind for flag in moved] == [flag.kind for flag in flags]


@given(st.text(alphabet="ab 1.%[](),n\n", max_size=60))
def test_flags_keep_their_words_when_ids_go(text: str) -> None:
    flags = the_ledger().check(text).flags
    bare, moved = without_ids(text, flags)
    for before, after in zip(flags, moved, strict=True):
        assert bare[after.start : after.end] == text[before.start : before.end]


@given(st.text(max_size=300) | st.text(alphabet="[]n123.,%h×$- k\n", max_size=200))
def test_no_text_breaks_the_ledger(text: str) -> None:
    ledger = the_ledger()
    report = ledger.check(text)
    for flag in report.flags:
        assert 0 <= flag.start < flag.end <= len(text)


def test_long_hostile_text_is_checked_in_no_time() -> None:
    ledger = the_ledger()
    hostile = (
        "1," * 1000,
        "[n1" * 1000,
        "9" * 4000,
        "1×, " * 1000,
        "3.2 % [n1] " * 300,
        ",".join(["999"] * 1000),
    )
    before = time.process_time()
    for text in hostile:
        ledger.check(text)
    assert time.process_time() - before < 2


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("It earns twenty-five percent.", "0.25"),
        ("It costs seven thousand dollars.", "7000"),
        ("It costs two hundred and fifty dollars.", "250"),
        ("It lasts fourteen hours.", "14"),
        ("It costs ７,０００ dollars.", "7000"),
    ],
)
def test_numbers_in_words_and_in_other_digits_are_numbers(text: str, value: str) -> None:
    assert [numeral.value for numeral in find_numerals(text)] == [Decimal(value)]
