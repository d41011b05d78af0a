"""Asking one block about positions until nothing is missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from chain.contracts.networks import Address, Network
from chain.protocols.reference import PositionRef
from chain.protocols.registry import all_protocols
from chain.protocols.snapshot import PositionIdentity, PositionSnapshot
from chain.protocols.v4.memory import PositionMemory
from chain.read.block_reader import (
    ANSWER_BYTES_PER_REQUEST,
    Answers,
    OneBlock,
    answer_bytes,
    decode_words,
    expect,
    read_words,
    sound_answers,
    word_chunks,
)
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.records import BlockRef
from chain.rpc.requests import Call, CallOutcome, Request

if TYPE_CHECKING:
    from chain.protocols.protocol import AskedCall, PositionReader


async def read_positions(
    client: RpcClient,
    network: Network,
    memory: PositionMemory,
    refs: Iterable[PositionRef],
    *,
    at: BlockRef = "latest",
) -> dict[PositionRef, PositionSnapshot]:
    """Snapshots of those that exist, all at one block.

    One request when the positions are remembered, two when they are met for the first time.
    """
    named = list(refs)
    if not named:
        return {}
    gathering = BatchReader(OneBlock(client, network, at), network, memory)
    await gathering.complete(named)
    return gathering.snapshots()


AlsoWords: TypeAlias = "Callable[[Collection[PositionIdentity], Sequence[Address]], Iterable[int]]"
"""Storage words somebody else wants read at the same block, once the positions are known.

They are those whose pools may tell prices, and the tokens that the others are made of.
"""


def no_more_words(_: Collection[PositionIdentity], _tokens: Sequence[Address]) -> Iterable[int]:
    return ()


_PART_BYTES = ANSWER_BYTES_PER_REQUEST - 100_000
"""The last call of a part may be a long one."""


class BatchReader:
    """What has been read of a set of positions at one block, and what is still missing.

    Whatever the readers of all protocols can ask now goes into one request.
    """

    def __init__(
        self,
        at: OneBlock,
        network: Network,
        memory: PositionMemory,
        also: AlsoWords = no_more_words,
    ) -> None:
        self.at = at
        self._pool_manager = network.contracts.pool_manager
        self._words: dict[int, int] = {}
        self._also = also
        readers = (
            each.reader(network, memory, self._words, self._more) for each in all_protocols()
        )
        found = [reader for reader in readers if reader is not None]
        self._searched = [reader for reader in found if reader.lister is None]
        self.listed = [reader.lister for reader in found if reader.lister is not None]
        """Readers of what managers list."""

    async def complete(self, refs: Iterable[PositionRef]) -> None:
        """Ask for what is missing until nothing is, and remember what was met."""
        named = list(refs)
        for reader in self._readers:
            reader.name(named)
        while self._is_incomplete():
            await self.advance(named)
        for reader in self._readers:
            with sound_answers():
                await reader.finish(self.at.client, self.at.block)
                reader.remember()

    async def advance(
        self,
        refs: Iterable[PositionRef],
        calls: Sequence[Call] = (),
        beside: Sequence[Request[object]] = (),
    ) -> Answers:
        """One step: all that can be asked now about these tokens, and the caller's questions."""
        named = list(refs)
        for reader in self._readers:
            reader.name(named)
        wanted = [each for reader in self._readers for each in reader.codes()]
        codes = [requests.code(address, self.at.ref) for address, _ in wanted]
        told: list[CallOutcome] = []
        extra: list[Request[object]] = [*beside, *codes]
        others: list[object] = []
        asked = chain([(call, told.append) for call in calls], self._asked())
        # No more is put together than one request asks: answers become figures at once.
        while (part := self._next(asked)) or extra:
            answers = await self.at.read([call for call, _ in part], extra)
            others += answers.beside
            extra = []
            with sound_answers():
                for (_, take), outcome in zip(part, answers.outcomes, strict=True):
                    take(outcome)
        for (_, take_code), code in zip(wanted, others[len(beside) :], strict=True):
            take_code(expect(code, bytes))
        return Answers(told, others[: len(beside)])

    def _asked(self) -> Iterator[AskedCall]:
        for reader in self._readers:
            yield from reader.calls()
        for chunk in word_chunks(chain.from_iterable(each.slots() for each in self._readers)):
            yield read_words(self._pool_manager, chunk), partial(self._take_words, chunk)

    def _next(self, asked: Iterator[AskedCall]) -> list[AskedCall]:
        """As many as one answer holds."""
        part: list[AskedCall] = []
        size = 0
        with sound_answers():
            while size < _PART_BYTES and (each := next(asked, None)) is not None:
                part.append(each)
                size += answer_bytes(each[0])
        return part

    def _take_words(self, chunk: tuple[int, ...], outcome: CallOutcome) -> None:
        self._words.update(decode_words(chunk, outcome))

    def put_listed_off(self) -> None:
        """Leave what managers list for the next reading, which begins with what is known of it."""
        with sound_answers():
            for reader in self.listed:
                reader.remember()
        self.listed = []

    @property
    def words(self) -> Mapping[int, int]:
        """Every storage word of the PoolManager that was read."""
        return self._words

    def snapshots(self) -> dict[PositionRef, PositionSnapshot]:
        """Every position that was gathered and exists."""
        found: dict[PositionRef, PositionSnapshot] = {}
        with sound_answers():
            for reader in self._readers:
                found |= reader.snapshots(self.at.block)
        return found

    @property
    def _readers(self) -> list[PositionReader]:
        return [*self._searched, *self.listed]

    def _is_incomplete(self) -> bool:
        with sound_answers():
            return any(
                any(True for _ in reader.calls())
                or any(True for _ in reader.slots())
                or any(True for _ in reader.codes())
                for reader in self._readers
            )

    def _more(self) -> Iterable[int]:
        identities = [each for reader in self._searched for each in reader.identities]
        return self._also(identities, [token for each in self.listed for token in each.tokens])
