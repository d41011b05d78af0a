"""A wallet's positions in words, for the pane and the command line alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chain.base.quantity import Quantity, Unknown
from chain.contracts.hooks import Danger
from chain.positions.performance import Performance, gains
from chain.tokens.pair import Pair, pair_of
from zuno_tui.present.range_chart import price_figure
from zuno_tui.present.views import ChartView, PositionRow, PositionsView, Standing, Tone
from zuno_tui.present.words import UNKNOWN, fee_text, money, number, percent, short_gain, worth

if TYPE_CHECKING:
    from agents.monitor.rules.thresholds import WatchSettings
    from chain.contracts.networks import Network
    from chain.positions.overview import Overview, Worth
    from chain.positions.snapshot import PositionSnapshot
    from chain.prices.price import WorthUnit


class Won(Struct, frozen=True):
    """What a position won or lost, which is read less often than the rest."""

    against_holding: str
    tone: Tone
    net_a_day: str
    fee_apr: str = "…"
    gained: float | None = None
    """The same as figures, None where unknown."""
    net: Fraction | None = None
    apr: float | None = None


_NOT_READ_YET = Won("…", "dim", "…")
_DAYS_A_YEAR = 365
_LEAST_GAIN = Fraction(1, 200)
"""What is less is told as nothing."""
_NO_CHARTS: Mapping[int, ChartView] = MappingProxyType({})


def positions_view(
    network: Network,
    overview: Overview,
    won: Mapping[int, Won],
    watching: WatchSettings,
    *,
    read_at: float,
    charts: Mapping[int, ChartView] = _NO_CHARTS,
) -> PositionsView:
    wallet, whole, unit = overview.wallet, overview.portfolio, overview.portfolio.unit
    return PositionsView(
        rows=position_rows(network, overview, won, watching, charts),
        total=money(whole.total, unit),
        fees=money(whole.fees, unit),
        found=f"{wallet.found} of {wallet.balance_of} found",
        block=wallet.block.number,
        read_at=read_at,
    )


def position_rows(
    network: Network,
    overview: Overview,
    won: Mapping[int, Won],
    watching: WatchSettings,
    charts: Mapping[int, ChartView] = _NO_CHARTS,
) -> tuple[PositionRow, ...]:
    worths = {one.token_id: one for one in overview.portfolio.positions}
    return tuple(
        _row(
            network,
            overview,
            position,
            worths[position.token_id],
            won.get(position.token_id, _NOT_READ_YET),
            near_edge=watching.thresholds(network.name, position.token_id).near_edge,
            chart=charts.get(position.token_id),
        )
        for position in overview.wallet.positions
    )


def won_by_position(
    overview: Overview, performance: Performance, unit: WorthUnit
) -> dict[int, Won]:
    return {
        position.token_id: _won(overview, position, performance, unit)
        for position in overview.wallet.positions
    }


def _won(
    overview: Overview, position: PositionSnapshot, performance: Performance, unit: WorthUnit
) -> Won:
    gained = gains(
        performance.accounts[position.token_id],
        performance.daily[position.token_id],
        overview.tokens[position.pool.key.currency1],
        overview.prices,
        unit,
    )
    worths = {one.token_id: one for one in overview.portfolio.positions}
    apr = yearly_fees(gained.fees_a_day, worths[position.token_id].principal)
    return Won(
        short_gain(gained.against_holding, unit),
        gain_tone(gained.against_holding),
        short_gain(gained.net_a_day, unit),
        fee_apr=("–" if not position.liquidity else UNKNOWN) if apr is None else percent(apr),
        gained=number(gained.against_holding),
        net=None if isinstance(gained.net_a_day, Unknown) else gained.net_a_day.value,
        apr=apr,
    )


def yearly_fees(fees_a_day: Quantity[Fraction], principal: Quantity[Fraction]) -> float | None:
    """A day's fees as a share of the position's worth a year."""
    if isinstance(fees_a_day, Unknown) or isinstance(principal, Unknown) or not principal.value:
        return None
    return float(_DAYS_A_YEAR * fees_a_day.value / principal.value)


def _row(
    network: Network,
    overview: Overview,
    position: PositionSnapshot,
    value: Worth,
    won: Won,
    *,
    near_edge: float,
    chart: ChartView | None,
) -> PositionRow:
    pool, ticks = position.pool, (position.identity.tick_lower, position.identity.tick_upper)
    tokens, unit = overview.tokens, overview.portfolio.unit
    pair = pair_of(
        network, tokens[pool.key.currency0], tokens[pool.key.currency1], pool.sqrt_price_x96
    )
    low, high = pair.bounds(*ticks)
    progress = pair.progress(pool.tick, *ticks)
    return PositionRow(
        token_id=position.token_id,
        pair=pair.name,
        fee=fee_text(pool.lp_fee) + ("*" if pool.key.has_dynamic_fee else ""),
        standing=standing(position, progress, near_edge),
        notes=notes(position),
        progress=progress,
        low=low,
        high=high,
        price=pair.price_text(pool.sqrt_price_x96),
        share=percent(position.share) if position.share else "–",
        value=worth(value.principal, unit),
        fees=worth(value.fees, unit),
        against_holding=won.against_holding,
        against_holding_tone=won.tone,
        net_a_day=won.net_a_day,
        fee_apr=won.fee_apr,
        chart=None if chart is None else _until_now(chart, position, pair),
        worth=number(value.principal),
        fees_worth=number(value.fees),
        gained=won.gained,
        apr=won.apr,
    )


def _until_now(chart: ChartView, position: PositionSnapshot, pair: Pair) -> ChartView:
    now, price = position.block.timestamp, price_figure(pair, position.pool.sqrt_price_x96)
    if price is None or now <= chart.times[-1]:
        return chart
    return replace(chart, times=(*chart.times, float(now)), prices=(*chart.prices, price))


def standing(position: PositionSnapshot, progress: float, near_edge: float) -> Standing:
    """Nearer to an edge than this part of the width is near it, as it is to the monitor."""
    if position.liquidity == 0:
        return "empty"
    if not position.in_range:
        return "out of range"
    return "near edge" if min(progress, 1 - progress) < near_edge else "in range"


def state_words(standing: Standing, notes: Iterable[str]) -> str:
    """The state in words: colour never carries it alone."""
    return ", ".join((standing, *notes))


def notes(position: PositionSnapshot) -> tuple[str, ...]:
    custody = position.custody
    told = {
        "hook": position.pool.hook.danger is Danger.DANGEROUS,
        "approved": bool(custody.approved),
        "subscribed": bool(custody.subscriber),
    }
    return tuple(note for note, holds in told.items() if holds)


def gain_tone(gained: Quantity[Fraction]) -> Tone:
    if isinstance(gained, Unknown):
        return "dim"
    if abs(gained.value) < _LEAST_GAIN:
        return "dim"
    return "bad" if gained.value < 0 else "good"
