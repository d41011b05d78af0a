"""Only the very transaction that the journal names, signed by its own wallet, is ever sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from chain.devnet.world.accounts import DEMO_WALLET, STRANGER
from chain.execution.outbox.delivery import ChangedBytesError, check_signed_bytes
from tests.chain.execution.outbox_kit import GWEI, RECIPIENT, signed_by, transfer

if TYPE_CHECKING:
    from chain.execution.transaction import SignedTransaction

SIGNED = signed_by(DEMO_WALLET, transfer(3))


def test_what_was_signed_passes() -> None:
    check_signed_bytes(SIGNED)
    check_signed_bytes(signed_by(DEMO_WALLET, transfer(0, value=0, data=b"\0\1" * 300)))


@pytest.mark.parametrize(
    "kept",
    [
        replace(SIGNED, raw=SIGNED.raw[:-1] + bytes([SIGNED.raw[-1] ^ 1])),
        replace(SIGNED, raw=b""),
        replace(SIGNED, raw=SIGNED.raw + b"\0"),
        replace(SIGNED, hash="0x" + "00" * 32),
        *(
            replace(SIGNED, unsigned=replace(SIGNED.unsigned, **other))
            for other in (
                {"nonce": 4},
                {"value": 2},
                {"to": "0x" + "11" * 20},
                {"data": b"\1"},
                {"gas": 60_001},
                {"max_fee_per_gas": 21 * GWEI},
                {"max_priority_fee_per_gas": 2 * GWEI},
                {"chain_id": 1},
                {"sender": RECIPIENT},
            )
        ),
        # Another's signature of the same transaction, in the name of this wallet.
        replace(signed_by(STRANGER, transfer(3)), unsigned=SIGNED.unsigned),
        # A true signature of this wallet's, of another transaction.
        replace(signed_by(DEMO_WALLET, transfer(3, value=9)), unsigned=SIGNED.unsigned),
    ],
)
def test_anything_else_does_not(kept: SignedTransaction) -> None:
    with pytest.raises(ChangedBytesError):
        check_signed_bytes(kept)
