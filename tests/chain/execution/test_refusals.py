"""What a contract's refusal is told as: by who refused, with what to do, never in raw bytes."""

from __future__ import annotations

import pytest

from chain.contracts.abi import encode, selector
from chain.execution.simulate import refusal_words

OTHER = "0x" + "ab" * 20


def _error(signature: str, *values: object) -> bytes:
    types = signature[signature.index("(") + 1 : -1]
    return selector(signature) + encode(tuple(types.split(",")) if types else (), values)


def _wrapped(details: str, reason: bytes = b"") -> bytes:
    signature = "WrappedError(address,bytes4,bytes,bytes)"
    return _error(signature, OTHER, bytes(4), reason, selector(details))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the contract refuses"),
        (bytes.fromhex("deadbeef"), "error 0xdeadbeef"),
        (_error("Error(string)", b"no \x1b[31mway"), "says: “no [31mway”"),
        (_error("MinimumAmountInsufficient(uint128,uint128)", 1000, 900), "10.00% less"),
        (_error("MinimumAmountInsufficient(uint128,uint128)", 1000, 900), "hook keeps a part"),
        (_error("MaximumAmountExceeded(uint128,uint128)", 5, 6), "6 units where at most 5"),
        (_error("V4TooLittleReceived(uint256,uint256)", 200, 199), "0.50% less"),
        (_error("CurrencyNotSettled()"), "keeps a part of every transfer"),
        (_error("SafeCastOverflow()"), "asks for more than the position pays out"),
        (_error("DeadlinePassed(uint256)", 7), "deadline has passed; approve it again"),
        (_wrapped("HookCallFailed()"), "the pool's hook 0xABaB…ABaB refuses it"),
        (_wrapped("HookCallFailed()", _error("Error(string)", b"\x1b]0;x")), "(it says: “]0;x”)"),
        (_wrapped("ERC20TransferFailed()"), "the token 0xABaB…ABaB cannot be moved"),
        (
            _wrapped("BurnNotificationReverted(address,bytes)"),
            "subscriber 0xABaB…ABaB refuses it; dismiss it first",
        ),
        (
            _error("ExecutionFailed(uint256,bytes)", 2, _error("CurrencyNotSettled()")),
            "keeps a part of every transfer",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refusal_is_told_in_words_that_cannot_steer_a_terminal(data: bytes, said: str) -> None:
    words = refusal_words(data)

    assert said in words
    assert words.isprintable()


@pytest.mark.parametrize("cut", [4, 5, 36, 100])
def test_an_error_cut_short_is_named_by_its_first_bytes(cut: int) -> None:
    assert refusal_words(_wrapped("HookCallFailed()")[:cut]).endswith("error 0x90bfb865")


def test_errors_wrapped_without_end_come_to_an_end() -> None:
    data = _error("CurrencyNotSettled()")
    for _ in range(50):
        data = _error("ExecutionFailed(uint256,bytes)", 0, data)

    assert refusal_words(data).endswith("error 0x2c4029e9")
