"""Plans of simple transfers, and a signer of the demo wallet's."""

from msgspec.structs import replace

from chain.devnet.world.accounts import DEMO_WALLET, Account
from chain.devnet.world.writing import sign_transaction
from chain.execution.outbox.records import Anchor, PlannedDispatch, PlannedStep
from chain.execution.transaction import SignedTransaction, UnsignedTransaction
from chain.wallet.local_key import LocalKey
from chain.wallet.secrets import PrivateKey
from chain.wallet.signer import Signer

GWEI = 10**9
RECIPIENT = "0x" + "b0b0" * 10
NOTHING_HAPPENED = "nothing happened"
HALF_WAY = "closed, both tokens in the wallet"
NOWHERE = Anchor(0, "0x" + "00" * 32)


class KeySigner:
    """Signs as the wallet does, and counts."""

    def __init__(self, account: Account = DEMO_WALLET) -> None:
        self.account = account
        self.signed: list[UnsignedTransaction] = []

    @property
    def address(self) -> str:
        return self.account.address

    def sign(self, transaction: UnsignedTransaction) -> SignedTransaction:
        self.signed.append(transaction)
        return signed_by(self.account, transaction)


def signed_by(account: Account, transaction: UnsignedTransaction) -> SignedTransaction:
    if transaction.authorization is not None:
        return Signer(LocalKey(PrivateKey(account.key)), transaction.chain_id).sign(transaction)
    signed = sign_transaction(
        account.key,
        nonce=transaction.nonce,
        to=transaction.to,
        gas=transaction.gas,
        max_fee_per_gas=transaction.max_fee_per_gas,
        max_priority_fee_per_gas=transaction.max_priority_fee_per_gas,
        value=transaction.value,
        data=transaction.data,
    )
    return SignedTransaction(transaction, signed.raw, signed.hash)


def transfer(
    nonce: int,
    *,
    step: str = "transfer",
    to: str = RECIPIENT,
    value: int = 1,
    data: bytes = b"",
    gas: int = 60_000,
    fee: int = 20 * GWEI,
    tip: int = GWEI,
) -> UnsignedTransaction:
    return UnsignedTransaction(
        chain_id=31337,
        sender=DEMO_WALLET.address,
        to=to,
        value=value,
        data=data,
        gas=gas,
        max_fee_per_gas=fee,
        max_priority_fee_per_gas=tip,
        nonce=nonce,
        step=step,
    )


def planned(
    *transactions: UnsignedTransaction,
    plan_id: str = "plan",
    hash: str = "hash",  # noqa: A002 - the field's own name
    anchor: Anchor = NOWHERE,
    deadline: int | None = None,
) -> PlannedDispatch:
    places = (NOTHING_HAPPENED, *(HALF_WAY for _ in transactions[1:]))
    steps = tuple(
        PlannedStep(transaction, place, deadline)
        for transaction, place in zip(transactions, places, strict=True)
    )
    return PlannedDispatch(hash, plan_id, anchor, steps)


def dearer(transaction: UnsignedTransaction) -> UnsignedTransaction:
    return replace(
        transaction,
        max_fee_per_gas=transaction.max_fee_per_gas * 9 // 8,
        max_priority_fee_per_gas=transaction.max_priority_fee_per_gas * 9 // 8,
    )
