"""What a test's own venue need not say itself."""

from chain.exchange.orders.order import VenueOrder
from chain.exchange.orders.venue import AccountCheck, VenueAccount, VenueContracts
from chain.exchange.orders.venues.paper.venue import PaperAccount
from chain.exchange.public.market import VenueAbilities


class PlainVenue:
    name = "test"
    abilities = VenueAbilities()
    late_seconds = 0.0

    @property
    def contracts(self) -> VenueContracts:
        raise AssertionError("nobody looks at contracts here")

    def paper(self) -> PaperAccount:
        raise AssertionError("a test's venue says what it holds")

    async def check(self, _: str) -> AccountCheck:
        return AccountCheck()

    async def parts(self, order: VenueOrder) -> tuple[VenueOrder, ...]:
        return (order,)

    async def account(self) -> VenueAccount:
        held = self.paper()
        positions = tuple(held.positions.values())
        return VenueAccount(self.name, 0.0, held.cash, positions, held.open_orders(), 0.0, 0.0)

    async def close(self) -> None:
        return None
