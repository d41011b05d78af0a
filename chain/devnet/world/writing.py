"""Writing blocks with transactions of the embedded chain's own accounts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec
from msgspec import Struct, field

from chain.base.errors import ZunoError
from chain.base.units import GWEI
from chain.contracts.addresses import keccak
from chain.contracts.networks import Address
from chain.devnet.defaults import CHAIN_ID
from chain.devnet.json_rpc import NodeClient, NodeRefusedError
from chain.devnet.world.accounts import Account

GAS = 1_000_000
"""Enough for anything but a deployment; what is left comes back."""

GAS_LIMIT = 60_000_000

BASE_FEE_FLOOR = GWEI
"""See `fee_floor`; a full block still makes the fee rise."""
SUGGESTED_TIP = GWEI // 10
_GAS_TARGET = 15_000_000
_MAX_CHANGE_DENOMINATOR = 8
_DYNAMIC_FEE = 2


class WorldError(ZunoError):
    """A step of the world's making that the contracts refused."""


def next_base_fee(fee: int, gas_used: int) -> int:
    """What a unit of gas costs after a block: EIP-1559, held up by a floor."""
    change = fee * abs(gas_used - _GAS_TARGET) // _GAS_TARGET // _MAX_CHANGE_DENOMINATOR
    if gas_used > _GAS_TARGET:
        return fee + max(change, 1)
    return max(fee - change, BASE_FEE_FLOOR)


class SignedBytes(NamedTuple):
    raw: bytes
    hash: str


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
) -> SignedBytes:
    """An EIP-1559 transaction, signed deterministically (RFC 6979)."""
    from eth_keys.datatypes import PrivateKey

    numbers = (chain_id, nonce, max_priority_fee_per_gas, max_fee_per_gas, gas)
    target = bytes.fromhex(to[2:]) if to else b""
    fields = [*map(_minimal, numbers), target, _minimal(value), data, []]
    signature = PrivateKey(private_key).sign_msg_hash(keccak(_encoded(fields)))
    parts = (signature.v, signature.r, signature.s)
    raw = _encoded([*fields, *map(_minimal, parts)])
    return SignedBytes(raw, "0x" + keccak(raw).hex())


