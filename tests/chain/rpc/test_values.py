"""Values of answers: what is right comes through unchanged, everything else is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.rpc import records
from chain.rpc.records import InvalidValueError

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=70),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
HEX_LIKE = st.from_regex(re.compile(r"-?0[xX]?[0-9a-fA-F_ \n]{0,70}"), fullmatch=True)
HEX = "0123456789abcdefABCDEF"


@given(st.integers(0, 2**256 - 1))
def test_every_quantity_comes_through(number: int) -> None:
    assert records.quantity(hex(number)) == number
    assert records.quantity("0x" + hex(number)[2:].upper()) == number


@given(st.integers(2**256))
def test_a_quantity_past_256_bits_is_refused(number: int) -> None:
    with pytest.raises(InvalidValueError):
        records.quantity(hex(number))


@given(st.integers(2**64, 2**256 - 1))
def test_a_block_number_past_64_bits_is_refused(number: int) -> None:
    with pytest.raises(InvalidValueError):
        records.small_quantity(hex(number))


@given(ANYTHING | HEX_LIKE)
def test_only_minimal_hex_is_a_quantity(value: object) -> None:
    try:
        number = records.quantity(value)
    except InvalidValueError:
        return
    assert isinstance(value, str)
    assert hex(number) == value.lower()
    assert value.startswith("0x")


@given(st.binary())
def test_bytes_come_through(content: bytes) -> None:
    assert records.data("0x" + content.hex()) == content
    assert records.data("0x" + content.hex().upper()) == content


@given(ANYTHING | HEX_LIKE)
def test_only_even_hex_is_bytes(value: object) -> None:
    try:
        content = records.data(value)
    except InvalidValueError:
        return
    assert isinstance(value, str)
    assert "0x" + content.hex() == value[:2] + value[2:].lower()


@given(st.text(HEX, min_size=30, max_size=70), st.sampled_from(["0x", "0X", ""]))
def test_hashes_and_addresses_have_their_length(digits: str, prefix: str) -> None:
    text = prefix + digits
    for check, length in ((records.hash32, 64), (records.address, 40)):
        if prefix == "0x" and len(digits) == length:
            assert check(text) == text.lower()
        else:
            with pytest.raises(InvalidValueError):
                check(text)


@given(ANYTHING)
def test_no_value_of_any_type_breaks_a_check(value: object) -> None:
    checks = (
        records.quantity,
        records.small_quantity,
        records.data,
        records.hash32,
        records.address,
        records.word,
        records.boolean,
        records.text,
        records.ratio,
        records.fields,
        records.items,
    )
    for check in checks:
        try:
            check(value)
        except InvalidValueError:
            continue


@pytest.mark.parametrize(
    ("given_word", "word"),
    [
        ("0x", "0x" + "0" * 64),
        ("0x05", "0x" + "0" * 63 + "5"),
        ("0x" + "Ab" * 32, "0x" + "ab" * 32),
    ],
)
def test_words_are_filled_up(given_word: str, word: str) -> None:
    assert records.word(given_word) == word


@pytest.mark.parametrize("wrong", [True, "0.5", None, -0.1, float("nan"), float("inf"), [0.5]])
def test_shares_are_finite_and_not_negative(wrong: object) -> None:
    with pytest.raises(InvalidValueError):
        records.ratio(wrong)
