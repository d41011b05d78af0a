"""Many reads of one block in as few requests as they fit into: calls, storage words, parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import Struct

from chain.contracts.abi import AbiError, encode_call, selector
from chain.contracts.networks import Address, Network
from chain.contracts.storage import EXTSLOAD, slot_bytes
from chain.rpc import requests
from chain.rpc.errors import ErrorKind, Malformed, RateLimited, Reorged, RpcError, RpcRefused
from chain.rpc.records import Block, BlockRef
from chain.rpc.requests import Call, CallOutcome, Request, multicall

if TYPE_CHECKING:
    from chain.rpc.client import RpcClient

# The first request asks for the head and reads it at once. Each batch of calls also asks the
# chain which block it runs on: an answer from another block than the header's is asked again by
# hash.
T = TypeVar("T")

GAS_PER_CALL = 10_000_000
"""Nodes stop a call at 50 million gas by default, some at far less."""

ANSWER_BYTES_PER_REQUEST = 3_200_000

_WORD = 32
_WRAPPING = 4 * _WORD
"""Of each answer: where it stands, whether it succeeded, where it begins, and its length."""

_ASKED_AGAIN = 2
"""How often one block is asked about again where a node answers from another."""

_REQUEST_TOO_LARGE = 413

_Place: TypeAlias = tuple[int, ...]
"""Where a bundle of calls stands among the others; the halves of one stand in its place."""

_ARB_SYS = "0x0000000000000000000000000000000000000064"


class EventError(ValueError):
    """A log that is not the event it was taken for: the node that sent it is not to be trusted."""


class NoSuchBlockError(RpcError):
    """A block the node does not know."""

    kind = ErrorKind.STATE_PRUNED

    def __init__(self, ref: BlockRef) -> None:
        super().__init__(
            f"The node knows no block {ref}.", "Ask for one it has, or for the latest."
        )


@contextmanager
def sound_answers() -> Iterator[None]:
    """What no contract of Uniswap's answers is a fault of the node that said so."""
    try:
        yield
    except (AbiError, EventError) as error:
        raise Malformed(str(error).rstrip("."), endpoint="The node") from error


class Answers(Struct, frozen=True):
    outcomes: list[CallOutcome]
    beside: list[object]
    """What the other requests got, in their order: a value or an `RpcError` each."""


class OneBlock:
    """The block all reads of one snapshot are taken from."""

    def __init__(self, client: RpcClient, network: Network, at: BlockRef = "latest") -> None:
        self.client = client
        self._network = network
        self._block: Block | None = None
        self._asked_again = 0
        self.ref: BlockRef = at
        """How to ask about the block: as it was given, then by its hash."""

    @property
    def block(self) -> Block:
        if self._block is None:
            raise RuntimeError("Nothing was read of the block yet.")
        return self._block

    async def read(self, calls: Sequence[Call], beside: Sequence[Request[object]] = ()) -> Answers:
        """The outcomes of the calls on this block; `beside` rides in the first request."""
        waiting: dict[_Place, tuple[Call, ...]] = {
            (place,): bundle for place, bundle in enumerate(_bundles(calls))
        }
        done: dict[_Place, list[CallOutcome]] = {}
        others: list[object] | None = None
        while waiting or others is None or self._block is None:
            numbers = list(_fitting(waiting))
            pinned = self._block is not None
            extra = beside if others is None else ()
            bundles = [self._bundled(waiting[number]) for number in numbers]
            answers = await self._ask([*extra, *bundles])
            if others is None:
                others, answers = answers[: len(extra)], answers[len(extra) :]
            for number, answer in zip(numbers, answers, strict=True):
                if _is_too_large(answer) and len(waiting[number]) > 1:
                    bundle = waiting.pop(number)
                    middle = len(bundle) // 2
                    waiting |= {(*number, 0): bundle[:middle], (*number, 1): bundle[middle:]}
                    continue
                outcomes = self._checked(answer, pinned=pinned)
                if outcomes is not None:
                    done[number] = outcomes
                    del waiting[number]
        return Answers([answer for number in sorted(done) for answer in done[number]], others)

    async def _ask(self, questions: Sequence[Request[object]]) -> list[object]:
        if self._block is not None:
            return await self.client.at(self._block).settle(questions)
        if self.ref == "latest":
            header, answers = await self.client.with_head(questions)
        else:
            first, *answers = await self.client.settle([requests.block(self.ref), *questions])
            if first is None:
                raise NoSuchBlockError(self.ref)
            header = expect(first, Block)
        self._block = header
        self.ref = header.hash
        return answers

    def _bundled(self, calls: Sequence[Call]) -> Request[list[CallOutcome]]:
        multicall3 = self._network.contracts.multicall3
        return multicall(multicall3, (*self._whereabouts(), *calls), self.ref)

    def _checked(self, answer: object, *, pinned: bool) -> list[CallOutcome] | None:
        """The outcomes, or None when they are of a newer head and must be asked for again."""
        outcomes: list[CallOutcome] = expect(answer, list)
        proof = len(self._whereabouts())
        if self._is_here(outcomes[:proof]):
            return outcomes[proof:]
        if pinned:
            # A node that is taking a new block may answer half from it: it settles in a moment.
            self._asked_again += 1
            if self._asked_again > _ASKED_AGAIN:
                raise Reorged(self.block.number, self.block.hash, None)
        return None

    def _whereabouts(self) -> tuple[Call, ...]:
        multicall3 = self._network.contracts.multicall3
        timestamp = Call(multicall3, encode_call("getCurrentBlockTimestamp()"))
        if self._network.stack == "arbitrum":
            # NUMBER and BLOCKHASH tell of the parent chain there.
            return (timestamp, Call(_ARB_SYS, encode_call("arbBlockNumber()")))
        return (
            timestamp,
            Call(multicall3, encode_call("getBlockNumber()")),
            Call(multicall3, encode_call("getLastBlockHash()")),
        )

    def _is_here(self, proof: Sequence[CallOutcome]) -> bool:
        block = self.block
        here = (block.timestamp, block.number, int(block.parent_hash, 16))
        told = tuple(int.from_bytes(outcome.data, "big") for outcome in proof)
        return all(outcome.success for outcome in proof) and told == here[: len(told)]


