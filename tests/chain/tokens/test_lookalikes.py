"""Symbols made to pass for others: none is verified, all are marked."""

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.contracts.networks import network_named
from chain.tokens import Token, listed_token, listed_tokens, named_tokens, unlisted_token
from chain.tokens.reading import skeletons
from chain.tokens.token import listed_symbols

STRANGER = "0x" + "5a" * 20
ETHEREUM = network_named("ethereum")

# Written down apart from the table under test: letters as confusables.txt of UTS 39 pairs them.
CONFUSABLE = {
    "A": "АΑᎪꓮ𝐀Ａ",
    "B": "ВΒᏴꓐ𝐁Ｂ",
    "C": "СϹᏟꓚ𝐂Ｃ",
    "D": "Ꭰꓓ𝐃Ｄ",
    "E": "ЕΕᎬꓰ𝐄Ｅ",
    "G": "Ꮐꓖ𝐆Ｇ",
    "H": "НΗᎻꓧ𝐇Ｈ",
    "I": "ІΙӀꓲ𝐈Ｉ",
    "K": "КΚᏦꓗ𝐊Ｋ",
    "L": "Ꮮꓡ𝐋Ｌ",
    "M": "МΜᎷꓟ𝐌Ｍ",
    "N": "Νꓠ𝐍Ｎ",
    "O": "ОΟՕꓳ𝐎Ｏ0",
    "P": "РΡᏢꓑ𝐏Ｐ",
    "R": "Ꭱꓣ𝐑Ｒ",
    "S": "ЅՏᏚꓢ𝐒Ｓ",
    "T": "ТΤᎢꓔ𝐓Ｔ",
    "U": "Սꓴ𝐔Ｕ",
    "V": "ᏙꓦѴ𝐕Ｖ",
    "W": "ԜᎳꓪ𝐖Ｗ",
    "b": "Ь𝐛ｂ",
    "c": "сϲ𝐜ｃ",
    "e": "еҽ𝐞ｅ",
    "s": "ѕ𝐬ｓ",
    "t": "𝐭ｔ",
    "w": "ԝ𝐰ｗ",
}
INVISIBLE = ("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\u3164", "\ufe0f")


def majors() -> list[str]:
    symbols = {item.token.symbol for item in named_tokens(ETHEREUM)}
    return sorted(symbol for symbol in symbols if set(symbol) <= CONFUSABLE.keys())


def confusables(count: int) -> list[str]:
    """Majors with one to all letters replaced, or with something unseen put between them."""
    chance = random.Random(500)
    made: dict[str, None] = {}
    while len(made) < count:
        symbol = list(chance.choice(majors()))
        for place in chance.sample(range(len(symbol)), chance.randint(1, len(symbol))):
            symbol[place] = chance.choice(CONFUSABLE[symbol[place]])
        if chance.random() < 0.3:
            symbol.insert(chance.randint(0, len(symbol)), chance.choice(INVISIBLE))
        made["".join(symbol)] = None
    return list(made)


def test_five_hundred_confusables_of_majors_are_all_marked() -> None:
    fakes = confusables(500)
    assert len(majors()) >= 15
    tokens = [unlisted_token(ETHEREUM, STRANGER, fake.encode(), 18) for fake in fakes]
    unmarked = [fake for fake, token in zip(fakes, tokens, strict=True) if not token.suspicious]
    assert unmarked == []
    assert not any(token.verified for token in tokens)
    assert all(token.label.startswith("?") for token in tokens)
    assert all(token.label.endswith("0x5a5A…5A5A look-alike") for token in tokens)


@pytest.mark.parametrize(
    "fake",
    [
        "USDC",
        "usdc",
        "U5DC",
        "VVETH",
        "$USDC",
        "USDC.",
        "USDC ",
        "(USDC)",
        "ÚSDĆ",
        "🆄🆂🅳🅲",
        "wstΞTH",
    ],
)
def test_an_exact_or_dressed_copy_of_a_symbol_is_marked(fake: str) -> None:
    assert unlisted_token(ETHEREUM, STRANGER, fake.encode(), 6).suspicious


@pytest.mark.parametrize("symbol", ["QWOP", "币安人生", "sUSDx"])
def test_a_symbol_of_its_own_is_only_unknown(symbol: str) -> None:
    token = unlisted_token(ETHEREUM, STRANGER, symbol.encode(), 18)
    assert not token.suspicious
    assert token.label == f"?{symbol} 0x5a5A…5A5A"


def test_a_symbol_is_marked_only_where_it_is_listed() -> None:
    elsewhere = {item.token.symbol for item in listed_tokens(network_named("base")).tokens}
    only_there = sorted(elsewhere - listed_symbols(ETHEREUM))
    assert "AERO" in only_there
    for symbol in only_there:
        own, other = (
            unlisted_token(network, STRANGER, symbol.encode(), 18)
            for network in (network_named("base"), ETHEREUM)
        )
        assert own.suspicious
        assert not other.suspicious


def test_identity_is_the_address_and_the_network() -> None:
    usdc = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
    listed = listed_token(ETHEREUM, usdc)
    assert listed is not None
    assert listed.token == Token(usdc, "USDC", 6, verified=True, suspicious=False)
    assert listed.token.label == "USDC"
    assert listed_token(network_named("base"), usdc) is None
    assert listed_token(ETHEREUM, usdc[:-1] + "9") is None


@given(st.binary(max_size=400))
def test_no_bytes_get_a_control_character_into_a_label(raw: bytes) -> None:
    token = unlisted_token(ETHEREUM, STRANGER, raw, 18)
    assert not token.verified
    assert len(token.symbol) <= 24
    assert all(unicodedata.category(character)[0] != "C" for character in token.label)


@given(st.text(max_size=40))
def test_what_is_left_of_a_symbol_is_plain_letters(symbol: str) -> None:
    for left in skeletons(symbol):
        assert left.isascii()
        assert left.isalnum()


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [
        ("PT-sUSDe.e+1", "?PT-sUSDe.e+1 0x"),
        ("WETH to you.", "?“WETH to you.” 0x"),
        ("X” to 0xYOU (you)", "?“X to 0xYOU (you)” 0x"),
        ("5,000 USDC", "?“5,000 USDC” 0x"),
    ],
)
def test_a_symbol_that_reads_as_a_sentence_stands_between_quotes(symbol: str, shown: str) -> None:
    assert unlisted_token(ETHEREUM, STRANGER, symbol.encode(), 18).label.startswith(shown)
