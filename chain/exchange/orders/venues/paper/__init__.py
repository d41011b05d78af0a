"""Made-up money on the market that is read: an account of perpetuals, and one of coins alone."""

from functools import partial

from chain.exchange.orders.venue import Venue, VenueEntry, VenueFees, VenueOpening
from chain.exchange.public.market import VenueAbilities

NAME, SPOT_NAME = "paper", "paper-spot"
ABILITIES = VenueAbilities(groups=True, made_up=True)
SPOT_ABILITIES = VenueAbilities(groups=True, made_up=True, spot=True, leverage=1.0)
FEES = VenueFees()
SPOT_FEES = VenueFees(maker=0.001, taker=0.001, most_leverage=1.0)
"""Binance's of an ordinary account, as those above."""


def _open(opening: VenueOpening, *, spot: bool) -> Venue:
    from chain.exchange.orders.venues.paper.venue import PaperTerms, PaperVenue

    start = opening.paper_usd or PaperTerms().start_usd
    return PaperVenue(opening.paper, opening.market, PaperTerms(start_usd=start, spot=spot))


ENTRIES = (
    VenueEntry(
        name=NAME,
        title="Paper",
        what="made-up money on the market that is read",
        abilities=ABILITIES,
        open=partial(_open, spot=False),
        prompts=None,
    ),
    VenueEntry(
        name=SPOT_NAME,
        title="Paper spot",
        what="made-up money that buys coins and sells what it holds",
        abilities=SPOT_ABILITIES,
        open=partial(_open, spot=True),
        fees=SPOT_FEES,
        prompts=None,
    ),
)
