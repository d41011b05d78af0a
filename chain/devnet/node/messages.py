"""What can be run on a block's state, and what comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.networks import NATIVE
from chain.devnet.node.records import CHAIN_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.contracts.networks import Address

REVERTED = "execution reverted"


class Environment(Struct, frozen=True):
    """What a block tells the code that runs in it."""

    number: int
    timestamp: int
    base_fee_per_gas: int
    gas_limit: int
    chain_id: int = CHAIN_ID


class Message(Struct, frozen=True):
    """A call nobody signed: what `eth_call`, `eth_estimateGas` and `eth_simulateV1` run."""

    to: Address | None
    data: bytes = b""
    sender: Address = NATIVE
    value: int = 0
    gas: int | None = None
    nonce: int | None = None
    max_fee_per_gas: int = 0
    max_priority_fee_per_gas: int = 0
    access_list: tuple[tuple[Address, tuple[int, ...]], ...] = ()
    chain_id: int | None = None
    """The chain it is meant for, where it says so."""


class Override(Struct, frozen=True):
    """What `eth_call` may pretend about one account."""

    balance: int | None = None
    nonce: int | None = None
    code: bytes | None = None
    storage: Mapping[int, int] | None = None
    """Replaces all of the account's storage."""
    changed_slots: Mapping[int, int] | None = None


class EmittedLog(Struct, frozen=True):
    address: Address
    topics: tuple[str, ...]
    data: bytes


class Outcome(Struct, frozen=True):
    success: bool
    output: bytes
    """What was returned; the revert data when `failure` is a revert."""
    gas_used: int
    gas_refunded: int
    logs: tuple[EmittedLog, ...]
    failure: str | None
    created: Address | None

    @property
    def reverted(self) -> bool:
        return self.failure == REVERTED
