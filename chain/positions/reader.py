"""Positions by their token ids, each read whole at one block."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, TypeAlias

from chain.abi import AbiError
from chain.hooks import NO_HOOK
from chain.positions.custody import CALLS_PER_TOKEN, custody_calls, decode_custody
from chain.positions.identity import PositionIdentity, identify, layout_of
from chain.positions.one_block import OneBlock, expected
from chain.positions.snapshot import PoolSnapshot, PositionSnapshot, pool_snapshot
from chain.positions.snapshot import position_snapshot as snapshot_of
from chain.positions.words import decode_words, read_words, word_chunks
from chain.rpc import requests

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from chain.multicall import Call, CallOutcome
    from chain.networks import Address, Network
    from chain.pool_key import PoolId
    from chain.positions.custody import Custody
    from chain.positions.memory import PositionMemory
    from chain.positions.one_block import Answers
    from chain.rpc.client import RpcClient
    from chain.rpc.requests import Request
    from chain.rpc.types import BlockRef


async def read_positions(
    client: RpcClient,
    network: Network,
    memory: PositionMemory,
    token_ids: Iterable[int],
    *,
    at: BlockRef = "latest",
) -> dict[int, PositionSnapshot]:
    """Snapshots of those tokens that exist, all at one block.

    One request when the positions are remembered, two when they are met for the first time.
    """
    gathering = Gathering(OneBlock(client, network, at), network, memory)
    await gathering.complete(token_ids)
    return gathering.snapshots()


AlsoWords: TypeAlias = "Callable[[Collection[PositionIdentity]], Iterable[int]]"
"""Storage words somebody else wants read at the same block, once the positions are known."""


def no_more_words(_: Collection[PositionIdentity]) -> Iterable[int]:
    return ()


class Gathering:
    """What has been read of a set of positions at one block, and what is still missing."""

    def __init__(
        self,
        at: OneBlock,
        network: Network,
        memory: PositionMemory,
        also: AlsoWords = no_more_words,
    ) -> None:
        self.at = at
        self._also = also
        self.custody: dict[int, Custody] = {}
        self._pool_manager = network.contracts.pool_manager
        self._position_manager = network.contracts.position_manager
        self._memory = memory
        self._identities: dict[int, PositionIdentity] = {}
        self._mistaken: set[int] = set()
        self._words: dict[int, int] = {}
        self._hook_codes: dict[Address, bytes] = {}

    async def complete(self, token_ids: Iterable[int]) -> None:
        """Ask for what is missing until nothing is."""
        wanted = list(token_ids)
        while not self._has(wanted):
            await self.advance(wanted)

    async def advance(
        self,
        token_ids: Iterable[int],
        calls: Sequence[Call] = (),
        beside: Sequence[Request[object]] = (),
    ) -> Answers:
        """One step: what can be asked now about these tokens, and the caller's own questions."""
        wanted = list(token_ids)
        self._recall(wanted)
        unheld = [token_id for token_id in wanted if token_id not in self.custody]
        chunks = word_chunks(self._missing_words(wanted))
        hooks = self._missing_hooks(wanted)
        asked = [
            *calls,
            *(call for token_id in unheld for call in self._custody_calls(token_id)),
            *(read_words(self._pool_manager, chunk) for chunk in chunks),
        ]
        codes = [requests.code(hook, self.at.ref) for hook in hooks]
        answers = await self.at.read(asked, (*beside, *codes))

        outcomes = answers.outcomes
        held_until = len(calls) + CALLS_PER_TOKEN * len(unheld)
        for chunk, outcome in zip(chunks, outcomes[held_until:], strict=True):
            self._words.update(decode_words(chunk, outcome))
        self._take_custody(unheld, outcomes[len(calls) : held_until])
        for hook, code in zip(hooks, answers.beside[len(beside) :], strict=True):
            self._hook_codes[hook] = expected(code, bytes)
        return type(answers)(outcomes[: len(calls)], answers.beside[: len(beside)])

    @property
    def words(self) -> Mapping[int, int]:
        """Every storage word of the PoolManager that was read."""
        return self._words

    def snapshots(self) -> dict[int, PositionSnapshot]:
        """Every position that was gathered and exists, by token id."""
        pools: dict[PoolId, PoolSnapshot] = {}
        found: dict[int, PositionSnapshot] = {}
        manager, words, block = self._position_manager, self._words, self.at.block
        for token_id in sorted(self._identities):
            identity = self._identities[token_id]
            pool = pools.get(identity.pool_id)
            if pool is None:
                code = self._hook_codes.get(identity.pool_key.hooks)
                pool = pools[identity.pool_id] = pool_snapshot(identity, manager, words, code)
            found[token_id] = snapshot_of(
                identity, manager, words, block=block, pool=pool, custody=self.custody[token_id]
            )
        return found

    def _recall(self, token_ids: Sequence[int]) -> None:
        unmet = [
            token_id
            for token_id in token_ids
            if token_id not in self._identities
            and token_id not in self.custody
            and token_id not in self._mistaken
        ]
        self._identities.update(self._memory.identities(unmet))

    def _custody_calls(self, token_id: int) -> tuple[Call, ...]:
        return custody_calls(
            self._position_manager, token_id, with_pool_key=token_id not in self._identities
        )

    def _take_custody(self, token_ids: Sequence[int], outcomes: Sequence[CallOutcome]) -> None:
        met: list[PositionIdentity] = []
        for index, token_id in enumerate(token_ids):
            at = index * CALLS_PER_TOKEN
            custody = decode_custody(outcomes[at : at + CALLS_PER_TOKEN])
            remembered = self._identities.get(token_id)
            if custody.owner is None:
                self._identities.pop(token_id, None)
            elif custody.pool_key is not None:
                info = custody.info
                identity = identify(token_id, custody.pool_key, info.tick_lower, info.tick_upper)
                if not identity.agrees_with(info):
                    raise AbiError(f"The pool key told for position {token_id} is not its own.")
                self._identities[token_id] = identity
                met.append(identity)
            elif remembered is not None and not remembered.agrees_with(custody.info):
                # Another chain, or another history of this one, gave the token id to another
                # position: ask again, this time with its pool.
                self._mistaken.add(token_id)
                del self._identities[token_id]
                continue
            self.custody[token_id] = custody
        self._memory.remember(met)

    def _missing_words(self, token_ids: Iterable[int]) -> list[int]:
        words, manager = self._words, self._position_manager
        own = (
            slot
            for token_id in token_ids
            if token_id in self._identities
            for slot in layout_of(self._identities[token_id], manager).slots
        )
        also = self._also(self._identities.values())
        return [slot for slot in itertools.chain(own, also) if slot not in words]

    def _missing_hooks(self, token_ids: Iterable[int]) -> list[Address]:
        hooks = {
            self._identities[token_id].pool_key.hooks
            for token_id in token_ids
            if token_id in self._identities
        }
        return sorted(hooks - self._hook_codes.keys() - {NO_HOOK})

    def _has(self, token_ids: Sequence[int]) -> bool:
        return (
            all(token_id in self.custody for token_id in token_ids)
            and not self._missing_words(token_ids)
            and not self._missing_hooks(token_ids)
        )
