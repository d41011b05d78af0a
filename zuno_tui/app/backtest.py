"""`zuno backtest`: bars from a file or a pool's swaps, walked, and told as tables and pictures."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.backtest.deciders import advisor_of
from agents.backtest.hours import PoolBars, read_bars
from agents.backtest.report import BacktestError, BarUnits, backtest, bars_of_hours
from agents.backtest.walking import BacktestTerms
from agents.numbers.profiles import RiskProfile
from chain.base.quantity import Unknown
from chain.base.table_file import TableError
from chain.base.units import DAY
from chain.history.events import FeeTerms
from chain.history.hour_reader import HourMemory, read_hours
from chain.survey.discovery import PoolSurvey, SurveyedPool, discover_pools
from chain.tokens.pair import Pair, pair_of
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.backtest_report import (
    backtest_document,
    backtest_lines,
    backtest_remarks,
    counted_windows,
)
from zuno_tui.present.words import fee_text, percent
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import debate_settings

if TYPE_CHECKING:
    from zuno_tui.app.session import Session

DEFAULT_FEE_PIPS = 500
DEFAULT_TICK_SPACING = 10


class BacktestOptions(Struct, frozen=True, kw_only=True):
    """What was asked for; None is for the pool to say, or for what is usual."""

    fee_pips: int | None
    tick_spacing: int | None
    token1_usd: float | None
    capital: float
    gas_usd: float
    slippage_bp: float
    every: int
    window: int
    profile: str | None
    ablate: bool
    png: Path | None


def backtest_of_file(path: Path, options: BacktestOptions) -> CommandAnswer:
    _check(options)
    terms = _terms(options, DEFAULT_FEE_PIPS, DEFAULT_TICK_SPACING, 1.0)
    profile = RiskProfile(options.profile or RiskProfile.BALANCED)
    try:
        return _walked(read_bars(path), terms, profile, options, str(path))
    except (TableError, BacktestError) as error:
        raise SettingsError(str(error)) from error


async def backtest_of_pool(
    session: Session, named: str, days: int, options: BacktestOptions
) -> CommandAnswer:
    """On the swaps the chain still tells of."""
    _check(options)
    profile = debate_settings(
        session.settings, os.environ, profile=options.profile, deterministic=True
    ).profile
    async with session.sources() as sources:
        survey = await discover_pools(
            sources.client,
            sources.network,
            sources.store,
            clock=sources.clock,
            coingecko=sources.coingecko,
        )
        pool = _named_pool(survey, named)
        pair = pair_of(sources.network, pool.token0, pool.token1, pool.state.sqrt_price_x96)
        units = _units(survey, pair, options)
        terms = FeeTerms(pool.key.fee, pool.state.protocol_fee)
        hours = await read_hours(
            sources.client,
            sources.network,
            {pool.state.pool_id: terms},
            days * DAY,
            memory=HourMemory(sources.store, sources.network, sources.clock),
            watch=lambda seen: session.narrate(f"Reading swaps: {percent(seen.fraction)}"),
        )
    source = f"{pair.name} {fee_text(pool.state.lp_fee)}"
    costs = _terms(options, pool.state.lp_fee, pool.key.tick_spacing, units.money_usd)
    try:
        read = hours[pool.state.pool_id]
        bars = bars_of_hours(read, units, read.last.timestamp - days * DAY)
        return await asyncio.to_thread(_walked, bars, costs, profile, options, source)
    except BacktestError as error:
        raise SettingsError(str(error)) from error


def _named_pool(survey: PoolSurvey, named: str) -> SurveyedPool:
    found = [pool for pool in survey.pools if pool.state.pool_id.startswith(named.lower())]
    if len(found) == 1:
        return found[0]
    words = "begins so" if not found else f"is meant alone: {len(found)} begin so"
    raise SettingsError(f"No pool's id {words}. zuno pools --json lists them.")


def _units(survey: PoolSurvey, pair: Pair, options: BacktestOptions) -> BarUnits:
    decimals0, decimals1 = pair.token0.decimals, pair.token1.decimals
    if decimals0 is None or decimals1 is None:
        raise SettingsError(f"{pair.name} has a token that gives no usable decimals.")
    price = survey.prices.price(pair.quote.address)
    if options.token1_usd is not None:
        usd = options.token1_usd
    elif isinstance(price, Unknown):
        raise SettingsError(
            f"What {pair.quote.label} is worth is unknown: {price.reason}. "
            "Say it with --token1-usd USD."
        )
    else:
        usd = float(price.value)
    return BarUnits(decimals0, decimals1, pair.inverted, usd)


def _check(options: BacktestOptions) -> None:
    if options.every > options.window:
        raise SettingsError("--every is longer than --window: nothing would ever be asked.")
    if options.png is not None:
        from zuno_tui.charts.installed import require_chart_packages

        require_chart_packages()


def _terms(
    options: BacktestOptions, fee_pips: int, tick_spacing: int, token1_usd: float
) -> BacktestTerms:
    """What was asked for, and these where nothing was."""
    return BacktestTerms(
        fee_pips=options.fee_pips or fee_pips,
        tick_spacing=options.tick_spacing or tick_spacing,
        capital=options.capital,
        gas_usd=options.gas_usd,
        slippage_bp=options.slippage_bp,
        every_hours=options.every,
        window_hours=options.window,
        token1_usd=options.token1_usd or token1_usd,
    )


def _walked(
    bars: PoolBars,
    terms: BacktestTerms,
    profile: RiskProfile,
    options: BacktestOptions,
    source: str,
) -> CommandAnswer:
    advisor = advisor_of(profile)
    report = backtest(bars, terms, advisor, ablate=options.ablate)
    remarks = list(backtest_remarks(report, terms))
    if options.png is not None:
        from zuno_tui.charts.backtest import write_backtest

        write_backtest(report, options.png)
        remarks.append(f"The picture is in {options.png}.")
    return CommandAnswer(
        heading=(
            f"{source}: {counted_windows(report.windows)}, {report.bars:,} bars · {profile.value}, "
            f"±{advisor.base_sigmas:.2f} daily σ · gas ${terms.gas_usd:g} an action, "
            f"fee {terms.fee_pips / 10_000:g} %, slippage {terms.slippage_bp:g} bp",
        ),
        lines=tuple(backtest_lines(report)),
        document=backtest_document(report),
        remarks=tuple(remarks),
    )
