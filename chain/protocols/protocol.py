"""What a protocol has to tell of itself, so that nobody else need know which one it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from chain.rpc.requests import Call, CallOutcome

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network
    from chain.contracts.pool_key import PoolId, PoolKey
    from chain.protocols.past import PoolLogs, PoolMark, PositionPast, SwapEvent
    from chain.protocols.pool import PoolQuestion, PoolState
    from chain.protocols.reference import PositionRef
    from chain.protocols.snapshot import PositionIdentity, PositionSnapshot
    from chain.protocols.v4.memory import PositionMemory
    from chain.rpc.client import RpcClient
    from chain.rpc.records import Block, Log

AskedCall: TypeAlias = "tuple[Call, Callable[[CallOutcome], None]]"
"""A call, and what to do with its outcome."""
AskedCode: TypeAlias = "tuple[Address, Callable[[bytes], None]]"
"""A contract, and what to do with its code."""


class PositionReader(Protocol):
    """What was told of a protocol's positions at one block, and what is still missing.

    `calls`, `slots` and `codes` are what can be asked now; each answer may make others possible.
    Slots are of the PoolManager, read for all readers at once.
    """

    def name(self, refs: Iterable[PositionRef]) -> None:
        """Read these, whoever owns them; those of other protocols are passed over."""

    def calls(self) -> Iterable[AskedCall]: ...
    def slots(self) -> Iterable[int]: ...
    def codes(self) -> Iterable[AskedCode]: ...

    @property
    def identities(self) -> Collection[PositionIdentity]:
        """Of those whose pools may tell prices."""

    @property
    def lister(self) -> ListingReader | None:
        """Itself, where the manager lists what a wallet holds."""

    async def finish(self, client: RpcClient, block: Block) -> None:
        """Read what the block does not tell, once nothing is missing of what it does."""

    def snapshots(self, block: Block) -> dict[PositionRef, PositionSnapshot]:
        """Every position that was read and exists."""

    def remember(self) -> None:
        """Keep what was met, once nothing is missing."""


class ListingReader(PositionReader, Protocol):
    """One whose manager lists what a wallet holds."""

    def follow(self, owners: Iterable[Address]) -> None:
        """Read all that these wallets hold."""

    @property
    def tokens(self) -> Sequence[Address]:
        """What the positions known so far are made of, each once."""

    def balance(self, owner: Address) -> int:
        """How many tokens a followed wallet has."""


class LiquidityProtocol(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def lists_tokens(self) -> bool:
        """Whether its manager lists what a wallet holds; else it is searched for in logs."""

    @property
    def in_pool_manager(self) -> bool:
        """Whether its pools are words of the PoolManager: those tell prices."""

    @property
    def mints_liquidity(self) -> bool:
        """Whether a mint names its liquidity; else it makes what it can of what it is given."""

    def manager(self, network: Network) -> Address | None:
        """The contract that knows whose a position is; None where the network has none."""

    def has_pool(self, pool_id: PoolId) -> bool:
        """Whether this is how it names a pool."""

    def key(
        self, made_of: tuple[Address, Address, int, int, Address], pool_id: PoolId
    ) -> PoolKey: ...

    def candidates(self, network: Network, tokens: Iterable[Address]) -> tuple[PoolKey, ...]:
        """Every usual pool that may exist between two of these tokens."""

    def state(self, key: PoolKey) -> PoolQuestion[PoolState | None]:
        """None where there is no such pool."""

    def bitmap_word(self, pool_id: PoolId, word: int) -> PoolQuestion[int]: ...

    def net_liquidity(self, pool_id: PoolId, tick: int) -> PoolQuestion[int]:
        """What a tick adds when it is crossed upwards."""

    def mark(self, pool_id: PoolId) -> PoolQuestion[PoolMark]: ...

    def pool_logs(self, network: Network, pools: Sequence[PoolId]) -> PoolLogs: ...

    def swap(self, log: Log, fee_of: Callable[[PoolId], int]) -> SwapEvent:
        """The pool's own fee is asked for where a log does not tell it."""

    def pool_opening(self, log: Log) -> tuple[PoolId, int]:
        """The pool that a log of its beginning is about, and its first price."""

    def reader(
        self,
        network: Network,
        memory: PositionMemory,
        words: Mapping[int, int],
        also: Callable[[], Iterable[int]],
    ) -> PositionReader | None:
        """None where the network has none of it; `words` are those read so far."""

    async def past(
        self,
        client: RpcClient,
        network: Network,
        memory: PositionMemory,
        snapshots: Sequence[PositionSnapshot],
    ) -> dict[PositionRef, PositionPast]:
        """What logs tell of these positions up to their snapshots' block."""
