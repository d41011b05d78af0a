"""Made-up money on the market that is read."""

from chain.exchange.orders.venue import Venue, VenueEntry, VenueOpening
from chain.exchange.public.market import VenueAbilities

ABILITIES = VenueAbilities(groups=True, made_up=True)


def _open(opening: VenueOpening) -> Venue:
    from chain.exchange.orders.venues.paper.venue import PaperTerms, PaperVenue

    terms = PaperTerms(start_usd=opening.paper_usd or PaperTerms().start_usd)
    return PaperVenue(opening.paper, opening.market, terms)


ENTRIES = (
    VenueEntry(
        name="paper",
        title="Paper",
        what="made-up money on the market that is read",
        abilities=ABILITIES,
        open=_open,
        prompts=None,
    ),
)
