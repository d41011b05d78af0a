"""Storage words of the PoolManager and calls beside them, all at one block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain.reading.words import decode_words, read_words, word_chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from chain.multicall import Call, CallOutcome
    from chain.networks import Network
    from chain.reading.one_block import OneBlock


@dataclass(frozen=True, slots=True)
class SlotAnswers:
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
