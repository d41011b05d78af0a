"""The whole desk in a line: worth, the day's result, fees, ranges, ether, gas, a week's trend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.quantity import Quantity, Unknown
from chain.base.units import DAY, HOUR
from chain.prices.price import WorthUnit
from zuno_tui.present.views import GlanceView
from zuno_tui.present.words import money, round_usd

if TYPE_CHECKING:
    from chain.positions.overview import Overview
    from zuno_tui.present.position import Won

_GWEI = 10**9


class WorthSample(Struct, frozen=True):
    time: int
    """By the network's clock."""
    worth: float
    """In the unit the desk counts in."""
    ether: float | None = None
    """What an ether was worth in dollars; None where nobody knew."""


def glance_of(
    overview: Overview, won: Mapping[int, Won], samples: Sequence[WorthSample]
) -> GlanceView:
    whole, block = overview.portfolio, overview.wallet.block
    held = [position for position in overview.wallet.positions if position.liquidity]
    inside = sum(one.in_range for one in held)
    day = _day([won[one.token_id].net for one in held if one.token_id in won])
    return GlanceView(
        worth=_rounded(whole.total, whole.unit),
        day=_day_words(day, whole.unit),
        day_tone="dim" if day is None else "bad" if day < 0 else "good",
        fees=_rounded(whole.fees, whole.unit),
        in_range=f"{inside} of {len(held)} in range" if held else "",
        all_in=inside == len(held),
        ether=_ether(overview.prices.ether),
        ether_change=ether_change(samples),
        gas="" if block.base_fee_per_gas is None else f"{block.base_fee_per_gas / _GWEI:.3g} gwei",
        trend=tuple(sample.worth for sample in samples),
    )


def ether_change(samples: Sequence[WorthSample]) -> str:
    """Against a day ago, or against the oldest that is known of the day; at least an hour."""
    priced = [sample for sample in samples if sample.ether]
    if not priced:
        return ""
    newest = priced[-1]
    day = [one for one in priced if newest.time - one.time <= DAY + HOUR]
    since = newest.time - day[0].time
    if since < HOUR or not newest.ether or not day[0].ether:
        return ""
    part = newest.ether / day[0].ether - 1
    return f"{'▲' if part >= 0 else '▼'}{abs(100 * part):.1f}% {round(since / HOUR)} h"


def _day(nets: Sequence[Fraction | None]) -> Fraction | None:
    """Of the positions of which it is known; None where it is of none."""
    known = [net for net in nets if net is not None]
    return sum(known, Fraction(0)) if known else None


def _day_words(day: Fraction | None, unit: WorthUnit) -> str:
    if day is None:
        return ""
    text = _rounded(day, unit)
    return f"{text if day < 0 else f'+{text}'} in 24 h"


def _rounded(value: Fraction, unit: WorthUnit) -> str:
    """As one says it: the rows below have the cents."""
    return round_usd(float(value)) if unit is WorthUnit.USD else money(value, unit)


def _ether(price: Quantity[Fraction]) -> str:
    return "" if isinstance(price, Unknown) else f"ETH {round_usd(float(price.value))}"