def _minimal(number: int) -> bytes:
    """As RLP writes numbers: without leading zeros, and nothing for zero."""
    return number.to_bytes((number.bit_length() + 7) // 8)


def _encoded(fields: Sequence[object]) -> bytes:
    from rlp.codec import encode_raw

    return bytes([_DYNAMIC_FEE]) + bytes(encode_raw(fields))  # type: ignore[no-untyped-call]


class UnsignedCall(Struct, frozen=True):
    """What an account wants to send, before it has a nonce and a signature."""

    account: Account
    to: Address | None
    data: bytes
    value: int = 0
    gas: int = GAS

    def sign(self, nonce: int, *, base_fee: int, chain_id: int) -> SignedBytes:
        return sign_transaction(
            self.account.key,
            nonce=nonce,
            to=self.to,
            gas=self.gas,
            max_fee_per_gas=2 * base_fee + SUGGESTED_TIP,
            max_priority_fee_per_gas=SUGGESTED_TIP,
            value=self.value,
            data=self.data,
            chain_id=chain_id,
        )


class NodeState(Struct, frozen=True):
    """What a block left, as the node tells it: storage, nonces and the results of calls."""

    node: NodeClient
    at: str = "latest"

    def storage(self, address: Address, slot: int) -> int:
        return self.node.ask_number("eth_getStorageAt", address, f"0x{slot:064x}", self.at)

    def nonce(self, address: Address) -> int:
        return self.node.ask_number("eth_getTransactionCount", address, self.at)

    def call(self, to: Address, data: bytes) -> bytes:
        call = {"to": to, "data": "0x" + data.hex()}
        return bytes.fromhex(self.node.ask_text("eth_call", call, self.at)[2:])


class MinedReceipt(Struct, frozen=True, rename="camel"):
    """Of what a node says about a transaction that it mined, the two parts that matter here."""

    status: str
    cumulative_gas_used: str


class WrittenBlock(Struct, frozen=True, array_like=True):
    """All that is needed to write a block again."""

    timestamp: int
    base_fee: int
    transactions: tuple[bytes, ...]


class BlockDraft(Struct):
    """A block being written; what was sent before is already visible in its state."""

    node: NodeClient
    chain_id: int
    timestamp: int
    base_fee: int
    intents: list[UnsignedCall] = field(default_factory=list)
    transactions: list[bytes] = field(default_factory=list)
    _nonces: dict[Address, int] = field(default_factory=dict)

    @property
    def state(self) -> NodeState:
        return NodeState(self.node, "pending" if self.transactions else "latest")

    def send(self, intent: UnsignedCall) -> None:
        sender = intent.account.address
        if sender not in self._nonces:
            self._nonces[sender] = NodeState(self.node).nonce(sender)
        signed = intent.sign(self._nonces[sender], base_fee=self.base_fee, chain_id=self.chain_id)
        self._nonces[sender] += 1
        self.intents.append(intent)
        self.transactions.append(signed.raw)
        self.node.ask("eth_sendRawTransaction", "0x" + signed.raw.hex())


class ChainWriter(Struct):
    """Writes one block after the other on a node that mines only when it is told to."""

    node: NodeClient
    chain_id: int
    head_time: int
    base_fee: int = BASE_FEE_FLOOR
    """Of the next block."""
    blocks: list[WrittenBlock] = field(default_factory=list)

    @contextmanager
    def block_at(self, timestamp: int) -> Iterator[BlockDraft]:
        """One more block, at this time or as soon after its parent as time allows."""
        time = max(timestamp, self.head_time + 1)
        self.node.ask_all(_heading(time, self.base_fee))
        draft = BlockDraft(self.node, self.chain_id, time, self.base_fee)
        yield draft
        _, answer = self.node.ask_all([("evm_mine", ()), ("eth_getBlockReceipts", ("latest",))])
        receipts = msgspec.convert(answer, list[MinedReceipt])
        _refuse_failures(self.node, draft, receipts)
        self.blocks.append(WrittenBlock(time, self.base_fee, tuple(draft.transactions)))
        gas_used = int(receipts[-1].cumulative_gas_used, 16) if receipts else 0
        self.head_time, self.base_fee = time, next_base_fee(self.base_fee, gas_used)

    def write_again(self, block: WrittenBlock) -> None:
        """A block that was written before, transaction by transaction."""
        sends = [("eth_sendRawTransaction", ("0x" + raw.hex(),)) for raw in block.transactions]
        heading = _heading(block.timestamp, block.base_fee)
        self.node.ask_all([*heading, *sends, ("evm_mine", ())])
        self.head_time = block.timestamp


def _heading(timestamp: int, base_fee: int) -> list[tuple[str, tuple[object, ...]]]:
    return [
        ("evm_setNextBlockTimestamp", (timestamp,)),
        ("anvil_setNextBlockBaseFeePerGas", (hex(base_fee),)),
    ]


def _refuse_failures(node: NodeClient, draft: BlockDraft, receipts: list[MinedReceipt]) -> None:
    if len(receipts) != len(draft.intents):
        raise WorldError(
            f"A block holds {len(receipts)} of the {len(draft.intents)} transactions sent for it."
        )
    for intent, receipt in zip(draft.intents, receipts, strict=True):
        if receipt.status != "0x1":
            raise WorldError(
                f"{intent.account.name} could not call {intent.to} with "
                f"0x{intent.data[:4].hex()}: {_reason(node, intent)}"
            )


def _reason(node: NodeClient, intent: UnsignedCall) -> str:
    call = {
        "from": intent.account.address,
        "to": intent.to,
        "data": "0x" + intent.data.hex(),
        "value": hex(intent.value),
    }
    try:
        node.ask("eth_call", call, "latest")
    except NodeRefusedError as error:
        return f"{error.message} {error.data or ''}".strip()
    return "it was refused within its block alone"
