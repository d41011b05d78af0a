"""What a protocol must say of its bytes: how each request becomes a recipe."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from chain.execution.plan.facts import ChainFacts, PoolFacts, PositionFacts
from chain.execution.plan.protocol import StandingCall
from chain.execution.plan.recipe import Change, Recipe
from chain.execution.plan.requests import (
    CloseRequest,
    CollectRequest,
    CompoundRequest,
    DecreaseRequest,
    IncreaseRequest,
    QuotedSwap,
)
from chain.math.drift import Span
from chain.math.liquidity import Amounts

SmallChange = CloseRequest | CollectRequest | DecreaseRequest | CompoundRequest
"""What is done with one position and leaves nothing open, so that others may follow."""


NO_ROUTER = (
    "No UniversalRouter is known on {}, so nothing can be swapped. "
    "Choose a range that needs no swap."
)


class Entry(NamedTuple):
    """What is entered, and with what."""

    pool: PoolFacts
    span: Span
    funds: Amounts
    swap: QuotedSwap | None = None
    sure: Amounts | None = None
    """Of the funds, what is sure to have been paid before; None where all is in the wallet."""
    liquidity: int | None = None
    """None is as much as the funds are sure to pay for."""
    native: bool = False
    """Whether the coin itself is sent along for its wrapped form."""


class ProtocolWriter(ABC):
    """How bytes of one protocol are made."""

    name: ClassVar[str]

    @abstractmethod
    def change(self, request: SmallChange, facts: ChainFacts) -> Change: ...

    @abstractmethod
    def carried_out(self, changes: Sequence[Change], facts: ChainFacts) -> Sequence[Recipe]:
        """All of them in their order, in one call where their manager takes them all."""

    @abstractmethod
    def unsubscribe(self, position: PositionFacts, facts: ChainFacts) -> Recipe: ...

    @abstractmethod
    def add(self, request: IncreaseRequest, facts: ChainFacts) -> Recipe: ...

    @abstractmethod
    def move(
        self, position: PositionFacts, span: Span, facts: ChainFacts, liquidity: int | None
    ) -> Recipe:
        """Leave one range and enter another of the same pool at one price."""

    @abstractmethod
    def enter(self, entry: Entry, facts: ChainFacts) -> list[Recipe]:
        """Open a position, after a swap where there is one."""

    @abstractmethod
    def swap(self, swap: QuotedSwap, facts: ChainFacts) -> Recipe: ...

    @abstractmethod
    def standing_call(self, order: StandingCall) -> bytes:
        """The one call that does it whenever it is made; it takes nothing out of the wallet."""
