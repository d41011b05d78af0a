"""What a node tells, as frozen records; a wrong value in an answer raises, none is repaired."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias, TypeVar

from msgspec import Struct, field

from chain.base.units import ADDRESS
from chain.contracts.networks import Address

Hash: TypeAlias = str
"""32 bytes as lower-case `0x` hex."""

_QUANTITY = re.compile(r"0x(?:0|[1-9a-fA-F][0-9a-fA-F]*)", re.ASCII)
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)
_HASH = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


class InvalidValueError(ValueError):
    """A value of an answer that is not what its field must hold."""


def quantity(value: object, *, bits: int = 256) -> int:
    """A non-negative integer as minimal `0x` hex."""
    # Length first: a hundred thousand digits would take long to turn into a number.
    if not isinstance(value, str) or len(value) > 2 + bits // 4 or not _QUANTITY.fullmatch(value):
        raise InvalidValueError(f"a quantity of at most {bits} bits was expected")
    return int(value, 16)


def small_quantity(value: object) -> int:
    """Block numbers, times, gas and indexes: they fit 64 bits."""
    return quantity(value, bits=64)


def data(value: object) -> bytes:
    if not isinstance(value, str) or not value.startswith("0x"):
        raise InvalidValueError("bytes in hex were expected")
    try:
        decoded = bytes.fromhex(value[2:])
    except ValueError:
        decoded = None
    # `fromhex` forgives spaces between bytes; the length tells.
    if decoded is None or len(decoded) * 2 + 2 != len(value):
        raise InvalidValueError("bytes in hex were expected")
    return decoded


def hash32(value: object) -> Hash:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise InvalidValueError("a hash of 32 bytes was expected")
    return value.lower()


def address(value: object) -> Address:
    if not isinstance(value, str) or not ADDRESS.fullmatch(value):
        raise InvalidValueError("an address of 20 bytes was expected")
    return value.lower()


def word(value: object) -> Hash:
    """A storage word; a few nodes leave out its leading zeros."""
    if not isinstance(value, str) or not _DATA.fullmatch(value) or len(value) > 66:
        raise InvalidValueError("a word of 32 bytes was expected")
    return "0x" + value[2:].lower().rjust(64, "0")


def boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidValueError("true or false was expected")
    return value


def text(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidValueError("text was expected")
    return value


def ratio(value: object) -> float:
    """A share such as `gasUsedRatio`, the one place where Ethereum's JSON-RPC uses fractions."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValueError("a share was expected")
    if not math.isfinite(value) or value < 0:
        raise InvalidValueError("a share was expected")
    return float(value)


