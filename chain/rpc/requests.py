"""The questions that can be put to a node, each with the check of its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import MEGABYTE
from chain.contracts.networks import Address, Network
from chain.rpc import records, values
from chain.rpc.records import (
    BLOCK_TAGS,
    Block,
    BlockRef,
    FeeHistory,
    Json,
    Log,
    LogFilter,
    Receipt,
    SpentNonce,
    StateOverride,
    Transaction,
)
from chain.rpc.values import Hash


class RequestLimits(Struct, frozen=True):
    connect_seconds: float = 3.0
    answer_seconds: float = 7.5
    """From the first byte sent to the last byte read, however slowly the bytes drip."""
    total_seconds: float = 8.5
    """Everything, failover and pauses included: with what a command needs to
    start, a person never waits past ten seconds."""
    answer_bytes: int = 5 * MEGABYTE
    """After decompression; a request may ask for more, up to `most_answer_bytes`."""
    most_answer_bytes: int = 32 * MEGABYTE
    rounds: int = 5
    """How often the list of endpoints is gone through before giving up."""
    pause_seconds: float = 0.2
    """Before the second round; doubled for each further one, then jittered."""
    faults_to_rest: int = 6
    """Faults in a row after which an endpoint is left alone: more than one question can make."""
    rest_seconds: float = 5.0
    most_rest_seconds: float = 60.0
    limited_seconds: float = 1.0
    """The rest after a rate limit that names none; doubled while nothing is answered."""
    catch_up_seconds: float = 4.0
    """How long a block is waited for that one machine has and another has not got yet."""
    catch_up_pause: float = 0.4
    reserve_seconds: float = 2.0
    """Kept back from a slow endpoint's time for each of up to two others still untried."""

    def answering_within(self, seconds: float) -> RequestLimits:
        """The same for a line on which an answer may take so long."""
        return replace(
            self,
            connect_seconds=max(self.connect_seconds, seconds / 2),
            answer_seconds=seconds,
            total_seconds=max(seconds + 1, self.total_seconds),
        )


_LEAST_STALE_SECONDS = 60.0
_STALE_BLOCKS = 10


def stale_seconds(network: Network) -> float:
    """How old a newest block may be before whoever tells it is left behind."""
    return max(_LEAST_STALE_SECONDS, _STALE_BLOCKS * network.block_seconds)


T_co = TypeVar("T_co", covariant=True)
_LOGS_BYTES = 16 * MEGABYTE
_HASH_LENGTH = 66


class Request(Struct, Generic[T_co], frozen=True):
    method: str
    params: tuple[Json, ...]
    parse: Callable[[object], T_co]
    block_param: int | None = None
    """Which parameter says at what block; None where the question has no such thing."""
    answer_bytes: int | None = None
    """The largest answer to read; None leaves it to the client's limits."""
    idempotent: bool = True
    """Whether asking twice is the same as asking once."""
    dispensable: bool = False
    """Whether an endpoint may do without this method: failing at it says nothing else of it."""

    def at(self, ref: BlockRef) -> Request[T_co]:
        """The same question about another block."""
        if self.block_param is None:
            raise ValueError(f"{self.method} is not asked about a block")
        params = list(self.params)
        params[self.block_param] = state_block(ref)
        return replace(self, params=tuple(params))


def chain_id() -> Request[int]:
    return Request("eth_chainId", (), values.small_quantity)


def block(ref: BlockRef) -> Request[Block | None]:
    """A block's header by number, tag or hash; None when the node knows no such block."""
    if ref == "pending":
        raise ValueError("A pending block has neither number nor hash")
    by_hash = _is_hash(ref)
    method = "eth_getBlockByHash" if by_hash else "eth_getBlockByNumber"

    def parse(value: object) -> Block | None:
        if value is None:
            return None
        found = records.block(value)
        if isinstance(ref, int) and found.number != ref:
            raise values.InvalidValueError("another block than the one asked for")
        if by_hash and found.hash != ref:
            raise values.InvalidValueError("another block than the one asked for")
        return found

    return Request(method, (_plain_ref(ref), False), parse)


def call(
    to: Address,
    data: bytes,
    at: BlockRef = "latest",
    *,
    sender: Address | None = None,
    value: int = 0,
    gas: int | None = None,
    state_override: StateOverride | None = None,
    answer_bytes: int | None = None,
) -> Request[bytes]:
    params: list[Json] = [_transaction(to, data, sender, value, gas), state_block(at)]
    if state_override:
        params.append(written_override(state_override))
    return Request("eth_call", tuple(params), values.data, block_param=1, answer_bytes=answer_bytes)


def estimate_gas(
    to: Address | None,
    data: bytes,
    at: BlockRef = "latest",
    *,
    sender: Address | None = None,
    value: int = 0,
) -> Request[int]:
    return Request(
        "eth_estimateGas",
        (_transaction(to, data, sender, value, None), state_block(at)),
        values.small_quantity,
        block_param=1,
    )


