"""Calls that were run before on a state that never changes, answered from memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from chain.devnet.node.execution import BlockState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.devnet.node.messages import Environment, Message, Outcome

    CallKey = tuple[str, bytes, Message]

MEMORY_BYTES = 64 * 2**20
_ENTRY_BYTES = 1_000
"""About what an entry takes beside its data and output."""


class CallMemory:
    """The outcomes of the latest calls, by block hash, state root and message."""

    def __init__(self, most_bytes: int = MEMORY_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._outcomes: OrderedDict[CallKey, Outcome] = OrderedDict()

    def __len__(self) -> int:
        return len(self._outcomes)

    def get(self, key: CallKey) -> Outcome | None:
        outcome = self._outcomes.get(key)
        if outcome is not None:
            self._outcomes.move_to_end(key)
        return outcome

    def keep(self, key: CallKey, outcome: Outcome) -> None:
        self._outcomes[key] = outcome
        self._bytes += _weight(key, outcome)
        while self._bytes > self._most_bytes:
            self._bytes -= _weight(*self._outcomes.popitem(last=False))


class ReadState(BlockState):
    """The state a block left: read it, call it, never apply to it."""

    def __init__(
        self,
        store: dict[bytes, bytes],
        environment: Environment,
        state_root: bytes,
        ancestors: Sequence[bytes],
        *,
        memory: CallMemory,
        block_hash: str,
    ) -> None:
        super().__init__(store, environment, state_root, ancestors)
        self._memory = memory
        # The head's state can be changed under the same header: the root tells them apart.
        self._moment = (block_hash, state_root)

    def call(self, message: Message, *, time_limit: float | None = None) -> Outcome:
        key = (*self._moment, message)
        outcome = self._memory.get(key)
        if outcome is None:
            outcome = super().call(message, time_limit=time_limit)
            self._memory.keep(key, outcome)
        return outcome


def _weight(key: CallKey, outcome: Outcome) -> int:
    return _ENTRY_BYTES + len(key[2].data) + len(outcome.output)