def fields(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InvalidValueError("an object was expected")
    return value


def items(value: object) -> list[object]:
    if not isinstance(value, list):
        raise InvalidValueError("a list was expected")
    return value


BlockTag = Literal["latest", "safe", "finalized", "earliest", "pending"]
BLOCK_TAGS: frozenset[str] = frozenset(("latest", "safe", "finalized", "earliest", "pending"))

BlockRef: TypeAlias = int | str
"""A block's number, a tag, or its hash."""

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"


class Block(Struct, frozen=True):
    number: int
    hash: Hash
    parent_hash: Hash
    timestamp: int
    base_fee_per_gas: int | None
    gas_used: int
    gas_limit: int


class Log(Struct, frozen=True):
    address: Address
    topics: tuple[Hash, ...]
    data: bytes
    block_number: int
    block_hash: Hash
    transaction_hash: Hash
    transaction_index: int
    log_index: int
    removed: bool


class LogFilter(Struct, frozen=True):
    address: tuple[Address, ...] | Address
    topics: tuple[Hash | tuple[Hash, ...] | None, ...]
    from_block: int | str
    to_block: int | str

    @property
    def addresses(self) -> tuple[Address, ...]:
        given = (self.address,) if isinstance(self.address, str) else self.address
        return tuple(address.lower() for address in given)


class Receipt(Struct, frozen=True):
    transaction_hash: Hash
    transaction_index: int
    block_number: int
    block_hash: Hash
    sender: Address
    to: Address | None
    contract_address: Address | None
    succeeded: bool
    gas_used: int
    cumulative_gas_used: int
    effective_gas_price: int
    l1_fee: int | None
    """What an OP-stack network charged for the data on its parent chain; elsewhere unknown."""
    logs: tuple[Log, ...]


class Transaction(Struct, frozen=True):
    hash: Hash
    nonce: int
    sender: Address
    to: Address | None
    value: int
    data: bytes
    gas: int
    gas_price: int | None
    max_fee_per_gas: int | None
    max_priority_fee_per_gas: int | None
    block_number: int | None
    block_hash: Hash | None
    transaction_index: int | None


class SpentNonce(Struct, frozen=True):
    """Who sent a transaction of a block, and with which nonce."""

    hash: Hash
    sender: Address
    nonce: int


class FeeHistory(Struct, frozen=True):
    oldest_block: int
    base_fees: tuple[int, ...]
    """One for each block and one more: the fee the next block must have."""
    gas_used_ratios: tuple[float, ...]
    rewards: tuple[tuple[int, ...], ...]
    """For each block the priority fees at the percentiles asked for."""


class AccountOverride(Struct, frozen=True):
    """What an account is pretended to be during one call."""

    balance: int | None = None
    nonce: int | None = None
    code: bytes | None = None
    storage: Mapping[Hash, Hash] = field(default_factory=dict)
    """Only these slots differ; the others keep their values."""


StateOverride: TypeAlias = Mapping[Address, AccountOverride]


T = TypeVar("T")
_MOST_TOPICS = 4


def block(value: object) -> Block:
    given = fields(value)
    return Block(
        number=_field(given, "number", small_quantity),
        hash=_field(given, "hash", hash32),
        parent_hash=_field(given, "parentHash", hash32),
        timestamp=_field(given, "timestamp", small_quantity),
        base_fee_per_gas=_optional(given, "baseFeePerGas", quantity),
        gas_used=_field(given, "gasUsed", small_quantity),
        gas_limit=_field(given, "gasLimit", small_quantity),
    )


def log(value: object) -> Log:
    given = fields(value)
    topics = tuple(map(hash32, _field(given, "topics", items)))
    if len(topics) > _MOST_TOPICS:
        raise InvalidValueError("a log has more than four topics")
    return Log(
        address=_field(given, "address", address),
        topics=topics,
        data=_field(given, "data", data),
        block_number=_field(given, "blockNumber", small_quantity),
        block_hash=_field(given, "blockHash", hash32),
        transaction_hash=_field(given, "transactionHash", hash32),
        transaction_index=_field(given, "transactionIndex", small_quantity),
        log_index=_field(given, "logIndex", small_quantity),
        removed=_optional(given, "removed", boolean) or False,
    )


def logs(value: object, wanted: LogFilter) -> tuple[Log, ...]:
    """The logs of an answer, each checked against the filter, in chain order, of one history."""
    found = tuple(map(log, items(value)))
    addresses = frozenset(wanted.addresses)
    topics = tuple(map(_allowed_topics, wanted.topics))
    hash_at: dict[int, Hash] = {}
    before = (-1, -1)
    for entry in found:
        if addresses and entry.address not in addresses:
            raise InvalidValueError("a log of an address that was not asked for")
        if not _topics_match(entry.topics, topics):
            raise InvalidValueError("a log with topics that were not asked for")
        if not _in_range(entry.block_number, wanted):
            raise InvalidValueError("a log of a block that was not asked for")
        if entry.removed:
            raise InvalidValueError("a log that was removed from the chain")
        place = (entry.block_number, entry.log_index)
        if place <= before:
            raise InvalidValueError("logs out of order")
        before = place
        if hash_at.setdefault(entry.block_number, entry.block_hash) != entry.block_hash:
            raise InvalidValueError("logs of two histories of one block")
    return found


def receipt(value: object) -> Receipt:
    given = fields(value)
    status = _field(given, "status", small_quantity)
    if status > 1:
        raise InvalidValueError("a receipt's status is 0 or 1")
    return Receipt(
        transaction_hash=_field(given, "transactionHash", hash32),
        transaction_index=_field(given, "transactionIndex", small_quantity),
        block_number=_field(given, "blockNumber", small_quantity),
        block_hash=_field(given, "blockHash", hash32),
        sender=_field(given, "from", address),
        to=_optional(given, "to", address),
        contract_address=_optional(given, "contractAddress", address),
        succeeded=status == 1,
        gas_used=_field(given, "gasUsed", small_quantity),
        cumulative_gas_used=_field(given, "cumulativeGasUsed", small_quantity),
        effective_gas_price=_field(given, "effectiveGasPrice", quantity),
        l1_fee=_optional(given, "l1Fee", quantity),
        logs=tuple(map(log, _field(given, "logs", items))),
    )


def transaction(value: object) -> Transaction:
    given = fields(value)
    return Transaction(
        hash=_field(given, "hash", hash32),
        nonce=_field(given, "nonce", small_quantity),
        sender=_field(given, "from", address),
        to=_optional(given, "to", address),
        value=_field(given, "value", quantity),
        data=_field(given, "input", data),
        gas=_field(given, "gas", small_quantity),
        gas_price=_optional(given, "gasPrice", quantity),
        max_fee_per_gas=_optional(given, "maxFeePerGas", quantity),
        max_priority_fee_per_gas=_optional(given, "maxPriorityFeePerGas", quantity),
        block_number=_optional(given, "blockNumber", small_quantity),
        block_hash=_optional(given, "blockHash", hash32),
        transaction_index=_optional(given, "transactionIndex", small_quantity),
    )


def spent_nonces(value: object) -> tuple[SpentNonce, ...]:
    """Of a block with its transactions."""
    sent = map(fields, _field(fields(value), "transactions", items))
    return tuple(
        SpentNonce(
            hash=_field(transaction, "hash", hash32),
            sender=_field(transaction, "from", address),
            nonce=_field(transaction, "nonce", small_quantity),
        )
        for transaction in sent
    )


def fee_history(value: object, *, percentiles: int) -> FeeHistory:
    given = fields(value)
    base_fees = tuple(map(quantity, _field(given, "baseFeePerGas", items)))
    ratios = tuple(map(ratio, _field(given, "gasUsedRatio", items)))
    rewards = tuple(
        tuple(map(quantity, items(row))) for row in _optional(given, "reward", items) or []
    )
    if len(base_fees) != len(ratios) + 1:
        raise InvalidValueError("a fee history needs one base fee more than blocks")
    if percentiles and [len(row) for row in rewards] != [percentiles] * len(ratios):
        raise InvalidValueError("a fee history without the rewards that were asked for")
    return FeeHistory(
        oldest_block=_field(given, "oldestBlock", small_quantity),
        base_fees=base_fees,
        gas_used_ratios=ratios,
        rewards=rewards,
    )


def _field(given: Mapping[str, object], name: str, read: Callable[[object], T]) -> T:
    try:
        return read(given.get(name))
    except InvalidValueError as error:
        reason = str(error)
    raise InvalidValueError(f"{reason} in {name}")


def _optional(given: Mapping[str, object], name: str, read: Callable[[object], T]) -> T | None:
    return None if given.get(name) is None else _field(given, name, read)


def _allowed_topics(topic: Hash | tuple[Hash, ...] | None) -> frozenset[Hash] | None:
    if topic is None or topic == ():
        return None
    return frozenset((topic.lower(),) if isinstance(topic, str) else map(str.lower, topic))


def _topics_match(found: tuple[Hash, ...], wanted: tuple[frozenset[Hash] | None, ...]) -> bool:
    return len(found) >= len(wanted) and all(
        allowed is None or topic in allowed for topic, allowed in zip(found, wanted, strict=False)
    )


def _in_range(number: int, wanted: LogFilter) -> bool:
    return (not isinstance(wanted.from_block, int) or number >= wanted.from_block) and (
        not isinstance(wanted.to_block, int) or number <= wanted.to_block
    )
