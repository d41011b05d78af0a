"""A transaction before and after it is signed: the same fields that are shown and simulated."""

import json
from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

from chain.base.units import Units
from chain.contracts.networks import Address
from chain.contracts.safe import EXECUTE_SELECTOR

_SCHEMA = "zuno/unsigned-transaction/1"


class Authorization(Struct, frozen=True):
    """Leave for a contract's code to run as an account, on one chain."""

    chain_id: int
    delegate: Address
    """The zero address takes an earlier leave back."""
    nonce: int
    lender: Address = ""
    """Whose account it is and whose key signs it; empty for the sender's own."""


class UnsignedTransaction(Struct, frozen=True):
    """An EIP-1559 transaction with nothing left open, or one of EIP-7702 with its authorization."""

    chain_id: int
    sender: Address
    to: Address
    value: Units
    data: bytes
    gas: int
    max_fee_per_gas: Units
    max_priority_fee_per_gas: Units
    nonce: int
    step: str
    """What this step is called in its plan, such as `exit`; it does not reach the chain."""
    authorization: Authorization | None = None

    @property
    def account(self) -> Address:
        """Whose tokens and positions it is about: the Safe's, of what somebody sends for one."""
        return self.to if self.data[:4] == EXECUTE_SELECTOR else self.sender

    @property
    def nonces(self) -> int:
        """How many it takes: an authorization of the sender's has one of its own."""
        return 1 if self.authorization is None or self.authorization.lender else 2

    @property
    def digest(self) -> str:
        """sha256 over every field in canonical JSON, integers as decimal strings."""
        fields = {
            "schema": _SCHEMA,
            "chainId": str(self.chain_id),
            "from": self.sender,
            "to": self.to,
            "value": str(self.value),
            "data": "0x" + self.data.hex(),
            "gas": str(self.gas),
            "maxFeePerGas": str(self.max_fee_per_gas),
            "maxPriorityFeePerGas": str(self.max_priority_fee_per_gas),
            "nonce": str(self.nonce),
            "step": self.step,
        }
        if self.authorization is not None:
            given = self.authorization
            words = (given.chain_id, given.delegate, given.nonce, given.lender)
            fields["authorization"] = " ".join(map(str, words)).rstrip()
        return sha256(
            json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
        ).hexdigest()


def lender_in(transactions: Iterable[UnsignedTransaction]) -> Address:
    """The account of another that one of them lends; empty where none does."""
    given = (each.authorization for each in transactions)
    return next((each.lender for each in given if each is not None), "")


class SignedTransaction(Struct, frozen=True):
    unsigned: UnsignedTransaction
    raw: bytes
    """What is sent, byte for byte."""
    hash: str
    """32 bytes as lower-case `0x` hex, known before anything is sent."""
