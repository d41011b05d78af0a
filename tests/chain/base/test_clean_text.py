"""Outside text made fit to show: nothing that steers, hides, reverses or floods comes through."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.base.clean_text import (
    DROP,
    MESSAGE_LIMIT,
    OWN_MARKS,
    QUOTE_LIMIT,
    SYMBOL_LIMIT,
    clean_symbol,
    clean_text,
    quoted,
)

NASTY = "\x00\x07\x08\x1b\x7f\x85\x9b\x9d\u00ad\u200b\u200e\u202e\u2066\u2028\ufeff\U000e0041\u3164"
HOSTILE = st.text(st.characters(exclude_categories=[]) | st.sampled_from(NASTY))
UNSHOWN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def assert_harmless(text: str, limit: int) -> None:
    assert len(text) <= limit
    assert not {unicodedata.category(character) for character in text} & UNSHOWN
    assert text == text.translate(DROP)
    assert text == text.strip()


@given(HOSTILE | st.binary())
def test_nothing_harmful_is_left(raw: str | bytes) -> None:
    assert_harmless(clean_text(raw), MESSAGE_LIMIT)
    assert_harmless(clean_symbol(raw).text, SYMBOL_LIMIT)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=SYMBOL_LIMIT))
def test_plain_text_is_left_alone(raw: str) -> None:
    assert clean_text(raw) == raw
    assert clean_symbol(raw).text == raw
    assert not clean_symbol(raw).altered


@given(HOSTILE)
def test_cleaning_twice_is_cleaning_once(raw: str) -> None:
    once = clean_text(raw)
    assert clean_text(once) == once


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("\x1b]52;c;YmFk\x07", "]52;c;YmFk"),
        ("\x1b[2J\x1b[31mred", "[2J[31mred"),
        ("\x9b31mred", "31mred"),
        ("a\r\nb\tc  d\u2028e", "a b c d e"),
        ("user\u202egnp.exe", "usergnp.exe"),
        ("e\u0301\u0301\u0301\u0301", "e\u0301"),
        (b"\xff\xfeok", "\ufffd\ufffdok"),
        ("\ud800x", "x"),
        ("[red]markup[/]", "[red]markup[/]"),
        ("", ""),
    ],
)
def test_known_tricks(raw: str | bytes, cleaned: str) -> None:
    assert clean_text(raw) == cleaned


@pytest.mark.parametrize(
    ("raw", "text", "altered"),
    [
        ("USDC", "USDC", False),
        (b"WETH", "WETH", False),
        ("ＵＳＤＣ", "USDC", True),
        ("US\u200bDC", "USDC", True),
        ("US\u3164DC", "USDC", True),
        ("USDC ", "USDC", True),
        ("USD₮", "USD₮", False),
        ("\u2800\u2800", "", True),
        ("A" * 25, "A" * 23 + "…", True),
    ],
)
def test_a_symbol_says_when_it_was_cleaned(raw: str | bytes, text: str, altered: bool) -> None:
    symbol = clean_symbol(raw)
    assert (symbol.text, symbol.altered) == (text, altered)


def test_what_was_cut_is_marked() -> None:
    assert clean_text("x" * 500) == "x" * (MESSAGE_LIMIT - 1) + "…"
    assert clean_text("x" * MESSAGE_LIMIT) == "x" * MESSAGE_LIMIT
    assert clean_text("\x00" * 10_000 + "x").endswith("…")


def test_megabytes_cost_nothing() -> None:
    started = time.process_time()
    for raw in ("\x1b" * 10_000_000, b"\xff" * 10_000_000, "\u0301" * 10_000_000):
        assert len(clean_symbol(raw).text) <= SYMBOL_LIMIT
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("STF", "“STF”"),
        ("", ""),
        ("\x1b\u200b", ""),
        ('→ ✓ ✗ ▲ › $ ! · ● • ▸ ┃ ━ █ “ ” "', ""),
        ("again. → Type close 28 ✓ checked", "“again. Type close 28 checked”"),
        ("end” → “ours", "“end ours”"),
        ("＄５！ ￫ x", "“5 x”"),
        ("x" * 61, f"“{'x' * 59}…”"),
        ("x" * 60, f"“{'x' * 60}”"),
    ],
)
def test_the_words_of_others_are_quoted_short_and_bare_of_our_marks(raw: str, shown: str) -> None:
    assert quoted(raw) == shown


@given(st.text(max_size=400))
def test_no_text_gets_out_of_its_quotes(raw: str) -> None:
    shown = quoted(raw)
    inside = shown[1:-1]

    assert shown == "" or (shown[0], shown[-1]) == ("“", "”")
    assert len(inside) <= QUOTE_LIMIT
    assert not any(ord(letter) in OWN_MARKS for letter in inside)
    assert inside.isprintable()
