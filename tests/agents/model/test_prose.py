"""Prose read from half-written JSON is the prose of the whole, however it was cut."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agents.model.client import ProseReader, ProseStream
from agents.model.reply_text import PROSE_LIMIT
from chain.base.clean_text import Redactor, clean_text

KEY = "sk-canary-THE-KEY-0123456789abcdef"
UNKNOWN = "\N{REPLACEMENT CHARACTER}"


def read(*pieces: str) -> str:
    reader = ProseReader()
    return "".join(reader.feed(piece) for piece in pieces)


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


def streamed(pieces: list[str], *secrets: str) -> str:
    heard: list[str] = []
    stream = ProseStream(heard.append, Redactor(secrets))
    for piece in pieces:
        stream.feed(piece)
    stream.close()
    return "".join(heard)


@given(st.text(), st.booleans(), st.lists(st.integers(0, 10_000), max_size=30))
def test_any_text_cut_anywhere(text: str, ascii_only: bool, places: list[int]) -> None:
    text = text.encode("utf-8", "replace").decode()
    whole = json.dumps({"prose": text, "shapes": [1]}, ensure_ascii=ascii_only)
    assert read(*cut(whole, places)) == text
    assert read(*whole) == text


@given(
    st.text(max_size=200) | st.text(alphabet="ab \n\u200b\u00a0", max_size=30),
    st.lists(st.integers(0, 10_000), max_size=30),
)
def test_the_stream_says_what_cleaning_the_whole_would_say(text: str, places: list[int]) -> None:
    # Marks that pile up are thinned per piece; two of them meeting at a cut is the one difference.
    text = "".join(c for c in text if clean_text("a" + c + c) != "a" + c)
    whole = json.dumps({"prose": text})
    assert streamed(cut(whole, places)) == clean_text(text, limit=PROSE_LIMIT)


@given(st.text(alphabet=KEY + " \u200b", max_size=60), st.lists(st.integers(0, 999), max_size=20))
def test_a_known_secret_never_passes_however_it_is_cut(text: str, places: list[int]) -> None:
    hidden = f"{text}{KEY[:7]}\u200b{KEY[7:]}{text}"
    assert KEY not in streamed(cut(json.dumps({"prose": hidden}), places), KEY)


def test_a_secret_that_only_begins_is_said_in_the_end() -> None:
    assert streamed(list('{"prose": "it is sk-canary-T"}'), KEY) == "it is sk-canary-T"


def test_escapes_and_surrogates() -> None:
    assert read(r'{"p": "a\"\\\/\b\f\n\r\t\u00e9"}') == 'a"\\/\b\f\n\r\té'
    assert read(r'{"p": "\ud83d\ude00"}') == "😀"
    assert read(r'{"p": "\ud83d', r'\ude00"}') == "😀"
    assert read('{"p": "\ud83d', '\ude00"}') == "😀"
    assert read(r'{"p": "\ud83d x"}') == f"{UNKNOWN} x"
    assert read(r'{"p": "\ud83d"}') == UNKNOWN
    assert read(r'{"p": "\ude00"}') == UNKNOWN
    assert read(r'{"p": "\ud83d\ud83d\ude00"}') == f"{UNKNOWN}😀"
    assert read(r'{"p": "\q\uzzzz!"}') == f"{UNKNOWN}{UNKNOWN}!"


def test_only_the_first_field_is_prose() -> None:
    assert read('{"a": "one", "b": "two"}') == "one"
    assert read(' \n{ "a\\"b" : "x"}') == "x"
    assert read('{"a": 7, "b": "two"}') == ""
    assert read('{"a": ["x"]}') == ""
    assert read('["x"]') == ""
    assert read("Sure! Here is JSON") == ""
    assert read("{}") == ""
    assert read('{"a": "x"} {"a": "y"}') == "x"


def test_words_before_the_object_are_passed_over() -> None:
    assert read('```json\n{"a": "x"}') == "x"
    assert read('Here {it} is: { "a": "x"}') == "x"


def test_the_words_of_an_unfinished_text_are_known_already() -> None:
    assert read('{"prose": "so far, so') == "so far, so"
    assert read('{"prose": "half an escape \\u00') == "half an escape "


def test_endless_prose_ends() -> None:
    assert len(streamed(['{"prose": "', *["word " * 100] * 100])) == PROSE_LIMIT
