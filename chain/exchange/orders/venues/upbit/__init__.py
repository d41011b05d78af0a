"""Upbit's spot market in won: coins are bought, and what is held is sold."""

from chain.exchange.orders.venue import Venue, VenueEntry, VenueFees, VenueOpening
from chain.exchange.public.market import VenueAbilities

ABILITIES = VenueAbilities(
    spot=True,
    leverage=1.0,
    stops=False,
    streams=True,
    rests=False,
    money="KRW",
    most_order=2_000_000.0,
)


def _open(opening: VenueOpening) -> Venue:
    from chain.exchange.orders.venues.upbit.venue import UpbitVenue

    return UpbitVenue(f"upbit:{opening.market.name}", opening.market, opening.keys)


ENTRIES = (
    VenueEntry(
        name="upbit",
        title="Upbit",
        what="your account at Upbit, spot alone, with real money",
        abilities=ABILITIES,
        open=_open,
        fees=VenueFees(maker=0.0005, taker=0.0005),
        keyring="venue:upbit:live",
    ),
)
