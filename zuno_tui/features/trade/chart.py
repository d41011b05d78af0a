"""The desk's chart as a PNG: candles, cumulated volume delta, funding and the liquidation map."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from time import gmtime, strftime
from typing import TYPE_CHECKING, NamedTuple

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from agents.model.interface import PromptImage
from agents.trade.indicators import largest_pools
from chain.base.home import write_atomically
from zuno_tui.features.trade.hedge_view import entry_price

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from agents.trade.plan import TradePlan
    from agents.trade.services import ChartFacts

_RISES, _FALLS = "#2a9d6f", "#d1495b"
_BODY = 0.35
"""Of an hour, half the width of a candle."""
_HOUR = 3600
_DAY = 24 * _HOUR
_EDGE = 0.02
_FUNDING_HOURS = 4
_NAME_HOURS = 24
"""Left of the first candle and right of the last: names of prices stand there, over none."""
_NAME_HEIGHT = 0.035
"""Of the panel, with which two names stand apart."""
_ON_PAPER = {"boxstyle": "square,pad=0.1", "facecolor": "white", "linewidth": 0}
"""Under a name, so that no line strikes it through."""


class PlannedPrices(NamedTuple):
    """What a plan would trade at; None where it has no such price."""

    entry: float | None
    stop: float | None
    take_profit: float | None


_NOTHING_PLANNED = PlannedPrices(None, None, None)


def trade_chart(facts: ChartFacts, planned: PlannedPrices = _NOTHING_PLANNED) -> bytes:
    """The same facts give the same bytes with the same version of matplotlib."""
    figure = Figure(figsize=(11, 8))
    FigureCanvasAgg(figure)
    # Measured margins: a layout that is solved for takes as long as all the rest.
    grid = figure.add_gridspec(
        3,
        2,
        height_ratios=(4, 1.3, 1),
        width_ratios=(5, 1),
        left=0.085,
        right=0.985,
        top=0.95,
        bottom=0.07,
        hspace=0.08,
        wspace=0.03,
    )
    candles = figure.add_subplot(grid[0, 0])
    delta = figure.add_subplot(grid[1, 0], sharex=candles)
    funding = figure.add_subplot(grid[2, 0], sharex=candles)
    pools = figure.add_subplot(grid[0, 1], sharey=candles)
    _draw_candles(candles, facts)
    _draw_planned(candles, facts, planned)
    _draw_levels(candles, facts)
    _draw_delta(delta, facts)
    _draw_funding(funding, facts)
    _draw_pools(pools, facts)
    for axes in (candles, delta):
        axes.tick_params(labelbottom=False)
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=100, metadata={"Software": None})
    return drawn.getvalue()


def _hours(facts: ChartFacts) -> list[float]:
    """Before the last candle, so that the picture needs no clock."""
    last = facts.candles[-1].time if facts.candles else 0
    return [(candle.time - last) / _HOUR for candle in facts.candles]


def _draw_candles(axes: Axes, facts: ChartFacts) -> None:
    hours = _hours(facts)
    for up, colour in ((True, _RISES), (False, _FALLS)):
        chosen = [
            (at, candle)
            for at, candle in zip(hours, facts.candles, strict=True)
            if (candle.close >= candle.open) is up
        ]
        wicks = [((at, candle.low), (at, candle.high)) for at, candle in chosen]
        bodies = [
            (
                (at - _BODY, candle.open),
                (at - _BODY, candle.close),
                (at + _BODY, candle.close),
                (at + _BODY, candle.open),
            )
            for at, candle in chosen
        ]
        axes.add_collection(LineCollection(wicks, colors=colour, linewidths=0.8))
        axes.add_collection(
            PolyCollection(bodies, facecolors=colour, edgecolors=colour, linewidths=0.6)
        )
    axes.axhline(facts.mark, color="0.2", linewidth=0.8, linestyle="--")
    if facts.candles:
        low = min(candle.low for candle in facts.candles)
        high = max(candle.high for candle in facts.candles)
        edge = (high - low or high) * _EDGE
        axes.set_ylim(low - edge, high + edge)
        axes.set_xlim(hours[0] - _NAME_HOURS, _NAME_HOURS)
    axes.set_title(f"{facts.symbol} · 1 h · mark {facts.mark:,.2f}")


def _draw_planned(axes: Axes, facts: ChartFacts, planned: PlannedPrices) -> None:
    """Entry, stop and profit, and the range in which the hedged position earns."""
    low, high = axes.get_ylim()
    if facts.earning is not None:
        axes.axhspan(*facts.earning, color="#3d5a80", alpha=0.08, zorder=0)
        for name, price in zip(("position low", "position high"), facts.earning, strict=True):
            low, high = min(low, price), max(high, price)
            _draw_price(axes, name, price, "#3d5a80")
    for name, planned_price, colour in (
        ("entry", planned.entry, "0.2"),
        ("stop", planned.stop, _FALLS),
        ("profit", planned.take_profit, _RISES),
    ):
        if planned_price is not None:
            low, high = min(low, planned_price), max(high, planned_price)
            _draw_price(axes, name, planned_price, colour)
    edge = (high - low) * 2 * _EDGE
    axes.set_ylim(low - edge, high + edge)


def _draw_price(axes: Axes, name: str, price: float, colour: str) -> None:
    axes.axhline(price, color=colour, linewidth=1.2)
    axes.annotate(
        f"{name} {price:,.2f}", (0.995, price), xycoords=("axes fraction", "data"),
        fontsize=8, color=colour, ha="right", va="center", fontweight="bold", bbox=_ON_PAPER,
    )  # fmt: skip


def _draw_days(axes: Axes, facts: ChartFacts) -> None:
    """Midnights in UTC, on an axis of hours before the last candle."""
    if not facts.candles:
        return
    last, first = facts.candles[-1].time, facts.candles[0].time
    days = range(first // _DAY * _DAY + _DAY, last + 1, _DAY)
    axes.set_xticks([(day - last) / _HOUR for day in days])
    axes.set_xticklabels([strftime("%d %b", gmtime(day)) for day in days], fontsize=8)


def _draw_levels(axes: Axes, facts: ChartFacts) -> None:
    """A line each; of names that would lie on each other the lower one."""
    drawn = [level for level in facts.levels if not level.name.startswith(("swing", "liquidation"))]
    low, high = axes.get_ylim()
    named = low
    for level in sorted(drawn, key=lambda level: level.price):
        axes.axhline(level.price, color="0.75", linewidth=0.6, zorder=0)
        if level.price - named >= (high - low) * _NAME_HEIGHT:
            axes.annotate(
                f"{level.name} {level.price:,.2f}", (0.005, level.price),
                xycoords=("axes fraction", "data"), fontsize=7, color="0.4", va="center",
                bbox=_ON_PAPER,
            )  # fmt: skip
            named = level.price


def _draw_delta(axes: Axes, facts: ChartFacts) -> None:
    axes.plot(_hours(facts), facts.volume_delta, color="#3d5a80", linewidth=1.2)
    axes.axhline(0, color="0.7", linewidth=0.6)
    axes.set_ylabel("CVD, coins", fontsize=8)


def _draw_funding(axes: Axes, facts: ChartFacts) -> None:
    last = facts.candles[-1].time if facts.candles else 0
    for time, rate in facts.funding:
        colour = _RISES if rate >= 0 else _FALLS
        axes.bar((time - last) / _HOUR, rate * 100, width=_FUNDING_HOURS, color=colour)
    if not facts.funding:
        axes.text(0.5, 0.5, "no funding is known", transform=axes.transAxes, ha="center")
    axes.axhline(0, color="0.7", linewidth=0.6)
    axes.set_ylabel("funding, %", fontsize=8)
    _draw_days(axes, facts)


def _draw_pools(axes: Axes, facts: ChartFacts) -> None:
    """Estimated from volume and usual leverage: nobody publishes where others are liquidated."""
    below, above = largest_pools(facts.pools, facts.mark)
    low, high = axes.get_ylim()
    for pool in (pool for pool in facts.pools if low < pool.price < high):
        colour = _FALLS if pool.price < facts.mark else _RISES
        strong = pool in (below, above)
        height = facts.mark * 0.0025
        axes.barh(pool.price, pool.coins, height=height, color=colour, alpha=1 if strong else 0.5)
    axes.tick_params(labelleft=False)
    axes.set_title("liquidations, estimated", fontsize=8)
    axes.set_xlabel("coins", fontsize=8)


class PngArtist:
    """Keeps the picture as a file, too: reports show it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._drawn: dict[str, bytes] = {}
        self._facts: ChartFacts | None = None

    async def finish(self, plan: TradePlan) -> None:
        """The file with what the plan would trade at; what a model was shown stays as it was."""
        if self._facts is not None:
            planned = PlannedPrices(entry_price(plan), plan.stop, plan.take_profit)
            png = await asyncio.to_thread(trade_chart, self._facts, planned)
            await asyncio.to_thread(write_atomically, self._path, png)

    async def draw(self, facts: ChartFacts) -> str:
        self._facts = facts
        png = await asyncio.to_thread(trade_chart, facts)
        digest = sha256(png).hexdigest()
        self._drawn[digest] = png
        await asyncio.to_thread(write_atomically, self._path, png)
        return digest

    def picture(self, digest: str) -> PromptImage:
        return PromptImage(digest, self._drawn[digest])
