"""What orders tell the screen."""

from msgspec import Struct

from chain.protocols.reference import PositionRef
from zuno_tui.desk.events import Event

NEEDS = "needs"
"""The label of the row without which an order is never carried out."""
JUMPS = "jumps"
"""The label of the row that says what no order can bound."""


class OrderApprovalView(Struct, frozen=True):
    """What the typed word would sign."""

    plan_id: str
    hash: str
    word: str
    seconds_left: float
    title: str
    terms: tuple[tuple[str, str], ...]
    recipient: str
    rows: tuple[tuple[str, str], ...]
    needs_passphrase: bool


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


class OrderConfirmationAsked(Event, frozen=True):
    """The page that shows an order and waits for the typed word."""

    approval: OrderApprovalView
