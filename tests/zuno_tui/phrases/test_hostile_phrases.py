"""Text nobody would type in good faith: control bytes, secrets, look-alikes, noise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.base.clean_text import DROP
from zuno_tui.commands.apply import Apply
from zuno_tui.commands.approve import Approve
from zuno_tui.commands.close import ClosePosition
from zuno_tui.commands.collect import CollectFees
from zuno_tui.commands.compound import CompoundFees
from zuno_tui.commands.decrease import DecreasePosition
from zuno_tui.commands.increase import IncreasePosition
from zuno_tui.commands.outbox import OpenOutbox
from zuno_tui.commands.prompt.completion import completions
from zuno_tui.commands.prompt.several import SeveralIntents
from zuno_tui.commands.prompt.understanding import understand
from zuno_tui.commands.registry import registry
from zuno_tui.commands.revoke import Revoke
from zuno_tui.commands.unwrap import UnwrapEth
from zuno_tui.commands.wrap import WrapEth
from zuno_tui.phrases.context import PhraseContext
from zuno_tui.phrases.phrase_error import Misunderstood

DESK = PhraseContext(positions=(7,), selected=7, candidates=("1", "exit"), alerts=("3",))
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
    said = understand(text, DESK)

    if isinstance(said, Misunderstood):
        assert said.words == said.words.translate(DROP)
    else:
        intents = said.intents if isinstance(said, SeveralIntents) else (said,)
        assert all(one.twin == one.twin.translate(DROP) for one in intents)


@given(HOSTILE)
def test_completion_never_fails_and_only_goes_on(text: str) -> None:
    for offered in completions(text, DESK):
        assert offered.phrase.lower().startswith(text.lstrip().rstrip().lower()[:1])


@given(st.text("abcdefghijklmnopqrstuvwxyz 0123456789#%", max_size=40))
def test_noise_moves_no_money(text: str) -> None:
    said = understand(text, DESK)

    # A list of what is allowed moves nothing.
    if isinstance(said, MONEY) and said != Revoke():
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
    said = understand(text, DESK)

    # An invisible character leaves the very word, which the person sees and meant.
    assert isinstance(said, Misunderstood) or text.startswith("apply")


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
    said = understand(text, DESK)

    assert isinstance(said, Misunderstood)
    assert "looks like a key" in said.words
    assert not any(word in said.words for word in text.split() if len(word) > 12)


def test_help_about_a_passphrase_is_no_passphrase() -> None:
    assert not isinstance(understand("help passphrase", DESK), Misunderstood)
