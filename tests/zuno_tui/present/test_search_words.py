"""A search for positions in one line: how far, how long at most, and what would help."""

from msgspec.structs import replace

from chain.protocols.v4.memory import SearchProgress
from zuno_tui.present.search_words import search_words

SOON = SearchProgress(
    found=3,
    wanted=7,
    by="logs",
    done=250,
    total=1_000,
    seconds_left=None,
    blocks_at_once=10_000,
    limited=False,
)


def test_before_there_is_anything_to_go_by_no_time_is_told() -> None:
    told = search_words(SOON)
    assert "3 of 7" in told
    assert "███········· 25%" in told
    assert "left" not in told


def test_a_short_search_needs_no_advice_and_a_long_one_gets_what_helps() -> None:
    assert "faster" not in search_words(replace(SOON, seconds_left=20.0))
    long = replace(SOON, seconds_left=600.0)
    assert "at most 10 min left" in search_words(long)
    assert "--rpc URL,URL" in search_words(replace(long, limited=True))
    assert "10,000 blocks" in search_words(replace(long, blocks_at_once=10))
    assert "watch-ids" in search_words(long)
