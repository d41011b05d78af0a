"""Asking one block about positions until nothing is missing."""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from chain.contracts.abi import AbiError
from chain.contracts.hooks import NO_HOOK
from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import PoolId
from chain.contracts.storage import PositionInfo
from chain.positions import custody
from chain.positions.custody import Custody
from chain.positions.memory import PositionMemory
from chain.positions.snapshot import (
    PoolSnapshot,
    PositionIdentity,
    PositionSnapshot,
    identify,
    layout_of,
    pool_snapshot,
    position_snapshot,
)
from chain.positions.v3.reader import V3Reader
from chain.protocols.reference import PositionRef, is_v3, position_name, v4_token_id
from chain.read.block_reader import (
    Answers,
    OneBlock,
    decode_words,
    expected,
    read_words,
    sound_answers,
    word_chunks,
)
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.records import BlockRef
from chain.rpc.requests import Call, CallOutcome, Request


async def read_positions(
    client: RpcClient,
    network: Network,
    memory: PositionMemory,
    refs: Iterable[PositionRef],
    *,
    at: BlockRef = "latest",
) -> dict[PositionRef, PositionSnapshot]:
    """Snapshots of those tokens of v4 that exist, all at one block.

    What is built, judged and signed is read here, so positions of v3 are not.
    """
    of_v4 = [ref for ref in refs if not is_v3(ref)]
    return await read_of_both(client, network, memory, of_v4, at=at) if of_v4 else {}


async def read_of_both(
    client: RpcClient,
    network: Network,
    memory: PositionMemory,
    refs: Iterable[PositionRef],
    *,
    at: BlockRef = "latest",
) -> dict[PositionRef, PositionSnapshot]:
    """Those that exist, by number, all at one block.

    One request when the positions are remembered, two when they are met for the first time.
    """
    gathering = BatchReader(OneBlock(client, network, at), network, memory)
    await gathering.complete(refs)
    return gathering.snapshots()


AlsoWords: TypeAlias = "Callable[[Collection[PositionIdentity], Sequence[Address]], Iterable[int]]"
"""Storage words somebody else wants read at the same block, once the positions are known.

They are those of v4, and the tokens that positions of v3 are made of.
"""

Question: TypeAlias = "tuple[Call, Callable[[CallOutcome], None]]"
"""A call, and what to do with its outcome."""


def no_more_words(_: Collection[PositionIdentity], _tokens: Sequence[Address]) -> Iterable[int]:
    return ()


