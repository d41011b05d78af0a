"""Made-up sentences: every number, coin, fee, time and rhythm is in the line or is asked about."""

import re
from fractions import Fraction
from random import Random
from typing import NamedTuple

import pytest

from tests.printed import printed
from tools.phrase_report import DESK, PROVIDERS, list_names, recorded
from zuno_tui.catalog.interpret import interpret
from zuno_tui.catalog.registry import registry
from zuno_tui.intents.phrase_error import NotReadYetError

VERBS = """collect claim harvest compound reinvest close exit withdraw decrease reduce trim increase
add move shift widen recommend rebalance inspect show open create mint swap sell buy wrap unwrap
hedge unhedge alert mute price what-if earned history export order""".split()  # noqa: SIM905
NOISE = ("please", "now", "hey", "for me", "thanks", "just", "my", "the", "ok", "asap")
COINS = ("weth", "usdc", "eth", "wbtc", "usdt")
HELD = ("26", "27", "30", "33", "35", "37")
RHYTHMS = ("every friday", "every 7 days", "daily", "every week", "every 12 hours", "weekly")
ENDS = ("until friday", "until december")


class Piece(NamedTuple):
    words: str
    values: tuple[str, ...] = ()
    """What must come back: a number, a coin, or a word."""


def _piece(draw: Random) -> Piece:
    coin, number = draw.choice(COINS), str(draw.choice((0.4, 2.5, 12, 700, 1350)))
    low, high = str(draw.randrange(2000, 2900)), str(draw.randrange(3200, 4100))
    part, fee = str(draw.choice((15, 45, 80))), draw.choice(("0.05", "0.3", "0.01"))
    return draw.choice(
        [
            Piece(f"#{(ref := draw.choice(HELD))}", (ref,)),
            Piece(f"{number} {coin}", (number, coin)),
            Piece(f"${low}", (low,)),
            Piece(f"{part}%", (part,)),
            Piece(f"{low} to {high}", (low, high)),
            Piece(f"between {low} and {high}", (low, high)),
            Piece(f"weth/usdc {fee}%", ("weth", "usdc", fee)),
            Piece(f"eth/usdc {fee}", ("eth", "usdc", fee)),
            Piece(f"below {low}", (low,)),
            Piece(rhythm := draw.choice(RHYTHMS), (rhythm.split()[0],)),
            Piece(draw.choice(ENDS), ("until",)),
            Piece("all", ()),
            Piece("in euros", ("euros",)),
            Piece("until 1 dec", ("dec",)),
            Piece("4 times", ("4",)),
            Piece("only the fees", ()),
            Piece(f"into {coin}", (coin,)),
            Piece(f"for {number} hours" if number.isdigit() else "for 3 hours", ()),
        ]
    )


def _sentence(draw: Random) -> tuple[str, tuple[str, ...]]:
    pieces = [_piece(draw) for _ in range(draw.randrange(1, 4))]
    words = [draw.choice(VERBS), *(piece.words for piece in pieces)]
    if draw.random() < 0.3:
        words.insert(draw.randrange(len(words)), draw.choice(NOISE))
    if draw.random() < 0.2:
        words = [*words[1:], words[0]]
    return " ".join(words), tuple(value for piece in pieces for value in piece.values)


_ALSO = {
    "eth": ("eth", "weth"),
    "btc": ("btc", "wbtc"),
    "daily": ("daily", "every 1d"),
    "weekly": ("weekly", "every 7d", "earned week"),
}


def _comes_back(value: str, shown: str) -> bool:
    numbers = {Fraction(each) for each in re.findall(r"[0-9]+(?:\.[0-9]+)?", shown)}
    if value.replace(".", "").isdigit():
        wanted = Fraction(value)
        # What stays of a position is a hundred less what leaves.
        fees = (known.fee for known in DESK.held or () if _is_named(str(known.ref), shown))
        spoken = bool({wanted, 100 - wanted} & numbers) or f"{value}%" in fees
        return spoken or _is_named(value, shown)
    names = _ALSO.get(value, (value,))
    pairs = (known.pair.lower() for known in DESK.held or () if _is_named(str(known.ref), shown))
    implied = "eth weth" if re.search(r"\b(un)?wrap\b", shown) else ""
    text = " ".join((shown, *pairs, implied))
    return any(name in text for name in names)


