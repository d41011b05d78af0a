"""A week in the life of the demo wallet: a position in every state a liquidity provider meets."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import Struct, field

from chain.base.units import DAY, HOUR
from chain.contracts.abi import encode_call
from chain.devnet.world.accounts import DEMO_WALLET, NEIGHBOUR, STRANGER, Account
from chain.devnet.world.deployment import CONTRACTS, SUBSCRIBER
from chain.devnet.world.market import (
    HISTORY_ENDS,
    MARKET_OPENS,
    MINUTE,
    SimulatedMarket,
    live_visits,
)
from chain.devnet.world.pools import (
    DYNAMIC,
    ETH_USDC,
    GUARDED,
    SLEEPY,
    STABLE,
    USDC_WBTC,
    WETH_USDC,
    WETH_USDC_LOW,
    DevnetPool,
)
from chain.devnet.world.price_path import MILLITICKS
from chain.devnet.world.providing import (
    ProvidedPosition,
    burn,
    decrease,
    increase,
    liquidity_worth,
    mint,
    transfer,
)
from chain.devnet.world.writing import BlockDraft, UnsignedCall
from chain.math.ticks import nearest_usable_tick

Event = tuple[int, Callable[[BlockDraft], None]]

_EDGE_WIDTH = 700


class Edge(NamedTuple):
    ticks: tuple[int, int]
    leaves: int
    """When the market's trades carry the price out of it."""