def logs(wanted: LogFilter) -> Request[tuple[Log, ...]]:
    """Logs in chain order; an answer with any that was not asked for is refused whole."""
    query: dict[str, Json] = {
        "fromBlock": _plain_ref(wanted.from_block),
        "toBlock": _plain_ref(wanted.to_block),
        "topics": [list(topic) if isinstance(topic, tuple) else topic for topic in wanted.topics],
    }
    if wanted.addresses:
        alone = len(wanted.addresses) == 1
        query["address"] = wanted.addresses[0] if alone else list(wanted.addresses)
    return Request(
        "eth_getLogs",
        (query,),
        lambda value: records.logs(value, wanted),
        answer_bytes=_LOGS_BYTES,
    )


def balance(address: Address, at: BlockRef = "latest") -> Request[int]:
    return Request("eth_getBalance", (address, state_block(at)), values.quantity, block_param=1)


def code(address: Address, at: BlockRef = "latest") -> Request[bytes]:
    return Request("eth_getCode", (address, state_block(at)), values.data, block_param=1)


def storage(address: Address, slot: int | Hash, at: BlockRef = "latest") -> Request[Hash]:
    """One word of a contract's storage, as 32 bytes in hex."""
    place = hex(slot) if isinstance(slot, int) else slot
    return Request(
        "eth_getStorageAt", (address, place, state_block(at)), values.word, block_param=2
    )


def spent_nonces(number: int) -> Request[tuple[SpentNonce, ...] | None]:
    """Of every transaction of a block; None when the node knows no such block."""
    return Request(
        "eth_getBlockByNumber",
        (hex(number), True),
        lambda value: None if value is None else records.spent_nonces(value),
    )


def transaction_count(address: Address, at: BlockRef = "latest") -> Request[int]:
    return Request(
        "eth_getTransactionCount",
        (address, state_block(at)),
        values.small_quantity,
        block_param=1,
    )


def gas_price() -> Request[int]:
    return Request("eth_gasPrice", (), values.quantity)


def max_priority_fee() -> Request[int]:
    return Request("eth_maxPriorityFeePerGas", (), values.quantity)


def fee_history(
    blocks: int, newest: BlockRef = "latest", percentiles: Sequence[float] = ()
) -> Request[FeeHistory | None]:
    """What was paid in the last blocks; None where a node keeps no record of it."""
    return Request(
        "eth_feeHistory",
        (hex(blocks), _plain_ref(newest), list(percentiles)),
        lambda value: (
            None if value is None else records.fee_history(value, percentiles=len(percentiles))
        ),
    )


def transaction(transaction_hash: Hash) -> Request[Transaction | None]:
    def parse(value: object) -> Transaction | None:
        if value is None:
            return None
        found = records.transaction(value)
        if found.hash != transaction_hash.lower():
            raise values.InvalidValueError("another transaction than the one asked for")
        return found

    return Request("eth_getTransactionByHash", (transaction_hash,), parse)


def receipt(transaction_hash: Hash) -> Request[Receipt | None]:
    """What a transaction did; None while it is in no block."""

    def parse(value: object) -> Receipt | None:
        if value is None:
            return None
        found = records.receipt(value)
        if found.transaction_hash != transaction_hash.lower():
            raise values.InvalidValueError("another receipt than the one asked for")
        return found

    return Request("eth_getTransactionReceipt", (transaction_hash,), parse)


def send_raw(signed: bytes) -> Request[Hash]:
    """Hand a signed transaction to one node, once; the answer must be its own hash."""

    def parse(value: object) -> Hash:
        from chain.contracts.addresses import keccak  # loads a C library that no read needs

        found = values.hash32(value)
        if found != "0x" + keccak(signed).hex():
            raise values.InvalidValueError("another transaction's hash")
        return found

    return Request("eth_sendRawTransaction", ("0x" + signed.hex(),), parse, idempotent=False)


def state_block(ref: BlockRef) -> Json:
    """How a question about state names its block: a hash must also be of the present chain."""
    if _is_hash(ref):
        return {"blockHash": ref, "requireCanonical": True}
    return _plain_ref(ref)


def _plain_ref(ref: BlockRef) -> str:
    if isinstance(ref, int):
        return hex(ref)
    if ref in BLOCK_TAGS or _is_hash(ref):
        return ref
    raise ValueError(f"{ref!r} is not a block's number, tag or hash")


def _is_hash(ref: BlockRef) -> bool:
    return isinstance(ref, str) and len(ref) == _HASH_LENGTH and ref.startswith("0x")


def _transaction(
    to: Address | None, data: bytes, sender: Address | None, value: int, gas: int | None
) -> dict[str, Json]:
    written: dict[str, Json] = {"data": "0x" + data.hex()}
    if to is not None:
        written["to"] = to
    if sender is not None:
        written["from"] = sender
    if value:
        written["value"] = hex(value)
    if gas is not None:
        written["gas"] = hex(gas)
    return written


def written_override(override: StateOverride) -> dict[str, Json]:
    written: dict[str, Json] = {}
    for account, pretended in override.items():
        entry: dict[str, Json] = {}
        if pretended.balance is not None:
            entry["balance"] = hex(pretended.balance)
        if pretended.nonce is not None:
            entry["nonce"] = hex(pretended.nonce)
        if pretended.code is not None:
            entry["code"] = "0x" + pretended.code.hex()
        if pretended.storage:
            entry["stateDiff"] = dict(pretended.storage)
        written[account] = entry
    return written
