"""What an endpoint answers, read strictly."""

import contextlib
import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chain.base import strict_json
from chain.base.strict_json import MOST_NESTING, InvalidJsonError
from chain.rpc import records, wire
from chain.rpc.records import InvalidValueError
from chain.rpc.requests import Request, chain_id, gas_price

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


HONEST = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**255), 2**255)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(HONEST)
def test_honest_json_is_read_as_always(value: object) -> None:
    written = json.dumps(value)
    assert strict_json.loads(written.encode()) == json.loads(written)
    assert strict_json.loads(json.dumps(value, ensure_ascii=False).encode()) == json.loads(written)


@given(st.binary() | HONEST.map(lambda value: json.dumps(value).encode()[:-1]))
def test_whatever_the_bytes_it_is_a_value_or_one_kind_of_error(body: bytes) -> None:
    with contextlib.suppress(InvalidJsonError):
        strict_json.loads(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n",
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b"1e999",
        b"1" * 79,
        b'{"a":1,"a":2}',
        b'{"a":{"b":1,"b":1}}',
        b"\xef\xbb\xbf{}",
        b"{}{}",
        b"\xff",
        b"[1,]",
        b"{'a':1}",
        b"[" * (MOST_NESTING + 1) + b"]" * (MOST_NESTING + 1),
        b"[" + b"[]," * 20_000 + b"[]]",
    ],
)
def test_what_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidJsonError):
        strict_json.loads(body)


def test_nesting_is_counted_outside_of_strings() -> None:
    deep = b"[" * MOST_NESTING + b"]" * MOST_NESTING
    assert strict_json.loads(deep) is not None
    brackets = "[[{" * 1_000
    assert strict_json.loads(json.dumps([brackets, '\\"]']).encode()) == [brackets, '\\"]']


@pytest.mark.parametrize(
    "body",
    [
        b'["' + b'\\"' * 500_000,
        b'["[' + b'a\\"' * 500_000 + b"\\",
        b"[" * 40_000 + b" " * 1_000_000,
        b'["[' + b'" "' * 300_000,
        b"[" + b'"[",' * 100_000,
    ],
)
def test_no_body_makes_it_slow(body: bytes) -> None:
    started = time.process_time()
    with pytest.raises(InvalidJsonError):
        strict_json.loads(body)
    assert time.process_time() - started < 1.0


QUESTIONS: list[Request[object]] = [chain_id(), gas_price()]


def test_questions_are_written_as_json_rpc() -> None:
    assert json.loads(wire.encode_requests(QUESTIONS[:1], 7)) == {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "eth_chainId",
        "params": [],
    }
    assert [call["id"] for call in json.loads(wire.encode_requests(QUESTIONS, 7))] == [7, 8]


@given(st.permutations(range(5)), st.lists(st.text() | st.integers(), min_size=5, max_size=5))
def test_answers_find_their_questions(order: list[int], results: list[object]) -> None:
    replies = [{"jsonrpc": "2.0", "id": 10 + n, "result": results[n]} for n in order]
    read = wire.read(json.dumps(replies).encode(), 10, 5)
    assert [reply.value for reply in read if isinstance(reply, wire.RpcResult)] == results


@given(st.lists(st.integers(8, 14), max_size=6))
def test_any_other_set_of_ids_is_refused(ids: list[int]) -> None:
    body = json.dumps([{"jsonrpc": "2.0", "id": n, "result": n} for n in ids]).encode()
    if sorted(ids) == [10, 11, 12]:
        assert len(wire.read(body, 10, 3)) == 3
        return
    dropped = len(set(ids)) == len(ids) and set(ids) < {10, 11, 12}
    # What is asked again in smaller batches.
    with pytest.raises(wire.BatchRefusedError if dropped else wire.InvalidRpcReplyError):
        wire.read(body, 10, 3)


@pytest.mark.parametrize("number", ["true", '"one"', '"1.0"', '""', "1.0", "null", "2", "[1]"])
def test_only_the_very_id_will_do(number: str) -> None:
    body = f'{{"jsonrpc":"2.0","id":{number},"result":"0x1"}}'.encode()
    with pytest.raises(wire.InvalidRpcReplyError):
        wire.read(body, 1, 1)


def test_nodes_that_send_both_keys_are_understood() -> None:
    both = b'{"jsonrpc":"2.0","id":1,"error":null,"result":"0x1"}'
    assert wire.read(both, 1, 1) == [wire.RpcResult("0x1")]
    nulled = b'{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"no"}}'
    assert wire.read(nulled, 1, 1) == [wire.ServerError(1, "no")]
