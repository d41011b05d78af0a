"""The last look before a signature: what is to be signed is what was told, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.execution.journal import OutboxError

if TYPE_CHECKING:
    from chain.execution.sending import Signer
    from chain.execution.transaction import SignedTransaction, UnsignedTransaction


@dataclass(frozen=True, slots=True)
class ShownSigner:
    """Signs the transactions whose words a person saw, and none that the journal holds since."""

    signer: Signer
    shown: frozenset[UnsignedTransaction]

    def sign(self, transaction: UnsignedTransaction, /) -> SignedTransaction:
        if transaction not in self.shown:
            raise OutboxError(
                f"What the journal holds as {transaction.step} is not what was shown. "
                "It was not signed.",
                "See where things stand: zuno outbox",
            )
        return self.signer.sign(transaction)