class BatchReader:
    """What has been read of a set of positions at one block, and what is still missing.

    First it must be known which pool a position is in; then where to find its numbers. Positions
    met before are asked both at once, and the answer proves that they are what was remembered.
    """

    def __init__(
        self,
        at: OneBlock,
        network: Network,
        memory: PositionMemory,
        also: AlsoWords = no_more_words,
    ) -> None:
        self.at = at
        self._also = also
        self._pool_manager = network.contracts.pool_manager
        self._position_manager = network.contracts.position_manager
        self._memory = memory
        self._subscribed = memory.subscribed()
        self._identities: dict[PositionRef, PositionIdentity] = {}
        self._mistaken: set[PositionRef] = set()
        self._owners: dict[PositionRef, Address | None] = {}
        self._infos: dict[PositionRef, PositionInfo | None] = {}
        self._approved: dict[PositionRef, Address | None] = {}
        self._subscribers: dict[PositionRef, Address | None] = {}
        self._words: dict[int, int] = {}
        self._hook_codes: dict[Address, bytes] = {}
        self.v3 = None if network.v3 is None else V3Reader(network, network.v3, memory)

    async def complete(self, refs: Iterable[PositionRef]) -> None:
        """Ask for what is missing until nothing is, and remember what was met."""
        named = list(refs)
        wanted = [ref for ref in named if not is_v3(ref)]
        if self.v3 is not None:
            self.v3.name(named)
        while (
            any(True for _ in self._questions(wanted))
            or self._missing_hooks(wanted)
            or self._missing_of_v3()
        ):
            await self.advance(wanted)
        if self.v3 is not None:
            self.v3.remember()
        self._memory.remember(self._identities.values())
        self._memory.remember_subscribed(
            {ref for ref in wanted if self._subscribers.get(ref)}, out_of=wanted
        )

    async def advance(
        self,
        refs: Iterable[PositionRef],
        calls: Sequence[Call] = (),
        beside: Sequence[Request[object]] = (),
    ) -> Answers:
        """One step: all that can be asked now about these tokens, and the caller's questions."""
        wanted = list(refs)
        unmet = [
            ref
            for ref in wanted
            if ref not in self._identities and ref not in self._infos and ref not in self._mistaken
        ]
        self._identities.update(self._memory.identities(unmet))
        questions = list(self._questions(wanted))
        hooks = self._missing_hooks(wanted)
        codes = [requests.code(hook, self.at.ref) for hook in hooks]
        if self.v3 is not None:
            questions += [(call, partial(self.v3.take, call)) for call in self._missing_of_v3()]
        answers = await self.at.read([*calls, *(call for call, _ in questions)], [*beside, *codes])
        with sound_answers():
            for (_, take), outcome in zip(questions, answers.outcomes[len(calls) :], strict=True):
                take(outcome)
        for hook, code in zip(hooks, answers.beside[len(beside) :], strict=True):
            self._hook_codes[hook] = expected(code, bytes)
        return Answers(answers.outcomes[: len(calls)], answers.beside[: len(beside)])

    def put_v3_off(self) -> None:
        """Leave positions of v3 for the next reading, which begins with what is known of them."""
        if self.v3 is not None:
            with sound_answers():
                self.v3.remember()
            self.v3 = None

    @property
    def words(self) -> Mapping[int, int]:
        """Every storage word of the PoolManager that was read."""
        return self._words

    def snapshots(self) -> dict[PositionRef, PositionSnapshot]:
        """Every position that was gathered and exists, by its number."""
        pools: dict[PoolId, PoolSnapshot] = {}
        found: dict[PositionRef, PositionSnapshot] = {}
        if self.v3 is not None:
            with sound_answers():
                found |= self.v3.snapshots(self.at.block)
        manager, words, block = self._position_manager, self._words, self.at.block
        for ref in sorted(self._identities):
            identity, owner = self._identities[ref], self._owners[ref]
            if owner is None:
                continue
            pool = pools.get(identity.pool_id)
            if pool is None:
                code = self._hook_codes.get(identity.pool_key.hooks)
                pool = pools[identity.pool_id] = pool_snapshot(identity, manager, words, code)
            held = Custody(owner, self._approved[ref], self._subscribers.get(ref))
            found[ref] = position_snapshot(
                identity, manager, words, block=block, pool=pool, custody=held
            )
        return found

    def _missing_of_v3(self) -> list[Call]:
        if self.v3 is None:
            return []
        with sound_answers():
            return self.v3.missing()

    def _questions(self, refs: Sequence[PositionRef]) -> Iterator[Question]:
        for ref in refs:
            identity = self._identities.get(ref)
            if ref not in self._owners:
                yield self._ask(custody.OWNER, ref), partial(self._take_owner, ref)
            if ref not in self._infos:
                selector = custody.POOL_AND_INFO if identity is None else custody.INFO
                yield self._ask(selector, ref), partial(self._take_info, ref)
            if identity is None:
                continue
            if ref not in self._approved:
                yield self._ask(custody.APPROVED, ref), partial(self._take_approved, ref)
            if ref not in self._subscribers and self._may_have_subscriber(ref):
                taken = partial(self._take_subscriber, ref)
                yield self._ask(custody.SUBSCRIBER, ref), taken
        for chunk in word_chunks(self._missing_words(refs)):
            yield read_words(self._pool_manager, chunk), partial(self._take_words, chunk)

    def _ask(self, selector: bytes, ref: PositionRef) -> Call:
        return custody.about(self._position_manager, selector, v4_token_id(ref))

    def _may_have_subscriber(self, ref: PositionRef) -> bool:
        info = self._infos.get(ref)
        return ref in self._subscribed if info is None else info.has_subscriber

    def _take_owner(self, ref: PositionRef, outcome: CallOutcome) -> None:
        self._owners[ref] = custody.decode_owner(outcome)

    def _take_approved(self, ref: PositionRef, outcome: CallOutcome) -> None:
        self._approved[ref] = custody.decode_address(outcome)

    def _take_subscriber(self, ref: PositionRef, outcome: CallOutcome) -> None:
        self._subscribers[ref] = custody.decode_address(outcome)

    def _take_words(self, slots: Sequence[int], outcome: CallOutcome) -> None:
        self._words.update(decode_words(slots, outcome))

    def _take_info(self, ref: PositionRef, outcome: CallOutcome) -> None:
        key, info = custody.decode_info(outcome)
        remembered = self._identities.get(ref)
        if info is None:
            self._identities.pop(ref, None)
        elif key is not None:
            identity = identify(ref, key, info.tick_lower, info.tick_upper)
            if not identity.agrees_with(info):
                raise AbiError(
                    f"The pool key told for position {position_name(ref)} is not its own."
                )
            self._identities[ref] = identity
        elif remembered is not None and not remembered.agrees_with(info):
            # Another chain, or another history of this one, gave the token id to another
            # position: ask again, this time with its pool.
            self._mistaken.add(ref)
            del self._identities[ref]
            return
        self._infos[ref] = info

    def _missing_words(self, refs: Iterable[PositionRef]) -> list[int]:
        words, manager = self._words, self._position_manager
        own = (
            slot
            for ref in refs
            if ref in self._identities
            for slot in layout_of(self._identities[ref], manager).slots
        )
        also = self._also(self._identities.values(), () if self.v3 is None else self.v3.tokens)
        return [slot for slot in itertools.chain(own, also) if slot not in words]

    def _missing_hooks(self, refs: Iterable[PositionRef]) -> list[Address]:
        hooks = {self._identities[ref].pool_key.hooks for ref in refs if ref in self._identities}
        return sorted(hooks - self._hook_codes.keys() - {NO_HOOK})
