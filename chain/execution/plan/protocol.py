"""What a protocol must say of its bytes: how they are read, judged and told."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from chain.contracts.networks import Address, Network
from chain.contracts.pool_key import CalldataPool, PoolKey
from chain.execution.plan.context import PolicyContext
from chain.execution.plan.effects import Effect
from chain.execution.plan.names import Names
from chain.execution.plan.reading import Function
from chain.execution.plan.records import Call, PlainCall, RouterCommand
from chain.math.drift import Span
from chain.math.liquidity import Amounts
from chain.protocols.reference import PositionRef


class CommandForm(NamedTuple):
    read: Callable[[bytes], RouterCommand]
    written: Callable[[Any], bytes]


class Places(NamedTuple):
    """Where a call sends things."""

    recipients: tuple[Address, ...] = ()
    """Who gets tokens or a position in the end."""
    between: tuple[Address, ...] = ()
    """Where tokens are moved to within one transaction, to be used there."""


class GasLimits(NamedTuple):
    least: int
    """What such a call was measured to take: no endpoint sets a limit below it."""
    most: int
    """And none sets one above this."""


OrderKind = Literal["close", "collect", "compound", "move", "follow"]


class StandingEntry(NamedTuple):
    """What a standing order puts back to work."""

    liquidity: int
    most: Amounts
    """Refused where it would take more: so much for the price it is done at."""
    rest: bool = False
    """Whether what is left of the fees follows."""
    pool: PoolKey | None = None
    """Of a new position; None where it is one that is there."""
    span: Span | None = None
    """The range; None where the bytes do not name it."""
    into: PositionRef | None = None
    """The position that takes it in; None where it is the same one, or is opened by that."""


class StandingCall(NamedTuple):
    """All that a call says which another key may make for the owner."""

    kind: OrderKind
    ref: PositionRef
    least: Amounts
    """What taking out must pay, besides what is owed."""
    recipient: Address
    liquidity: int | None
    """What it takes out; None where the bytes take all there is then."""
    currencies: tuple[Address, Address] | None
    """What it pays; None where the bytes name no token."""
    deadline: int | None
    """None where the bytes name no end."""
    entry: StandingEntry | None = None


class ProtocolReader(ABC):
    """How bytes of one protocol are read, judged and told; how they are made it does not know."""

    name: ClassVar[str]
    functions: ClassVar[tuple[Function, ...]]
    """The calls of its manager."""
    commands: ClassVar[Mapping[int, CommandForm]]
    """Those of the UniversalRouter that are its own."""
    direct: ClassVar[bool]
    """Whether its manager moves tokens by their own leave, and not through Permit2."""
    wraps: ClassVar[bool]
    """Whether it takes the coin for its wrapped form, and pays it out as the coin."""

    standing_gas: ClassVar[Mapping[OrderKind, GasLimits]]
    """Of the standing orders there are, with what lets another key make the call."""

    @abstractmethod
    def contracts(self, network: Network) -> dict[Address, str]:
        """All that its plans call or lead to, and what people call them."""

    @abstractmethod
    def manager(self, network: Network) -> Address | None: ...

    @abstractmethod
    def router(self, network: Network) -> Address | None:
        """The UniversalRouter that swaps in its pools."""

    @abstractmethod
    def position(self, token_id: int) -> PositionRef: ...

    @abstractmethod
    def pool_key(self, pool: CalldataPool, network: Network) -> PoolKey:
        """The key of a pool that bytes name."""

    @abstractmethod
    def effects(self, call: PlainCall) -> tuple[Effect, ...]: ...

    @abstractmethod
    def dismissed_positions(self, call: PlainCall) -> tuple[PositionRef, ...]:
        """Positions whose subscriber is dismissed."""

    @abstractmethod
    def places(self, call: PlainCall, sender: Address) -> Places: ...

    @abstractmethod
    def deadlines(self, call: PlainCall) -> Iterator[int]: ...

    @abstractmethod
    def target(self, call: PlainCall, network: Network) -> Address | None:
        """The one contract that the call may be sent to."""

    @abstractmethod
    def standing_call(self, call: PlainCall) -> StandingCall | None:
        """None of a call that no standing order makes."""

    @abstractmethod
    def faults(self, call: Call, value: int, context: PolicyContext) -> Iterator[str]:
        """Why a call of its own must not be signed."""

    @abstractmethod
    def pulls(self, call: PlainCall, context: PolicyContext) -> Iterable[tuple[Address, int]]:
        """What the call may move out of the wallet, by token."""

    @abstractmethod
    def describe(self, call: PlainCall, names: Names) -> Iterator[str]:
        """A sentence for each thing it does."""
