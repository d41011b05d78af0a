"""Only the very transaction that the journal names, signed by its own wallet, is ever sent."""

from typing import Any

import pytest
from coincurve import PrivateKey
from eth_account import Account
from eth_utils.address import to_checksum_address
from msgspec.structs import replace
from rlp import codec

from chain.contracts.addresses import keccak
from chain.contracts.networks import network_named
from chain.devnet.world.accounts import DEMO_WALLET, STRANGER
from chain.execution.outbox.delivery import ChangedBytesError, check_signed_bytes
from chain.execution.transaction import Authorization, SignedTransaction
from tests.chain.execution.outbox_kit import GWEI, RECIPIENT, signed_by, transfer

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


def lending(key: bytes, **others: object) -> SignedTransaction:
    """The wallet's transaction that lends its account, with leave that is signed by this key."""
    delegate = network_named("devnet").contracts.delegate
    assert delegate is not None
    given = Authorization(31_337, delegate, 4)
    unsigned = replace(transfer(3, to=DEMO_WALLET.address, value=0), authorization=given)
    leave = {"chainId": 31_337, "address": to_checksum_address(delegate), "nonce": 4, **others}
    made = Account.sign_transaction(
        {
            "type": 4,
            "chainId": 31_337,
            "nonce": 3,
            "to": to_checksum_address(unsigned.to),
            "value": 0,
            "data": b"",
            "gas": unsigned.gas,
            "maxFeePerGas": unsigned.max_fee_per_gas,
            "maxPriorityFeePerGas": unsigned.max_priority_fee_per_gas,
            "authorizationList": [Account.sign_authorization(leave, key)],
        },
        DEMO_WALLET.key,
    )
    raw = bytes(made.raw_transaction)
    return SignedTransaction(unsigned, raw, "0x" + bytes(made.hash).hex())


def test_an_account_is_lent_by_its_own_key_and_as_the_journal_says() -> None:
    check_signed_bytes(lending(DEMO_WALLET.key))
    changed = [
        lending(STRANGER.key),
        lending(DEMO_WALLET.key, nonce=5),
        lending(DEMO_WALLET.key, chainId=0),
        lending(DEMO_WALLET.key, address="0x" + "22" * 20),
    ]
    for kept in changed:
        with pytest.raises(ChangedBytesError):
            check_signed_bytes(kept)


def decode(raw: bytes) -> list[Any]:
    return list(codec.decode(raw))  # type: ignore[no-untyped-call]


def encode_raw(fields: list[Any]) -> bytes:
    return bytes(codec.encode_raw(fields))  # type: ignore[no-untyped-call]


def forged(signed: SignedTransaction, raw: bytes) -> SignedTransaction:
    """Under the hash of the other bytes, as somebody would write it who changes the journal."""
    return replace(signed, raw=raw, hash="0x" + keccak(raw).hex())


def test_other_bytes_with_the_very_signature_do_not_pass() -> None:
    """The signature is of the journal's transaction; what would be sent is another."""
    check_signed_bytes(forged(SIGNED, SIGNED.raw))
    fields = decode(SIGNED.raw[1:])
    for place in range(9):
        changed = [b"\7" if at == place else field for at, field in enumerate(fields)]
        raw = SIGNED.raw[:1] + encode_raw(changed)
        with pytest.raises(ChangedBytesError) as refused:
            check_signed_bytes(forged(SIGNED, raw))
        assert "signed bytes of transfer is not that transaction" in str(refused.value)
    with pytest.raises(ChangedBytesError):
        check_signed_bytes(forged(SIGNED, b"\3" + SIGNED.raw[1:]))


def test_leave_that_is_not_what_was_signed_for_does_not_pass() -> None:
    """The leave's signature is of the journal's; the leave that would be sent is another."""
    true = lending(DEMO_WALLET.key)
    fields = decode(true.raw[1:])
    (leave,) = fields[9]
    fields[9] = [[*leave[:2], b"\x05", *leave[3:]]]
    unsigned = b"\4" + encode_raw(fields[:10])
    signature = PrivateKey(DEMO_WALLET.key).sign_recoverable(keccak(unsigned), hasher=None)
    r, s, parity = signature[:32], signature[32:64], signature[64]
    point = [bytes([parity]).lstrip(b"\0"), r.lstrip(b"\0"), s.lstrip(b"\0")]
    raw = b"\4" + encode_raw([*fields[:10], *point])
    with pytest.raises(ChangedBytesError):
        check_signed_bytes(forged(true, raw))
    # So made, the true leave passes.
    again = b"\4" + encode_raw([*fields[:9], [leave], *decode(true.raw[1:])[10:]])
    check_signed_bytes(forged(true, again))


@pytest.mark.parametrize("value", [0, 1, 127, 128, 255, 256, 2**16 - 1, 2**64, 2**72 - 1])
def test_numbers_are_written_without_a_byte_too_many(value: int) -> None:
    check_signed_bytes(signed_by(DEMO_WALLET, transfer(3, value=value)))
