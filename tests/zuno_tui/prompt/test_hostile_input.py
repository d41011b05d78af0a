"""Text nobody would type in good faith: control bytes, secrets, look-alikes, noise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.base.clean_text import DROP
from chain.protocols.reference import v4_position
from zuno_tui.catalog.completion import completions
from zuno_tui.catalog.interpret import FilledLine, understand
from zuno_tui.catalog.registry import registry
from zuno_tui.commands.position_actions import (
    ClosePosition,
    CollectFees,
    CompoundFees,
    DecreasePosition,
    IncreasePosition,
)
from zuno_tui.commands.revoke import Revoke
from zuno_tui.commands.wallet_actions import UnwrapEth, WrapEth
from zuno_tui.intents.context import PhraseContext
from zuno_tui.intents.intents import Apply, Approve, OpenOutbox
from zuno_tui.intents.phrase_error import Misunderstood

DESK = PhraseContext(
    positions=(v4_position(7),), selected=v4_position(7), candidates=("1", "close"), alerts=("3",)
)
MONEY = (
    Apply,
    Approve,
    OpenOutbox,
    CollectFees,
    CompoundFees,
    ClosePosition,
    DecreasePosition,
    IncreasePosition,
    WrapEth,
    UnwrapEth,
    Revoke,
)
HOSTILE = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(
    ["\x1b[2J", "[red]x[/]", "\x1b]52;c;YQ==\x07", "a\u202epply", "[@click=app.quit]x[/]", "\u0000"]
)


@given(HOSTILE)
def test_whatever_is_typed_is_answered_in_clean_words(text: str) -> None:
    meant = understand(text, DESK, registry())

    if isinstance(meant, Misunderstood):
        shown = meant.words
    elif isinstance(meant, FilledLine):
        shown = f"{meant.line} {meant.note}"
    else:
        shown = meant.twin
    assert shown == shown.translate(DROP)


@given(HOSTILE)
def test_completion_never_fails_and_only_goes_on(text: str) -> None:
    for offered in completions(text, DESK, registry()):
        assert offered.phrase.lower().startswith(text.lstrip().rstrip().lower()[:1])


@given(st.text("abcdefghijklmnopqrstuvwxyz 0123456789#%", max_size=40))
def test_noise_moves_no_money(text: str) -> None:
    meant = understand(text, DESK, registry())

    # A list of what is allowed moves nothing.
    if isinstance(meant, MONEY) and meant != Revoke():
        exact = [
            phrase
            for verb in registry().verbs
            if verb.money
            for phrase in (verb.name, *verb.spoken)
        ]
        assert any(f"{phrase} " in f"{' '.join(text.split())} " for phrase in exact)


@pytest.mark.parametrize(
    "text",
    [
        "аpply",  # the first letter is Cyrillic
        "ａｐｐｌｙ",
        "a pply",
        "app ly",
        "a\u00adpp1y",
        "--apply",
        "apply\u3164",
    ],
)
def test_what_only_looks_like_the_word_is_not_the_word(text: str) -> None:
    meant = understand(text, DESK, registry())

    # An invisible character leaves the very word, which the person sees and meant.
    assert isinstance(meant, Misunderstood) or text.startswith("apply")


@pytest.mark.parametrize(
    "text",
    [
        "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318",
        "import 0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318",
        "passphrase correct-horse-battery",
        "my private key is here:abcdef",
        "sk-proj-abcdefghijklmnopqrstuvwxyz",
        "switch to https://base.example/v2/AbCdEfGhIjKlMnOpQrStUvWx",
        "legal winner thank year wave sausage worth useful legal winner thank yellow",
    ],
)
def test_a_secret_is_refused_without_being_repeated(text: str) -> None:
    meant = understand(text, DESK, registry())

    assert isinstance(meant, Misunderstood)
    assert "looks like a key" in meant.words
    assert not any(word in meant.words for word in text.split() if len(word) > 12)


def test_a_huge_input_is_refused() -> None:
    for text in ("close 7 " * 12_500, "a" * 100_000, "9" * 100_000, "$" * 100_000, "(" * 100_000):
        meant = understand(text, DESK, registry())
        assert isinstance(meant, Misunderstood)


@pytest.mark.parametrize(
    "text", ["close " * 66, "9 " * 200, "- " * 200, "7/7 " * 99, "and 7 " * 66]
)
def test_the_longest_phrase_is_answered(text: str) -> None:
    assert understand(text[:400], DESK, registry()) is not None


def test_help_about_a_passphrase_is_no_passphrase() -> None:
    assert not isinstance(understand("help passphrase", DESK, registry()), Misunderstood)
