"""The whole desk in a line: worth, the day's result, fees, ranges, ether, gas."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.units import DAY, HOUR, Quantity, Unknown
from chain.positions.overview import Portfolio
from chain.prices.price import WorthUnit
from zuno_tui.present.views import GlanceView
from zuno_tui.present.words import money_figure, round_usd

if TYPE_CHECKING:
    from chain.positions.overview import Overview

_GWEI = 10**9


class EtherSample(Struct, frozen=True):
    time: int
    """By the network's clock."""
    dollars: float


class DayGain(Struct, frozen=True):
    """What the last closed hours brought all positions, those that are closed by now included."""

    gained: Fraction
    """By prices and fees; what was put in or taken out is no gain."""
    fees: Fraction
    hours: int
    by_hour: tuple[tuple[int, Fraction, Fraction], ...] = ()
    """When an hour began, what it gained, and the fees in that; oldest first."""


def glance_of(
    overview: Overview,
    day: DayGain | None,
    samples: Sequence[EtherSample],
    idle: Fraction | None,
    by_day: tuple[tuple[str, float], ...] = (),
) -> GlanceView:
    """`idle` is what lies in the wallet beside the positions; None where it was not read yet."""
    whole, block = overview.portfolio, overview.wallet.block
    held = [position for position in overview.wallet.positions if position.liquidity]
    inside = sum(snapshot.in_range for snapshot in held)
    return GlanceView(
        worth=_rounded(whole.total + (idle or 0), whole.unit),
        beside="" if idle is None else f"positions {_rounded(whole.total, whole.unit)}",
        wallet="" if idle is None else f"wallet {_rounded(idle, whole.unit)}",
        day=_day_words(day, whole.unit),
        day_tone="dim" if day is None else "bad" if day.gained < 0 else "good",
        fees=_rounded(whole.fees, whole.unit),
        apart=_apart(whole),
        in_range=f"{inside}/{len(held)} in range{_empty_words(overview)}" if held else "",
        all_in=inside == len(held),
        ether=_ether(overview.prices.ether),
        ether_change=ether_change(samples),
        gas="" if block.base_fee_per_gas is None else f"{block.base_fee_per_gas / _GWEI:.3g} gwei",
        by_hour=()
        if day is None
        else tuple((float(at), float(gained), float(fees)) for at, gained, fees in day.by_hour),
        by_day=by_day,
    )


def _apart(whole: Portfolio) -> str:
    parts = (whole.withdrawn, "withdrawn"), (whole.undivided, "waiting")
    return "".join(f", {_rounded(part, whole.unit)} {words}" for part, words in parts if part)


def ether_change(samples: Sequence[EtherSample]) -> str:
    """Against a day ago, or against the oldest that is known of the day; at least an hour."""
    if not samples:
        return ""
    newest = samples[-1]
    oldest = next(sample for sample in samples if newest.time - sample.time <= DAY + HOUR)
    since = newest.time - oldest.time
    if since < HOUR or not oldest.dollars:
        return ""
    part = newest.dollars / oldest.dollars - 1
    return f"{'▲' if part >= 0 else '▼'}{abs(100 * part):.1f}% {round(since / HOUR)} h"


def _day_words(day: DayGain | None, unit: WorthUnit) -> str:
    if day is None:
        return ""
    text = _rounded(day.gained, unit)
    gained = text if day.gained < 0 else f"+{text}"
    return f"{gained} in {day.hours} h ({_rounded(day.fees, unit)} fees)"


def _rounded(value: Fraction, unit: WorthUnit) -> str:
    """As one says it: the rows below have the cents."""
    if unit is WorthUnit.USD:
        return round_usd(float(value))
    return f"{money_figure(value, unit)} {unit.value.upper()}"


def _ether(price: Quantity[Fraction]) -> str:
    return "" if isinstance(price, Unknown) else f"ETH {round_usd(float(price.value))}"


def _empty_words(overview: Overview) -> str:
    """Those that the list shows besides: they hold nothing, and are neither in nor out."""
    empty = sum(not position.liquidity for position in overview.wallet.positions)
    return f", {empty} empty" if empty else ""
