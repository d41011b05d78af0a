"""What contracts answer when asked for symbol and decimals, however odd the answer is."""

from __future__ import annotations

import pytest

from chain.base.store import Store
from chain.contracts.abi import encode
from chain.contracts.networks import network_named
from chain.rpc.requests import CallOutcome
from chain.tokens import Token, amount_text, ask_tokens

ETHEREUM = network_named("ethereum")
USDC = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
STRANGER = "0x" + "5a" * 20
OTHER = "0x" + "77" * 20
FAILED = CallOutcome(success=False, data=b"")


def returned(types: str, value: object) -> CallOutcome:
    return CallOutcome(success=True, data=encode([types], [value]))


def read(symbol: CallOutcome, decimals: CallOutcome) -> Token:
    question = ask_tokens(ETHEREUM, [STRANGER])
    return question.answered([symbol, decimals], None, now=0)[STRANGER]


def test_an_ordinary_token_is_read_and_not_believed() -> None:
    token = read(returned("string", "GMX"), returned("uint8", 18))
    assert token == Token(STRANGER, "GMX", 18, verified=False, suspicious=False)


@pytest.mark.parametrize(
    ("symbol", "shown", "suspicious"),
    [
        (returned("bytes32", b"QWOP".ljust(32, b"\0")), "QWOP", False),
        (returned("bytes32", bytes(32)), "", False),
        (returned("string", ""), "", False),
        (returned("string", b"\xff\xfe\x80"), "���", False),
        (returned("string", b"X" * 1_000_000), "X" * 23 + "…", True),
        (returned("string", "\x1b]52;c;AAAA\x07OK"), "]52;c;AAAAOK", True),
        (CallOutcome(success=True, data=b""), "", False),
        (CallOutcome(success=True, data=b"\x01" * 31), "", False),
        (CallOutcome(success=True, data=b"\xff" * 96), "", False),
        (FAILED, "", False),
    ],
)
def test_odd_symbols_survive(symbol: CallOutcome, shown: str, suspicious: bool) -> None:
    token = read(symbol, returned("uint8", 6))
    assert (token.symbol, token.suspicious, token.decimals) == (shown, suspicious, 6)
    assert token.label.startswith("?")


@pytest.mark.parametrize(
    ("decimals", "expected"),
    [
        (returned("uint8", 0), 0),
        (returned("uint256", 77), 77),
        (returned("uint256", 78), None),
        (returned("uint256", 2**256 - 1), None),
        (CallOutcome(success=True, data=b""), None),
        (CallOutcome(success=True, data=b"\x12"), None),
        (FAILED, None),
    ],
)
def test_decimals_that_cannot_be_used_are_unknown(
    decimals: CallOutcome, expected: int | None
) -> None:
    assert read(returned("string", "GMX"), decimals).decimals == expected


def test_amounts_are_told_to_the_unit_or_raw() -> None:
    known = read(returned("string", "GMX"), returned("uint8", 6))
    assert amount_text(1_500_000, known) == "1.5 ?GMX 0x5a5A…5A5A"
    assert amount_text(1, known) == "0.000001 ?GMX 0x5a5A…5A5A"
    assert amount_text(-2_000_000, known) == "-2 ?GMX 0x5a5A…5A5A"
    whole = read(returned("string", "GMX"), returned("uint8", 0))
    assert amount_text(42, whole) == "42 ?GMX 0x5a5A…5A5A"
    unknown = read(returned("string", "GMX"), FAILED)
    assert amount_text(42, unknown) == "42 raw units of ?GMX 0x5a5A…5A5A (decimals unknown)"


def test_listed_tokens_are_never_asked() -> None:
    question = ask_tokens(ETHEREUM, [USDC, STRANGER, USDC])
    assert question.asked == (STRANGER,)
    assert [call.target for call in question.calls] == [STRANGER, STRANGER]
    assert question.known[USDC].label == "USDC"


def test_what_was_read_is_remembered_and_judged_anew() -> None:
    store = Store.in_memory()
    question = ask_tokens(ETHEREUM, [STRANGER, OTHER], store)
    outcomes = [returned("string", "ＵＳＤＣ"), returned("uint8", 6), FAILED, FAILED]
    first = question.answered(outcomes, store, now=1)
    again = ask_tokens(ETHEREUM, [STRANGER, OTHER], store)
    assert again.known == {STRANGER: first[STRANGER]}
    assert again.known[STRANGER].suspicious
    assert again.asked == (OTHER,), "a failure may have been the node's"
    assert ask_tokens(network_named("base"), [STRANGER], store).asked == (STRANGER,)


def test_a_damaged_memory_is_asked_again() -> None:
    store = Store.in_memory()
    key = f"1:{STRANGER}"
    for broken in ("text", {"symbol": 5, "decimals": 6}, {"symbol": "zz", "decimals": 6}, None):
        store.put("tokens", key, broken, now=0)
        assert ask_tokens(ETHEREUM, [STRANGER], store).asked == (STRANGER,)


def test_outcomes_must_answer_what_was_asked() -> None:
    with pytest.raises(ValueError, match="do not answer"):
        ask_tokens(ETHEREUM, [STRANGER]).answered([FAILED], None, now=0)
