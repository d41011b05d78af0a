"""What a venue can do, as data: rules ask for an ability, never for a venue's name."""

from msgspec import Struct


class VenueAbilities(Struct, frozen=True, kw_only=True):
    spot: bool = False
    """Coins are bought and what is held is sold: nothing is short, nothing pays funding."""
    leverage: float = 3.0
    """The most of one order."""
    stops: bool = True
    """It keeps stops and profits until their price is reached."""
    groups: bool = False
    """It takes an order with its stop and its profit as one, and cancels what is left over."""
    streams: bool = False
    """It tells of an account's orders by itself, so that nobody need ask in between."""
    rests: bool = True
    """An order may wait in its book."""
    money: str = "USD"
    """What the limit of an order is counted in."""
    most_order: float = 2_000.0
