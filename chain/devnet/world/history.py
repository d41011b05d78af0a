"""The week before anybody looks: trades and the demo wallet's doings, block after block."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from chain.devnet.world.demo_life import DemoLife
from chain.devnet.world.founding import found
from chain.devnet.world.pools import POOLS
from chain.devnet.world.visits import closing_times, history_visits
from chain.devnet.world.writing import block_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chain.devnet.node.ledger import Ledger
    from chain.devnet.world.contracts import ContractName
    from chain.devnet.world.demo_life import Event
    from chain.devnet.world.market import Market, Round, Storage, Visit
    from chain.devnet.world.visits import HistorySize
    from chain.devnet.world.writing import Page

    Progress = Callable[[int, int], None]

SURE_SWAPS = 3
"""A visit's arbitrage, and its crowd out and back."""


@dataclass(frozen=True, slots=True)
class History:
    ledger: Ledger
    market: Market
    positions: dict[str, int]
    """Token ids of the demo wallet by the state each is in."""


def write_history(
    codes: Mapping[ContractName, bytes],
    market: Market,
    size: HistorySize,
    progress: Progress | None = None,
) -> History:
    ledger = found(codes, market)
    life = DemoLife(market)
    visits = history_visits(size, market)
    closings = closing_times(size, market)
    trading = Trading(market, size.most_swaps - len(POOLS) * len(closings), len(visits))
    moments: list[Event] = [
        *((visit.time, partial(trading.visit, visit)) for visit in visits),
        *((time, trading.close) for time in closings),
        *life.events(),
    ]
    for done, (time, act) in enumerate(sorted(moments, key=lambda moment: moment[0])):
        if progress is not None:
            progress(done, len(moments))
        with block_at(ledger, time) as page:
            act(page)
    positions = {name: holding.token_id for name, holding in life.holdings.items()}
    return History(ledger, market, positions)


class Trading:
    """Spends the week's swaps: each visit to come is sure of its own, shocks may use the rest."""

    def __init__(self, market: Market, budget: int, visits: int) -> None:
        self._market = market
        self._budget = budget
        self._visits_left = visits
        self._spent = 0

    def plan(self, visit: Visit, state: Storage) -> Round:
        self._visits_left -= 1
        allowed = self._budget - self._spent - self._visits_left * SURE_SWAPS
        planned = self._market.round(state, visit, most_swaps=allowed)
        self._spent += len(planned.swaps)
        return planned

    def visit(self, visit: Visit, page: Page) -> None:
        self._send(page, self.plan(visit, page.state))

    def close(self, page: Page) -> None:
        """Bring all pools to one price, on swaps set aside for it."""
        self._send(page, self._market.closing(page.state, page.timestamp))

    def _send(self, page: Page, round_: Round) -> None:
        for intent in round_.intents:
            page.send(intent)
