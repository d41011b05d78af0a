"""Storage words of the PoolManager, any number of them in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.contracts.abi import AbiError, selector
from chain.contracts.storage import EXTSLOAD, slot_bytes
from chain.rpc.multicall import Call, CallOutcome

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network
    from chain.read.block_reader import OneBlock


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

_WORD = 32
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
