"""Thinking is kept apart from the answer, wherever the text is cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.model.incoming_reply import ThinkingFilter, after_thinking

ANSWER = '{"words": "a < b"}'


def filtered(pieces: list[str]) -> str:
    thinking = ThinkingFilter()
    said = "".join(thinking.feed(piece) for piece in pieces)
    return after_thinking(said + thinking.close())


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (ANSWER, ANSWER),
        (f"<think>first {{this}}</think>{ANSWER}", ANSWER),
        (f"<THINKING>a</THINKING>{ANSWER}", ANSWER),
        (f"<think>a</think>{ANSWER}<think>b</think>", ANSWER),
        (f"so, {{this}} it is</think>{ANSWER}", ANSWER),
        (f"<think>never closed {ANSWER}", f"never closed {ANSWER}"),
        ("a <thing> and <thi", "a <thing> and <thi"),
    ],
)
@given(places=st.lists(st.integers(0, 200), max_size=8))
def test_however_it_is_cut(text: str, answer: str, places: list[int]) -> None:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    assert filtered([text[start:end] for start, end in pairwise(edges)]) == answer
