"""Writing blocks with transactions of the embedded chain's own accounts."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.devnet.node.fees import SUGGESTED_TIP
from chain.devnet.node.transactions import sign_transaction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chain.contracts.networks import Address
    from chain.devnet.node.block import OpenBlock
    from chain.devnet.node.execution import BlockState
    from chain.devnet.node.ledger import ChainLedger
    from chain.devnet.node.messages import Environment, Outcome
    from chain.devnet.node.transactions import NodeTransaction
    from chain.devnet.world.accounts import Account

GAS = 1_000_000
"""Enough for anything but a deployment; what is left comes back."""


class WorldError(Exception):
    """A step of the world's making that the contracts refused."""


class Intent(Struct, frozen=True):
    """What an account wants to send, before it has a nonce and a signature."""

    account: Account
    to: Address | None
    data: bytes
    value: int = 0
    gas: int = GAS

    def signed(self, nonce: int, environment: Environment) -> NodeTransaction:
        return sign_transaction(
            self.account.key,
            nonce=nonce,
            to=self.to,
            gas=self.gas,
            max_fee_per_gas=2 * environment.base_fee_per_gas + SUGGESTED_TIP,
            max_priority_fee_per_gas=SUGGESTED_TIP,
            value=self.value,
            data=self.data,
            chain_id=environment.chain_id,
        )


class BlockDraft(Struct, frozen=True):
    """A block being written; what was sent before is already visible in its state."""

    opened: OpenBlock

    @property
    def state(self) -> BlockState:
        return self.opened.state

    @property
    def timestamp(self) -> int:
        return self.opened.state.environment.timestamp

    def send(self, intent: Intent) -> Outcome:
        nonce = self.state.nonce(intent.account.address)
        outcome = self.opened.add(intent.signed(nonce, self.state.environment))
        if not outcome.success:
            raise WorldError(
                f"{intent.account.name} could not call {intent.to} with 0x{intent.data[:4].hex()}: "
                f"{outcome.failure}, 0x{outcome.output.hex()}"
            )
        return outcome


@contextmanager
def block_at(ledger: ChainLedger, timestamp: int) -> Iterator[BlockDraft]:
    """One more block, at this time or as soon after its parent as time allows."""
    opened = ledger.open_block(timestamp=max(timestamp, ledger.head.timestamp + 1))
    yield BlockDraft(opened)
    ledger.commit(opened)
