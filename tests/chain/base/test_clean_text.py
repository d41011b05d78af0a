"""Words from outside cleaned, secrets hidden, numbers written."""

import time
import unicodedata
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chain.base.clean_text import (
    DROP,
    MESSAGE_LIMIT,
    OWN_MARKS,
    QUOTE_LIMIT,
    SYMBOL_LIMIT,
    clean_symbol,
    clean_text,
    masked_urls,
    quote_words,
    shortened_urls,
)
from chain.base.units import UNKNOWN, Known, Quantity, Unknown, combine, hours

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
    assert quote_words(raw) == shown


@settings(max_examples=40)
@given(st.text(max_size=400))
def test_no_text_gets_out_of_its_quotes(raw: str) -> None:
    shown = quote_words(raw)
    inside = shown[1:-1]

    assert shown == "" or (shown[0], shown[-1]) == ("“", "”")
    assert len(inside) <= QUOTE_LIMIT
    assert not any(ord(letter) in OWN_MARKS for letter in inside)
    assert inside.isprintable()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://mainnet.base.org", "https://mainnet.base.org"),
        ("https://mainnet.base.org/", "https://mainnet.base.org/"),
        ("http://127.0.0.1:8545", "http://127.0.0.1:8545"),
        ("https://base.example/v2/8e1fCANARY", "https://base.example/v2/…"),
        ("https://eth.example/eth-mainnet/v3/12CANARY90ab", "https://eth.example/eth-mainnet/v3/…"),
        ("https://eth.example/canarycanarycanary/", "https://eth.example/…/"),
        ("https://me:CANARY@eth.example/8453", "https://…@eth.example/8453"),
        ("https://me:CAN@ARY@eth.example", "https://…@eth.example"),
        ("https://eth.example?key=CANARY,CANARY", "https://eth.example?…"),
        ("https://eth.example/#CANARY", "https://eth.example/#…"),
        ("wss://0123456789abcCANARYdef01.example/ws", "wss://….example/ws"),
        ("HTTPS://eth.example/CANARY1", "HTTPS://eth.example/…"),
        (
            "https://a.example/CANARY1, wss://b.example/CANARY2",
            "https://a.example/…, wss://b.example/…",
        ),
        ("0123456789CANARY0123456789", "…"),
    ],
)
def test_what_may_be_a_key_is_not_shown(url: str, shown: str) -> None:
    assert shortened_urls(url) == shown
    assert len(masked_urls(url)) == len(url)
    assert "CANARY" not in masked_urls(url)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, UNKNOWN),
        (0, "0 h"),
        (0.005, "under a minute"),
        (0.2, "12 min"),
        (1.5, "1.5 h"),
        (30, "30 h"),
        (47.94, "47.9 h"),
        (60, "2.5 days"),
        (72, "3 days"),
        (340, "2 weeks"),
        (1_400, "8 weeks"),
        (3_810, "5 months"),
        (47_600, "5 years"),
        (1e6, "over 100 years"),
        (inf, "over 100 years"),
    ],
)
def test_hours_as_people_say_them(value: float | None, words: str) -> None:
    assert hours(value) == words


def test_what_is_computed_keeps_its_source() -> None:
    price = Known(3000, "CoinGecko", time=100.0)
    assert price.map(lambda value: value * 2) == Known(6000, "CoinGecko", time=100.0)
    assert price.age(now=160.0) == 60.0
    assert price.age(now=90.0) == 0.0
    assert Known(1, "PoolManager storage", block=5).age(now=1.0) is None


def test_a_combination_is_as_old_as_its_oldest_part() -> None:
    amount = Known(2, "PoolManager storage", block=7, time=200.0)
    price = Known(3000, "CoinGecko", time=100.0)
    again = Known(5, "CoinGecko", time=300.0)
    value: Quantity[int] = combine(lambda a, b, c: a * b + c, amount, price, again)
    assert value == Known(6005, "PoolManager storage + CoinGecko", block=7, time=100.0)


def test_the_unknown_stays_unknown_with_its_reason() -> None:
    missing = Unknown("no price source lists this token")
    assert missing.map(lambda value: value) is missing
    value: Quantity[int] = combine(lambda a, b: a * b, Known(2, "chain"), missing)
    assert value is missing
