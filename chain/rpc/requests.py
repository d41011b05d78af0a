"""The questions that can be put to a node, alone or many at once, each checking its answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

from msgspec import Struct
from msgspec.structs import replace

from chain.base.units import MEGABYTE
from chain.contracts.abi import WORD, AbiError, address_bytes, selector
from chain.contracts.networks import Address, Network
from chain.rpc import records
from chain.rpc.errors import RpcError
from chain.rpc.records import (
    BLOCK_TAGS,
    Block,
    BlockRef,
    FeeHistory,
    Hash,
    InvalidValueError,
    Json,
    Log,
    LogFilter,
    Receipt,
    SpentNonce,
    StateOverride,
    Transaction,
)
from chain.rpc.records import data as hex_data


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
    most_limited_seconds: float = 20.0
    """How long one question waits for rate limits altogether, its answer's time apart."""
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
    return Request("eth_chainId", (), records.small_quantity)


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
            raise records.InvalidValueError("another block than the one asked for")
        if by_hash and found.hash != ref:
            raise records.InvalidValueError("another block than the one asked for")
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
    return Request(
        "eth_call", tuple(params), records.data, block_param=1, answer_bytes=answer_bytes
    )


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
        records.small_quantity,
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
        "eth_getLogs", (query,), lambda value: records.logs(value, wanted), answer_bytes=_LOGS_BYTES
    )


def balance(address: Address, at: BlockRef = "latest") -> Request[int]:
    return Request("eth_getBalance", (address, state_block(at)), records.quantity, block_param=1)


def code(address: Address, at: BlockRef = "latest") -> Request[bytes]:
    return Request("eth_getCode", (address, state_block(at)), records.data, block_param=1)


def storage(address: Address, slot: int | Hash, at: BlockRef = "latest") -> Request[Hash]:
    """One word of a contract's storage, as 32 bytes in hex."""
    place = hex(slot) if isinstance(slot, int) else slot
    return Request(
        "eth_getStorageAt", (address, place, state_block(at)), records.word, block_param=2
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
        "eth_getTransactionCount", (address, state_block(at)), records.small_quantity, block_param=1
    )


def gas_price() -> Request[int]:
    return Request("eth_gasPrice", (), records.quantity)


def max_priority_fee() -> Request[int]:
    return Request("eth_maxPriorityFeePerGas", (), records.quantity)


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
            raise records.InvalidValueError("another transaction than the one asked for")
        return found

    return Request("eth_getTransactionByHash", (transaction_hash,), parse)


def receipt(transaction_hash: Hash) -> Request[Receipt | None]:
    """What a transaction did; None while it is in no block."""

    def parse(value: object) -> Receipt | None:
        if value is None:
            return None
        found = records.receipt(value)
        if found.transaction_hash != transaction_hash.lower():
            raise records.InvalidValueError("another receipt than the one asked for")
        return found

    return Request("eth_getTransactionReceipt", (transaction_hash,), parse)


def send_raw(signed: bytes) -> Request[Hash]:
    """Hand a signed transaction to one node, once; the answer must be its own hash."""

    def parse(value: object) -> Hash:
        from chain.contracts.addresses import keccak  # loads a C library that no read needs

        found = records.hash32(value)
        if found != "0x" + keccak(signed).hex():
            raise records.InvalidValueError("another transaction's hash")
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


_AGGREGATE = "aggregate3((address,bool,bytes)[])"

# A monitor makes tens of thousands of calls a poll: both layouts are spelled out here, where
# `chain.contracts.abi` would walk through their types for every single one.
_ARRAY_FOLLOWS = WORD.to_bytes(WORD, "big")
_MAY_FAIL_AND_BYTES_FOLLOW = (1).to_bytes(WORD, "big") + (3 * WORD).to_bytes(WORD, "big")
_BYTES_FOLLOW = 2 * WORD


class Call(Struct, frozen=True, gc=False):
    target: Address
    data: bytes
    words: int = 0
    """How long the answer is; 0 where nobody says."""


class CallOutcome(Struct, frozen=True, gc=False):
    success: bool
    data: bytes
    """What the contract returned; the reason where it failed."""


