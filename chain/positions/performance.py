"""What positions did since they were opened and do a day: the slower reads behind an overview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.quantity import Quantity, Unknown, combine
from chain.history.hour_memory import HourMemory
from chain.positions.change_memory import ChangeMemory
from chain.positions.change_reader import ChangeReader
from chain.positions.daily import DailyResult, read_daily_results

if TYPE_CHECKING:
    from chain.positions.overview import Sources
    from chain.positions.profit import SinceEntry
    from chain.positions.snapshot import PositionSnapshot
    from chain.prices.price import PriceBook, WorthUnit
    from chain.tokens import Token


class Performance(Struct, frozen=True):
    accounts: Mapping[int, SinceEntry]
    daily: Mapping[int, DailyResult]


class Gains(Struct, frozen=True):
    """In the unit a person counts in, at present prices."""

    against_holding: Quantity[Fraction]
    fees_a_day: Quantity[Fraction]
    lvr_a_day: Quantity[Fraction]
    net_a_day: Quantity[Fraction]


async def read_performance(sources: Sources, snapshots: Sequence[PositionSnapshot]) -> Performance:
    client, network, store = sources.client, sources.network, sources.store
    changes = ChangeMemory(store, network, sources.clock)
    accounts = await ChangeReader(client, network, sources.memory, changes).since_entry(snapshots)
    hours = HourMemory(store, network, sources.clock)
    daily = await read_daily_results(client, network, snapshots, accounts, memory=hours)
    return Performance(accounts, daily)


def gains(
    account: SinceEntry, daily: DailyResult, token1: Token, prices: PriceBook, unit: WorthUnit
) -> Gains:
    """Everything a position won or lost is told in currency1; this is what that is worth."""

    def valued(amount: Quantity[Fraction]) -> Quantity[Fraction]:
        if token1.decimals is None:
            return Unknown(f"{token1.label} gives no usable decimals")
        whole = Fraction(1, 10**token1.decimals)
        price = prices.price(token1.address, unit)
        return combine(lambda units, each: units * each * whole, amount, price)

    return Gains(
        against_holding=valued(account.against_holding),
        fees_a_day=valued(combine(lambda net, lvr: net + lvr, daily.net, daily.lvr)),
        lvr_a_day=valued(daily.lvr),
        net_a_day=valued(daily.net),
    )
