"""`zuno backtest`: bars from a file, walked, and told as tables and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from agents.backtest.bars import read_bars
from agents.backtest.deciders import advisor_of
from agents.backtest.report import BacktestError, backtest
from agents.backtest.walking import BacktestTerms
from agents.numbers.profiles import RiskProfile
from chain.base.table_file import TableError
from zuno_tui.settings import SettingsError
from zuno_tui.shown.answer import CommandAnswer
from zuno_tui.shown.backtest_report import backtest_document, backtest_lines, backtest_remarks

if TYPE_CHECKING:
    from pathlib import Path

    from agents.backtest.bars import PoolBars

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
            f"{source}: {report.windows} windows, {report.bars:,} bars · {profile.value}, "
            f"±{advisor.base_sigmas:.2f} daily σ · gas ${terms.gas_usd:g} an action, "
            f"fee {terms.fee_pips / 10_000:g} %, slippage {terms.slippage_bp:g} bp",
        ),
        lines=tuple(backtest_lines(report)),
        document=backtest_document(report),
        remarks=tuple(remarks),
    )
