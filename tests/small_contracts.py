"""Contracts of a few bytes each and people with keys, for tests of how a node is spoken to."""

from contextlib import AbstractContextManager

from chain.base.units import GWEI
from chain.contracts.addresses import address_of
from chain.devnet.world.writing import SignedBytes, sign_transaction
from tests.chain_view import ChainView, bare_chain

ETHER = 10**18
ALICE_KEY = b"\xa1" * 32
BOB_KEY = b"\xb0" * 32
ALICE, BOB = (address_of(key) for key in (ALICE_KEY, BOB_KEY))
NOBODY = "0x" + "dead" * 10

COUNTER = "0x" + "c0" * 20
"""Adds one to slot 0, logs topic 7 with the new value, returns it."""
ECHO = "0x" + "c2" * 20
"""Returns its calldata."""
REVERT = "0x" + "c3" * 20
"""Reverts with its calldata."""

CODES = {
    COUNTER: "600054600101600055600054600052600760206000a160206000f3",
    ECHO: "365f5f37365ff3",
    REVERT: "365f5f37365ffd",
}


def chain_of_small_contracts() -> AbstractContextManager[ChainView]:
    accounts: dict[str, dict[str, object]] = {
        person: {"balance": hex(100 * ETHER)} for person in (ALICE, BOB)
    }
    accounts |= {
        address: {"balance": "0x0", "code": f"0x{code}"} for address, code in CODES.items()
    }
    accounts[COUNTER]["storage"] = {word(0): word(41)}
    return bare_chain(accounts)


def word(value: int) -> str:
    return f"0x{value:064x}"


def signed(
    key: bytes = ALICE_KEY,
    *,
    nonce: int,
    to: str | None = COUNTER,
    gas: int = 100_000,
    fee: int = 2 * GWEI,
    tip: int = GWEI // 10,
    value: int = 0,
    data: bytes = b"",
) -> SignedBytes:
    return sign_transaction(
        key,
        nonce=nonce,
        to=to,
        gas=gas,
        max_fee_per_gas=fee,
        max_priority_fee_per_gas=tip,
        value=value,
        data=data,
    )
