"""A key that is in this process for as long as it signs."""

from chain.base.other_curves import without_other_curves
from chain.contracts.networks import Address
from chain.execution.transaction import Authorization, UnsignedTransaction
from chain.wallet.errors import WalletError, discreetly
from chain.wallet.key_holder import (
    DYNAMIC_FEE,
    PARITY,
    SET_CODE,
    Point,
    TypedData,
    signed_bytes,
)
from chain.wallet.secrets import PrivateKey, guard_process


class LocalKey:
    __slots__ = ("_key", "address")

    def __init__(self, key: PrivateKey) -> None:
        guard_process()
        self.address: Address = key.address
        self._key = key

    def sign_transaction(
        self, transaction: UnsignedTransaction, _unsigned: bytes, lending: Point | None
    ) -> Point:
        raw, point = discreetly(lambda: self._signed(transaction, lending), _could_not)
        # The library built the bytes by itself: they must be those that are sent.
        if not discreetly(lambda: raw == signed_bytes(transaction, lending, point), _unreadable):
            raise WalletError(
                "The signed bytes are not the transaction that was to be signed. They were dropped."
            )
        return point

    def sign_typed_data(self, data: TypedData) -> Point:
        def sign() -> Point:
            with without_other_curves():
                from eth_account import Account

            made = Account.unsafe_sign_hash(data.digest, self._key.reveal())
            return Point(made.v - PARITY, made.r, made.s)

        return discreetly(
            sign, lambda kind: WalletError(f"The typed data could not be signed ({kind}).")
        )

    def sign_authorization(self, authorization: Authorization) -> Point:
        def sign() -> Point:
            with without_other_curves():
                from eth_account import Account

            made = Account.sign_authorization(
                {
                    "chainId": authorization.chain_id,
                    "address": bytes.fromhex(authorization.delegate.removeprefix("0x")),
                    "nonce": authorization.nonce,
                },
                self._key.reveal(),
            )
            return Point(made.y_parity, made.r, made.s)

        return discreetly(sign, _could_not)

    def close(self) -> None:
        self._key.wipe()

    def _signed(
        self, transaction: UnsignedTransaction, lending: Point | None
    ) -> tuple[bytes, Point]:
        with without_other_curves():
            from eth_account import Account

        given = transaction.authorization
        fields: dict[str, object] = {
            "type": DYNAMIC_FEE if given is None else SET_CODE,
            "chainId": transaction.chain_id,
            "nonce": transaction.nonce,
            "maxPriorityFeePerGas": transaction.max_priority_fee_per_gas,
            "maxFeePerGas": transaction.max_fee_per_gas,
            "gas": transaction.gas,
            "to": bytes.fromhex(transaction.to.removeprefix("0x")),
            "value": transaction.value,
            "data": transaction.data,
        }
        if given is not None and lending is not None:
            fields["authorizationList"] = [
                {
                    "chainId": given.chain_id,
                    "address": bytes.fromhex(given.delegate.removeprefix("0x")),
                    "nonce": given.nonce,
                    "yParity": lending.parity,
                    "r": lending.r,
                    "s": lending.s,
                }
            ]
        made = Account.sign_transaction(fields, self._key.reveal())
        return bytes(made.raw_transaction), Point(made.v, made.r, made.s)


def _could_not(kind: str) -> WalletError:
    return WalletError(f"The transaction could not be signed ({kind}).")


def _unreadable(kind: str) -> WalletError:
    return WalletError(f"The signed bytes could not be read back ({kind}). They were dropped.")
