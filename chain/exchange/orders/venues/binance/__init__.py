"""Binance's USD-margined futures, with real money and in its demo trading."""

from functools import partial

from chain.exchange.orders.venue import Venue, VenueEntry, VenueOpening
from chain.exchange.public.market import VenueAbilities

ABILITIES = VenueAbilities(streams=True)
DEMO_URL = "https://demo-fapi.binance.com"
DEMO_STREAM_URL = "wss://fstream.binancefuture.com"


def _open(name: str, opening: VenueOpening) -> Venue:
    from chain.exchange.orders.venues.binance.venue import BinanceVenue

    market, url = opening.market, opening.base_url
    return BinanceVenue(f"{name}:{market.name}", market, opening.keys, base_url=url)


ENTRIES = (
    VenueEntry(
        name="live",
        title="Binance, live",
        what="your account at Binance, with real money",
        abilities=ABILITIES,
        open=partial(_open, "live"),
        keyring="venue:binance:live",
    ),
    VenueEntry(
        name="demo",
        title="Binance, demo",
        what="Binance's demo trading",
        abilities=ABILITIES,
        open=partial(_open, "demo"),
        keyring="venue:binance:demo",
        address=(DEMO_URL, "Binance's demo trading"),
    ),
)