def expect(answer: object, kind: type[T]) -> T:
    """The answer of one request among several, or its error."""
    if isinstance(answer, RpcError):
        raise answer
    if not isinstance(answer, kind):
        raise TypeError(f"A {kind.__name__} was expected, not a {type(answer).__name__}.")
    return answer


def _bundles(calls: Sequence[Call]) -> Iterator[tuple[Call, ...]]:
    """The calls in order, in groups that stay under the gas of one `eth_call`."""
    bundle: list[Call] = []
    gas = 0
    for call in calls:
        needed = _gas(call)
        if bundle and gas + needed > GAS_PER_CALL:
            yield tuple(bundle)
            bundle, gas = [], 0
        bundle.append(call)
        gas += needed
    if bundle:
        yield tuple(bundle)


def _is_too_large(answer: object) -> bool:
    """Whether an endpoint takes less at once than all others do."""
    return isinstance(answer, RpcRefused) and answer.code == _REQUEST_TOO_LARGE


def _fitting(waiting: dict[_Place, tuple[Call, ...]]) -> Iterator[_Place]:
    """The first bundles whose answers fit one HTTP response."""
    size = 0
    for number, bundle in waiting.items():
        size += sum(map(answer_bytes, bundle))
        if size > ANSWER_BYTES_PER_REQUEST and number != next(iter(waiting)):
            return
        yield number


def _gas(call: Call) -> int:
    """An upper bound for getters: a call, and a cold storage read for each word it was given."""
    return 10_000 + 75 * len(call.data)


def answer_bytes(call: Call) -> int:
    """Hex digits of the answer and its wrapping; where nobody says how long it is, as many words
    as were asked for and some more."""
    return 2 * (_WRAPPING + _WORD * call.words if call.words else len(call.data) + 384)


_AT_ONCE = 100
"""Public endpoints refuse much larger batches."""

_MOST_LIMITS = 12
"""In a row, each waited out longer, before the endpoint counts as closed."""


async def settle_in_parts(client: RpcClient, asked: Sequence[Request[T]]) -> list[T | RpcError]:
    """Each question's own outcome, in as few requests as the endpoint's pace lets through."""
    answers: list[T | RpcError] = []
    limits = 0
    while len(answers) < len(asked):
        size = client.calls_at_once if client.is_limited else _AT_ONCE
        try:
            answers += await client.settle(asked[len(answers) : len(answers) + size])
            limits = 0
        except RateLimited as limit:
            limits += 1
            if limits > _MOST_LIMITS:
                raise
            await client.wait_out(limit)
    return answers


class SlotAnswers(Struct, frozen=True):
    words: Mapping[int, int]
    outcomes: Sequence[CallOutcome]


async def read_slots(
    here: OneBlock, network: Network, slots: Iterable[int], calls: Sequence[Call] = ()
) -> SlotAnswers:
    """The word in each slot, and the outcomes of the calls, in one request where they fit."""
    chunks = word_chunks(slots)
    pool_manager = network.contracts.pool_manager
    answers = await here.read([*calls, *(read_words(pool_manager, chunk) for chunk in chunks)])
    words: dict[int, int] = {}
    for chunk, outcome in zip(chunks, answers.outcomes[len(calls) :], strict=True):
        words.update(decode_words(chunk, outcome))
    return SlotAnswers(words, answers.outcomes[: len(calls)])


WORDS_PER_CALL = 1_000
"""About 2.3 million gas: small enough to be packed beside others, large enough to be few."""

_ARRAY_OFFSET = _WORD.to_bytes(_WORD, "big")


def word_chunks(slots: Iterable[int]) -> list[tuple[int, ...]]:
    """The slots, each once, in groups that one call can read."""
    unique = tuple(dict.fromkeys(slots))
    return [unique[at : at + WORDS_PER_CALL] for at in range(0, len(unique), WORDS_PER_CALL)]


def read_words(pool_manager: Address, slots: Sequence[int]) -> Call:
    # Spelled out for speed: a monitor asks for tens of thousands of words a poll.
    data = [selector(EXTSLOAD), _ARRAY_OFFSET, slot_bytes(len(slots)), *map(slot_bytes, slots)]
    return Call(pool_manager, b"".join(data))


def decode_words(slots: Sequence[int], outcome: CallOutcome) -> dict[int, int]:
    """The value of each slot."""
    data = outcome.data
    header = _ARRAY_OFFSET + slot_bytes(len(slots))
    if not outcome.success or len(data) != len(header) + _WORD * len(slots):
        raise AbiError(f"The PoolManager did not answer with {len(slots)} storage words.")
    if not data.startswith(header):
        raise AbiError("The PoolManager's storage words are not the canonical encoding.")
    starts = range(len(header), len(data), _WORD)
    return {
        slot: int.from_bytes(data[at : at + _WORD], "big")
        for slot, at in zip(slots, starts, strict=True)
    }
