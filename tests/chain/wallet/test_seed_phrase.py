"""Keys of a seed phrase, by the path that other wallets take."""

from __future__ import annotations

import pytest

from chain.wallet.errors import WalletError
from chain.wallet.secrets import MOST_ACCOUNTS, keys_of_phrase

PHRASE = b"test test test test test test test test test test test junk"
# The accounts that Hardhat and Anvil print for this phrase.
FIRST, THIRD = (
    "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc",
)


@pytest.mark.parametrize("typed", [PHRASE, b"  " + PHRASE.upper().replace(b" ", b"  ") + b"\n"])
def test_accounts_are_those_of_other_wallets(typed: bytes) -> None:
    first, third = keys_of_phrase(typed, (0, 2))
    assert (first.address, third.address) == (FIRST, THIRD)


@pytest.mark.parametrize(
    ("typed", "accounts"),
    [
        (PHRASE.replace(b"junk", b"test"), (0,)),
        (PHRASE.replace(b"junk", b"jnuk"), (0,)),
        (PHRASE.replace(b"junk", b""), (0,)),
        (b"\xff" * 12, (0,)),
        (b"\xff " * 12, (0,)),
        (PHRASE, (-1,)),
        (PHRASE, (100,)),
        (PHRASE, (0, 100)),
        (PHRASE, (-1, 0)),
    ],
)
def test_what_is_no_phrase_is_refused_and_not_repeated(
    typed: bytes, accounts: tuple[int, ...]
) -> None:
    with pytest.raises(WalletError) as refused:
        keys_of_phrase(typed, accounts)
    assert "test" not in str(refused.value)
    assert refused.value.__context__ is None


@pytest.mark.parametrize("count", range(30))
def test_a_phrase_of_another_length_is_told_its_length(count: int) -> None:
    """One of a length that there is, with words in no order that there is, is no phrase either."""
    is_one = count in (12, 15, 18, 21, 24)
    said = "two are in the wrong order" if is_one else f"and that has {count}"
    with pytest.raises(WalletError, match=said):
        keys_of_phrase(b"test " * count, (0,))


def test_a_hundred_accounts_can_be_asked_for() -> None:
    assert MOST_ACCOUNTS == 100
    assert len({key.address for key in keys_of_phrase(PHRASE, (0, 1, 99))}) == 3
    assert keys_of_phrase(PHRASE, ()) == ()


@pytest.mark.parametrize("accounts", [(-1,), (100,), (0, -1)])
def test_an_account_out_of_bounds_is_said_to_be_so(accounts: tuple[int, ...]) -> None:
    with pytest.raises(WalletError, match="counted from 0 to 99"):
        keys_of_phrase(PHRASE, accounts)