def _is_named(name: str, shown: str) -> bool:
    if shown.startswith("alerts show"):
        # An alert stands for its position.
        shown += "".join(f" {ref}" for alert, ref in DESK.alerts_of or () if alert in shown.split())
    return re.search(rf"(?<![0-9.]){name}(?![0-9.])", shown) is not None or " all" in shown


def _answered(phrase: str) -> str:
    """All that is shown for a phrase, without its numbers' commas."""
    try:
        found = interpret(phrase, DESK, registry())
    except NotReadYetError as error:
        return str(error)
    lost = found.misunderstood
    told = [*found.lines, *found.unused, found.question or "", *found.choices, found.answer or ""]
    if lost is not None:
        # What is not understood is not filled: the sentence stands where it was typed.
        told += [phrase]
    # An alert is muted by its own number, which stands for its position.
    about = {number: f"#{ref}" for number, ref in DESK.alerts_of or ()}
    told += (about.get(number, "") for number in re.findall(r"(?:mute|ack) ([0-9]+)", told[0]))
    return " ".join(told).lower().replace(",", "")


@pytest.mark.parametrize("count", [pytest.param(10_000, marks=pytest.mark.soak), 400])
def test_nothing_of_a_made_up_sentence_is_dropped(count: int) -> None:
    draw, dropped, values = Random(51), [], 0
    for _ in range(count):
        phrase, said = _sentence(draw)
        shown = _answered(phrase)
        values += len(said)
        dropped += [(phrase, each, shown) for each in said if not _comes_back(each, shown)]
    printed(f"{count} made-up sentences, {values} values: {len(dropped)} dropped")
    assert dropped == []


_PLAIN_NUMBER = re.compile(
    r"(?<![0-9a-z.,/±-])[0-9]+(?:\.[0-9]+)?(?![0-9a-z.,/]| ?(?:%|percent|bps|grand|days))"
)
"""One that is neither worked into prices nor into another unit."""
_DENIED = re.compile(
    r"\b(no|not|never|nah|dont|didnt|except|but|leave|keep|hold|hands|stop|mind|meant|cancel|center|"
    r"centre|around|unmute)\b|n't",
    re.IGNORECASE,
)


def test_no_number_of_the_recorded_phrases_is_dropped() -> None:
    dropped, values = [], 0
    for name in list_names():
        if name != PROVIDERS:
            for record in recorded(name):
                shown = _answered(record.phrase)
                said = _PLAIN_NUMBER.findall(record.phrase) * (not _DENIED.search(record.phrase))
                values += len(said)
                dropped += [
                    (record.phrase, each, shown) for each in said if not _comes_back(each, shown)
                ]
    printed(f"recorded phrases: {values} numbers, {len(dropped)} dropped")
    assert dropped == []


@pytest.mark.parametrize(
    ("phrase", "lines"),
    [
        ("close the three worst positions", ("close 29 37 38",)),
        ("close the 3 worst positions", ("close 29 37 38",)),
        ("collect the 2 newest", ("collect 37 38",)),
        ("close my two oldest", ("close 26 27",)),
        ("close the worst position", ("close 37",)),
        ("ack 1 and mute 2", ("ack 1", "mute 2 for 1h")),
    ],
)
def test_as_many_are_filled_as_were_counted(phrase: str, lines: tuple[str, ...]) -> None:
    assert interpret(phrase, DESK, registry()).lines == lines


@pytest.mark.parametrize("phrase", ["collect all but not 27", "collect everything except not 27"])
def test_what_is_left_out_twice_is_left_out(phrase: str) -> None:
    [line] = interpret(phrase, DESK, registry()).lines
    assert "26" in line.split()
    assert "27" not in line.split()


@pytest.mark.parametrize(
    ("phrase", "asked"),
    [
        ("close 27 gradually", "gradually"),
        ("close 26 if it loses 8% before christmas", "christmas"),
        ("swap 100 usdc to usdt with max slippage 0.1%", "0.1%"),
        ("collect 33 biweekly", "biweekly"),
        ("collect 27 in usdc", "in usdc"),
        ("close 27 to usdc", "to usdc"),
        ("close 27 and give me usdc", "give usdc"),
        ("close 27 for dollars", "for dollars"),
    ],
)
def test_a_coin_to_be_paid_in_is_asked_about(phrase: str, asked: str) -> None:
    found = interpret(phrase, DESK, registry())
    assert asked in (found.question or "")
    assert not found.runs
