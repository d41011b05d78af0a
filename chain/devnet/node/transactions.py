"""Signed transactions: decoding what was sent, signing what the devnet's own accounts send."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth.constants import SECPK1_N
from eth.exceptions import UnrecognizedTransactionType
from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth.vm.forks.shanghai.constants import MAX_INITCODE_SIZE
from eth_keys.datatypes import PrivateKey
from eth_keys.exceptions import BadSignature
from eth_typing import Address as AccountBytes
from eth_utils.exceptions import ValidationError
from rlp.exceptions import RLPException

from chain.contracts.keccak import keccak
from chain.devnet.node.records import CHAIN_ID, from_hex, to_hex
from chain.devnet.node.recursion_limit import limit_recursion

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI

    from chain.contracts.networks import Address
    from chain.devnet.node.messages import Environment, Message

limit_recursion()

LEGACY, ACCESS_LIST, DYNAMIC_FEE, BLOB, SET_CODE = range(5)

BASE_GAS = 21_000
FLOOR_GAS_PER_TOKEN = 10
TOKENS_PER_NONZERO_BYTE = 4


class TransactionRefusedError(ValueError):
    """A transaction no block may hold, with the wording geth gives the same fault."""


@dataclass(frozen=True, slots=True)
class NodeTransaction:
    raw: bytes
    hash: str
    kind: int
    chain_id: int | None
    sender: Address
    nonce: int
    to: Address | None
    value: int
    gas: int
    max_fee_per_gas: int
    max_priority_fee_per_gas: int
    data: bytes
    signed: SignedTransactionAPI = field(repr=False, compare=False)

    @property
    def cost(self) -> int:
        """The most its sender can be asked to pay."""
        return self.gas * self.max_fee_per_gas + self.value

    @property
    def is_dynamic_fee(self) -> bool:
        return self.kind in (DYNAMIC_FEE, SET_CODE)

    def tip(self, base_fee: int) -> int:
        return min(self.max_priority_fee_per_gas, self.max_fee_per_gas - base_fee)

    def gas_price(self, base_fee: int) -> int:
        return base_fee + self.tip(base_fee)


def decode_transaction(raw: bytes) -> NodeTransaction:
    try:
        signed = PragueTransactionBuilder.decode(raw)
        sender = signed.sender
    except UnrecognizedTransactionType as error:
        raise TransactionRefusedError("transaction type not supported") from error
    except BadSignature as error:
        raise TransactionRefusedError("invalid transaction v, r, s values") from error
    except (RLPException, ValidationError, ValueError, TypeError, IndexError) as error:
        raise TransactionRefusedError("rlp: the bytes are not a signed transaction") from error
    return _transaction(signed, sender=to_hex(sender))


def _transaction(signed: SignedTransactionAPI, *, sender: Address) -> NodeTransaction:
    raw = signed.encode()
    return NodeTransaction(
        raw=raw,
        hash=to_hex(keccak(raw)),
        kind=signed.type_id or LEGACY,
        chain_id=signed.chain_id,
        sender=sender,
        nonce=signed.nonce,
        to=to_hex(signed.to) if signed.to else None,
        value=signed.value,
        gas=signed.gas,
        max_fee_per_gas=signed.max_fee_per_gas,
        max_priority_fee_per_gas=signed.max_priority_fee_per_gas,
        data=signed.data,
        signed=signed,
    )


def sign_transaction(
    private_key: bytes,
    *,
    nonce: int,
    to: Address | None,
    gas: int,
    max_fee_per_gas: int,
    max_priority_fee_per_gas: int,
    value: int = 0,
    data: bytes = b"",
    chain_id: int = CHAIN_ID,
) -> NodeTransaction:
    """An EIP-1559 transaction for this chain, signed deterministically (RFC 6979)."""
    key = PrivateKey(private_key)
    signed = PragueTransactionBuilder.new_unsigned_dynamic_fee_transaction(
        chain_id=chain_id,
        nonce=nonce,
        max_priority_fee_per_gas=max_priority_fee_per_gas,
        max_fee_per_gas=max_fee_per_gas,
        gas=gas,
        to=AccountBytes(from_hex(to) if to else b""),
        value=value,
        data=data,
        access_list=(),
    ).as_signed_transaction(key)
    return decode_transaction(signed.encode())


def unsigned_transaction(message: Message, *, nonce: int, chain_id: int) -> NodeTransaction:
    """A simulated message as the transaction it would be, under an empty signature."""
    signed = PragueTransactionBuilder.new_dynamic_fee_transaction(
        chain_id=chain_id,
        nonce=nonce,
        max_priority_fee_per_gas=message.max_priority_fee_per_gas,
        max_fee_per_gas=message.max_fee_per_gas,
        gas=message.gas or 0,
        to=AccountBytes(from_hex(message.to) if message.to else b""),
        value=message.value,
        data=message.data,
        access_list=[
            (AccountBytes(from_hex(account)), slots) for account, slots in message.access_list
        ],
        y_parity=0,
        r=0,
        s=0,
    )
    return _transaction(signed, sender=message.sender)


def floor_gas(data: bytes) -> int:
    """EIP-7623: calldata-heavy transactions pay at least this, whatever they execute."""
    zeros = data.count(0)
    tokens = zeros + TOKENS_PER_NONZERO_BYTE * (len(data) - zeros)
    return BASE_GAS + FLOOR_GAS_PER_TOKEN * tokens


def refuse_unminable(transaction: NodeTransaction, environment: Environment) -> None:
    """Refuse what can never enter a block; py-evm checks neither chain id nor these limits."""
    if transaction.kind == BLOB:
        raise TransactionRefusedError("transaction type not supported")
    chain_id, block_gas_limit = environment.chain_id, environment.gas_limit
    if transaction.chain_id not in (None, chain_id):
        raise TransactionRefusedError(
            f"invalid chain id for signer: have {transaction.chain_id} want {chain_id}"
        )
    if transaction.max_priority_fee_per_gas > transaction.max_fee_per_gas:
        raise TransactionRefusedError(
            "max priority fee per gas higher than max fee per gas: "
            f"maxPriorityFeePerGas: {transaction.max_priority_fee_per_gas}, "
            f"maxFeePerGas: {transaction.max_fee_per_gas}"
        )
    if transaction.signed.s > SECPK1_N // 2:
        raise TransactionRefusedError("invalid transaction v, r, s values")
    refuse_impossible_gas(
        gas=transaction.gas,
        intrinsic=transaction.signed.get_intrinsic_gas(),
        data=transaction.data,
        creates=transaction.to is None,
    )
    if transaction.gas > block_gas_limit:
        raise TransactionRefusedError(
            f"exceeds block gas limit: gas {transaction.gas}, limit {block_gas_limit}"
        )
    if transaction.kind == SET_CODE and not transaction.signed.authorization_list:
        raise TransactionRefusedError("EIP-7702 transaction with empty auth list")


def refuse_impossible_gas(*, gas: int, intrinsic: int, data: bytes, creates: bool) -> None:
    if creates and len(data) > MAX_INITCODE_SIZE:
        raise TransactionRefusedError(
            f"max initcode size exceeded: code size {len(data)}, limit {MAX_INITCODE_SIZE}"
        )
    if gas < intrinsic:
        raise TransactionRefusedError(
            f"intrinsic gas too low: gas {gas}, minimum needed {intrinsic}"
        )
    if gas < (floor := floor_gas(data)):
        raise TransactionRefusedError(
            f"insufficient gas for floor data gas cost: gas {gas}, minimum needed {floor}"
        )
