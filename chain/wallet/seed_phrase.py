"""Keys from a seed phrase (BIP-39), by the path that wallets use for Ethereum."""

from __future__ import annotations

from collections.abc import Sequence

from chain.base.recursion_limit import kept_recursion_limit
from chain.wallet.errors import WalletError, discreetly
from chain.wallet.secrets import PrivateKey

_PATH = "m/44'/60'/0'/0/{}"
_COUNTS = (12, 15, 18, 21, 24)
MOST_ACCOUNTS = 100


def keys_of_phrase(phrase: bytes, accounts: Sequence[int]) -> tuple[PrivateKey, ...]:
    """The keys of these accounts, the first being 0; no message repeats a word of the phrase."""
    if not all(0 <= account < MOST_ACCOUNTS for account in accounts):
        raise WalletError(f"Accounts are counted from 0 to {MOST_ACCOUNTS - 1}.")
    count = len(phrase.split())
    if count not in _COUNTS:
        raise WalletError(
            f"A seed phrase has 12, 15, 18, 21 or 24 words, and that has {count}. Nothing was kept."
        )
    return discreetly(
        lambda: _derived(phrase, accounts),
        lambda _: WalletError(
            "That is not a seed phrase: a word is misspelt, or two are in the wrong order. "
            "Nothing was kept."
        ),
    )


def _derived(phrase: bytes, accounts: Sequence[int]) -> tuple[PrivateKey, ...]:
    with kept_recursion_limit():
        from eth_account.hdaccount import key_from_seed, seed_from_mnemonic

    seed = seed_from_mnemonic(" ".join(phrase.decode("utf-8").lower().split()), "")
    return tuple(PrivateKey(key_from_seed(seed, _PATH.format(one))) for one in accounts)
