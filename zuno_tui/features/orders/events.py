"""What orders tell the screen."""

from chain.protocols.reference import PositionRef
from zuno_tui.desk.events import Event


class OrderFormReady(Event, frozen=True):
    """What a person goes by who writes an order for a position."""

    ref: PositionRef
    pair: str
    price: str
    """Now, in the pair's own terms."""
    low: str
    high: str
    unit: str
    """`USDC per WETH`."""
    now: int
    """The network's time."""
    delegated: bool = True
    """Whether the account understands orders."""

    @property
    def facts(self) -> str:
        return f"price {self.price} {self.unit} · range {self.low} to {self.high}"