class DemoLife(Struct):
    """What the wallet does and when; the path is known, so it can be late or lucky on purpose."""

    market: SimulatedMarket
    holdings: dict[str, ProvidedPosition] = field(default_factory=dict)
    """By the state each is in when the week is over."""

    def events(self) -> list[Event]:
        return sorted(self._events(), key=lambda event: event[0])

    def _events(self) -> Iterator[Event]:
        yield from self._healthy()
        yield from self._left_behind()
        yield from self._ordinary()
        yield from self._gone()
        yield from self._transferred_in()
        yield self._opening("near the edge", WETH_USDC_LOW, self.edge().ticks, 12_000, -150 * 60)

    def _healthy(self) -> Iterator[Event]:
        ticks = self._around_end(WETH_USDC_LOW, 900, 800)
        yield self._opening("healthy", WETH_USDC_LOW, ticks, 24_000, 10 * HOUR)

        def grow(page: BlockDraft) -> None:
            holding = self.holdings["healthy"]
            self.holdings["healthy"] = increase(
                page, DEMO_WALLET, holding, holding.liquidity * 3 // 10
            )

        def shrink(page: BlockDraft) -> None:
            holding = self.holdings["healthy"]
            self.holdings["healthy"] = decrease(page, DEMO_WALLET, holding, holding.liquidity // 4)

        yield MARKET_OPENS + 3 * DAY + 1700, grow
        yield MARKET_OPENS + 5 * DAY + 2900, shrink

    def _left_behind(self) -> Iterator[Event]:
        """Two ranges from the week's extremes outwards, which the price has since left far behind.

        Waiting for its return brings less than going after it, as the price hardly reached them.
        """
        high, low = self.market.path.early_extremes()
        for name, minute, below, above, dollars in (
            ("below its range", high, 90, 1110, 9_000),
            ("above its range", low, 1110, 90, 15_000),
        ):
            centre = WETH_USDC.milliticks(self.market.path.at(minute))
            ticks = _snapped(WETH_USDC, centre, below, above)
            yield self._opening(name, WETH_USDC, ticks, dollars, (minute - 90) * MINUTE)

    def _ordinary(self) -> Iterator[Event]:
        stable = _snapped(STABLE, 0, 10, 10)
        yield self._opening("stable", STABLE, stable, 30_000, 20 * HOUR)
        for name, pool, below, above, dollars, after in (
            ("native", ETH_USDC, 1200, 1400, 18_000, 2 * DAY),
            ("dynamic fee", DYNAMIC, 1500, 1500, 10_000, 2 * DAY + 5 * HOUR),
            ("hooked", GUARDED, 1500, 1300, 6_000, 3 * DAY + 7 * HOUR),
            ("underpaid", SLEEPY, 240, 240, 8_000, -26 * HOUR),
        ):
            yield self._opening(name, pool, self._around_end(pool, below, above), dollars, after)

        def subscribe(page: BlockDraft) -> None:
            token_id = self.holdings["stable"].token_id
            data = encode_call("subscribe(uint256,address,bytes)", token_id, SUBSCRIBER, b"")
            page.send(UnsignedCall(DEMO_WALLET, CONTRACTS.position_manager, data))

        def let_stranger_manage(page: BlockDraft) -> None:
            token_id = self.holdings["native"].token_id
            data = encode_call("approve(address,uint256)", STRANGER.address, token_id)
            page.send(UnsignedCall(DEMO_WALLET, CONTRACTS.position_manager, data))

        yield MARKET_OPENS + 21 * HOUR, subscribe
        yield MARKET_OPENS + 4 * DAY + 2 * HOUR, let_stranger_manage

    def _gone(self) -> Iterator[Event]:
        """One emptied but kept, one burned, one handed on for good."""
        for name, dollars, after in (
            ("emptied", 5_000, 30 * HOUR),
            ("burned", 4_000, 12 * HOUR),
            ("handed on", 3_000, 40 * HOUR),
        ):
            ticks = self._around_end(WETH_USDC, 900, 900)
            yield self._opening(name, WETH_USDC, ticks, dollars, after)

        def empty(page: BlockDraft) -> None:
            holding = self.holdings["emptied"]
            self.holdings["emptied"] = decrease(page, DEMO_WALLET, holding, holding.liquidity)

        yield MARKET_OPENS + 4 * DAY + 900, empty
        yield (
            MARKET_OPENS + 2 * DAY - 500,
            lambda page: burn(page, DEMO_WALLET, self.holdings["burned"]),
        )
        yield self._move("handed on", DEMO_WALLET, NEIGHBOUR, 3 * DAY + 200)

    def _transferred_in(self) -> Iterator[Event]:
        """One that the neighbour gave, took back and gave again."""
        ticks = self._around_end(USDC_WBTC, 1200, 1200)
        yield self._opening("transferred in", USDC_WBTC, ticks, 7_000, 8 * HOUR, owner=NEIGHBOUR)
        yield self._move("transferred in", NEIGHBOUR, DEMO_WALLET, 3 * DAY + 4_000)
        yield self._move("transferred in", DEMO_WALLET, NEIGHBOUR, 4 * DAY + 5_000)
        yield self._move("transferred in", NEIGHBOUR, DEMO_WALLET, 5 * DAY + 7_000)

    def _opening(
        self,
        name: str,
        pool: DevnetPool,
        ticks: tuple[int, int],
        dollars: int,
        after: int,
        *,
        owner: Account = DEMO_WALLET,
    ) -> Event:
        """A mint so many seconds after the market opened, or before the week ends if negative."""
        time = (MARKET_OPENS if after >= 0 else HISTORY_ENDS) + after

        def act(page: BlockDraft) -> None:
            prices = self.market.prices(time)
            liquidity = liquidity_worth(page.state, pool, ticks, dollars, prices)
            self.holdings[name] = mint(page, owner, pool, ticks, liquidity)

        return time, act

    def _move(self, name: str, owner: Account, recipient: Account, after: int) -> Event:
        return MARKET_OPENS + after, lambda page: transfer(
            page, owner, recipient, self.holdings[name]
        )

    def _around_end(self, pool: DevnetPool, below: int, above: int) -> tuple[int, int]:
        return _snapped(pool, pool.milliticks(self.market.prices(HISTORY_ENDS)), below, above)

    def edge(self) -> Edge:
        """The range the price is about to leave: its edge lies where the next hours will go."""
        pool = WETH_USDC_LOW
        now = pool.milliticks(self.market.prices(HISTORY_ENDS))
        # The pool's price is within its fee of the market's, and follows once it is off by nearly
        # twice that: a tick more on either side is sure.
        lag = (pool.fee // 100 + 1) * MILLITICKS
        worth_following = 2 * pool.fee // 100 * MILLITICKS
        for visit in live_visits(self.market, HISTORY_ENDS):
            ahead = pool.milliticks(self.market.prices(visit.time)) - now
            side = 1 if ahead > 0 else -1
            reach = abs(ahead) - worth_following
            edge = nearest_usable_tick((now + side * reach) // MILLITICKS, pool.tick_spacing)
            if lag < side * (edge * MILLITICKS - now) <= reach:
                ticks = (edge - _EDGE_WIDTH, edge) if side > 0 else (edge, edge + _EDGE_WIDTH)
                return Edge(ticks, visit.time)
        raise AssertionError("the market never ends")


def _snapped(pool: DevnetPool, milliticks: int, below: int, above: int) -> tuple[int, int]:
    centre = milliticks // MILLITICKS
    lower, upper = (
        nearest_usable_tick(centre + offset, pool.tick_spacing) for offset in (-below, above)
    )
    return lower, upper