def aggregate(calls: Sequence[Call]) -> bytes:
    """Calldata that makes all calls, letting each fail without the others."""
    targets: dict[Address, bytes] = {}
    lengths: dict[int, tuple[bytes, bytes]] = {}
    """As a word, and what fills the last word."""
    offsets: list[bytes] = []
    bodies: list[bytes] = []
    offset = WORD * len(calls)
    for request in calls:
        target = targets.get(request.target)
        if target is None:
            address = bytes(12) + address_bytes(request.target)
            target = targets[request.target] = address + _MAY_FAIL_AND_BYTES_FOLLOW
        length = len(request.data)
        words = lengths.get(length)
        if words is None:
            words = lengths[length] = length.to_bytes(WORD, "big"), bytes(-length % WORD)
        body = target + words[0] + request.data + words[1]
        offsets.append(offset.to_bytes(WORD, "big"))
        bodies.append(body)
        offset += len(body)
    count = len(calls).to_bytes(WORD, "big")
    return b"".join((selector(_AGGREGATE), _ARRAY_FOLLOWS, count, *offsets, *bodies))


def decode_aggregate(answer: bytes) -> list[CallOutcome]:
    """The outcomes in the order of the calls; raises `AbiError` on anything else.

    Only the canonical layout passes: every byte is read once, in order, and none is left over.
    """
    word = int.from_bytes
    if len(answer) < 2 * WORD or answer[:WORD] != _ARRAY_FOLLOWS:
        raise AbiError("The outcomes do not begin where they must.")
    count = word(answer[WORD : 2 * WORD], "big")
    base = 2 * WORD
    if count * WORD > len(answer) - base:
        raise AbiError(f"{count} outcomes are announced, beyond the data's end.")
    at = base + count * WORD
    outcomes: list[CallOutcome] = []
    for place in range(base, at, WORD):
        if word(answer[place : place + WORD], "big") != at - base:
            raise AbiError(f"The offset at byte {place} does not point to the next outcome.")
        success = word(answer[at : at + WORD], "big")
        follows = word(answer[at + WORD : at + 2 * WORD], "big")
        length = word(answer[at + 2 * WORD : at + 3 * WORD], "big")
        start = at + 3 * WORD
        at = start + length + -length % WORD
        if success > 1 or follows != _BYTES_FOLLOW or at > len(answer):
            raise AbiError(f"The outcome before byte {start} is not laid out as it must be.")
        if any(answer[start + length : at]):
            raise AbiError(f"The bytes at {start} are not padded with zeros to whole words.")
        outcomes.append(CallOutcome(success == 1, answer[start : start + length]))
    if at != len(answer):
        raise AbiError(f"{len(answer) - at} bytes are left over after the outcomes.")
    return outcomes


def multicall(
    multicall3: Address, calls: Sequence[Call], at: BlockRef = "latest"
) -> Request[list[CallOutcome]]:
    """One `eth_call` for all; an answer with another number of outcomes is refused."""
    asked = call(multicall3, aggregate(calls), at)

    def parse(value: object) -> list[CallOutcome]:
        try:
            outcomes = decode_aggregate(hex_data(value))
        except AbiError:
            outcomes = None
        if outcomes is None or len(outcomes) != len(calls):
            raise InvalidValueError("the outcomes of other calls than those asked for")
        return outcomes

    return Request(
        asked.method,
        asked.params,
        parse,
        block_param=asked.block_param,
        answer_bytes=asked.answer_bytes,
    )


T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")


class Reader(ABC):
    @abstractmethod
    async def settle(self, requests: Sequence[Request[T]]) -> list[T | RpcError]:
        """Each question's own outcome, in one HTTP request where the endpoint takes batches."""

    async def ask(self, request: Request[T]) -> T:
        """One question's answer."""
        [outcome] = await self.settle([request])
        if isinstance(outcome, RpcError):
            raise outcome
        return outcome

    @overload
    async def together(self, a: Request[A], b: Request[B], /) -> tuple[A, B]: ...
    @overload
    async def together(self, a: Request[A], b: Request[B], c: Request[C], /) -> tuple[A, B, C]: ...
    @overload
    async def together(
        self, a: Request[A], b: Request[B], c: Request[C], d: Request[D], /
    ) -> tuple[A, B, C, D]: ...
    @overload
    async def together(
        self, a: Request[A], b: Request[B], c: Request[C], d: Request[D], e: Request[E], /
    ) -> tuple[A, B, C, D, E]: ...
    @overload
    async def together(
        self,
        a: Request[A],
        b: Request[B],
        c: Request[C],
        d: Request[C],
        e: Request[C],
        f: Request[C],
        /,
    ) -> tuple[A, B, C, C, C, C]: ...
    @overload
    async def together(self, *requests: Request[T]) -> tuple[T, ...]: ...
    async def together(self, *requests: Request[object]) -> tuple[object, ...]:
        """All answers, from one endpoint, in one HTTP request where it takes batches."""
        outcomes = await self.settle(requests)
        for outcome in outcomes:
            if isinstance(outcome, RpcError):
                raise outcome
        return tuple(outcomes)
