"""What sets one kind of standing order apart from another; nobody else asks which one it is."""

from typing import NamedTuple

from chain.execution.plan.protocol import OrderKind


class KindTraits(NamedTuple):
    code: int
    """In the seal."""
    command: str
    """Behind `zuno order`."""
    doing: str
    """As a sentence begins."""
    fees: bool = False
    """Whether it waits for fees, and may be made as often as it was signed for."""
    sized: bool = True
    """Whether the size it was signed for is part of what was signed."""
    takes: bool = False
    """Whether it takes out the position, all of it, and says the least that comes."""
    shifts: bool = False
    """Whether it puts everything into another range."""


TRAITS: dict[OrderKind, KindTraits] = {
    "close": KindTraits(1, "close", "Close", takes=True),
    "collect": KindTraits(2, "collect", "Collect the fees of", fees=True, sized=False),
    "compound": KindTraits(3, "compound", "Compound", fees=True, sized=False),
    "move": KindTraits(4, "move", "Move", shifts=True),
    "follow": KindTraits(5, "move", "Move", shifts=True),
}
