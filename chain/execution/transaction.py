"""A transaction before and after it is signed: the same fields that are shown and simulated."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from chain.contracts.networks import Address

_SCHEMA = "zuno/unsigned-transaction/1"


class UnsignedTransaction(Struct, frozen=True):
    """An EIP-1559 transaction with nothing left open."""

    chain_id: int
    sender: Address
    to: Address
    value: int
    data: bytes
    gas: int
    max_fee_per_gas: int
    max_priority_fee_per_gas: int
    nonce: int
    step: str
    """What this step is called in its plan, such as `exit`; it does not reach the chain."""

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
        return sha256(
            json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
        ).hexdigest()


class SignedTransaction(Struct, frozen=True):
    unsigned: UnsignedTransaction
    raw: bytes
    """What is sent, byte for byte."""
    hash: str
    """32 bytes as lower-case `0x` hex, known before anything is sent."""
