"""`zuno backtest`: bars from a file or a pool's swaps, walked, and told as tables and pictures."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from msgspec import Struct, to_builtins

from agents.backtest.deciders import PolicyName, advisor_of
from agents.backtest.hours import PoolBars, read_bars
from agents.backtest.report import (
    BacktestError,
    BacktestReport,
    BarUnits,
    DollarInterval,
    PolicyReport,
    backtest,
    bars_of_hours,
)
from agents.backtest.walking import BacktestTerms
from agents.numbers.advice import AdvisedAction
from agents.numbers.rules import RiskProfile
from chain.base.table_file import TableError
from chain.base.units import DAY, Unknown
from chain.history.events import fee_terms
from chain.history.hour_reader import HourMemory, read_hours
from chain.survey.discovery import PoolSurvey, SurveyedPool, SurveyPlan, survey_pools
from chain.tokens.pair import Pair, pair_of
from zuno_tui.app.session import Session
from zuno_tui.charts.drawing import require_chart_packages, write_png
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import Json, table
from zuno_tui.present.terminal import columns
from zuno_tui.present.words import fee_text, percent
from zuno_tui.settings import SettingsError
from zuno_tui.settings.debates import debate_settings


def write_backtest(report: BacktestReport, path: Path) -> None:
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    ways, against = figure.subplots(1, 2)
    for name, policy in report.policies.items():
        ours = name is PolicyName.ADVICE
        ways.plot(
            range(report.windows + 1),
            (0.0, *policy.cumulative),
            label=name.replace("_", " "),
            linewidth=3 if ours else 1.5,
            zorder=3 if ours else 2,
        )
    ways.axhline(0, color="0.6", linewidth=0.8)
    ways.set(xlabel="windows", ylabel=r"fees − LVR − costs of \$10,000, added up, \$")
    ways.legend()
    for place, found in enumerate(report.differences.values()):
        if found.low is not None and found.high is not None:
            against.plot((found.low, found.high), (place, place), color="C0")
        against.plot(found.mean, place, marker="o", color="C0")
    against.axvline(0, color="0.6", linewidth=0.8)
    against.set(
        xlabel=r"advice less this policy, hedged, \$ per \$10,000 and week, 95%",
        yticks=range(len(report.differences)),
        yticklabels=[name.partition("-")[2].replace("_", " ") for name in report.differences],
    )
    against.invert_yaxis()
    write_png(figure, path)


_COLUMNS = columns(
    *("POLICY", "HEDGED>", "95%>", "UNHEDGED>", "95%>", "ACTIONS>"),
    *("COSTS>", "IN RANGE>", "KEEP>", "MOVE>", "CLOSE>"),
)
_DIFFERENCES = columns("ADVICE AGAINST", "HEDGED>", "95%>")
_STEPS = "▁▂▃▄▅▆▇█"
_MOST_STEPS = 48


def backtest_lines(report: BacktestReport) -> list[str]:
    rows = [(_spoken(name), *_cells(policy)) for name, policy in report.policies.items()]
    against = [
        (_spoken(name.partition("-")[2]), _signed(found.mean), _interval(found))
        for name, found in report.differences.items()
    ]
    return [
        "dollars per $10,000 and week",
        *table(_COLUMNS, rows),
        "",
        *table(_DIFFERENCES, against),
        "",
        "hedged, added up window by window",
        *_pictures(report),
    ]


def backtest_remarks(report: BacktestReport, terms: BacktestTerms) -> Iterator[str]:
    yield (
        "Hedged is fees − LVR − costs; unhedged is against holding the tokens each window began "
        f"with. The rule was asked every {terms.every_hours} h, its first 7 days "
        f"({counted_windows(report.warm_up_windows)}) only warm up."
    )
    if report.broken_windows:
        yield f"Given up at a gap between bars: {counted_windows(report.broken_windows)}."
    if any(found.low is None for found in report.differences.values()):
        yield "One window has no interval."


def counted_windows(count: float) -> str:
    return "1 window" if count == 1 else f"{count:.3g} windows"


def backtest_document(report: BacktestReport) -> Json:
    """The report itself; how each policy came there is drawn, not told."""
    document = to_builtins(report)
    for policy in document["policies"].values():
        del policy["cumulative"]
    return _rounded(document)


def _cells(policy: PolicyReport) -> tuple[str, ...]:
    return (
        _signed(policy.hedged.mean),
        _interval(policy.hedged),
        _signed(policy.unhedged.mean),
        _interval(policy.unhedged),
        f"{policy.actions_per_week:.2f}",
        f"{policy.costs_per_week:.2f}",
        f"{policy.in_range:.0%}",
        *(f"{policy.shares[action]:.1%}" for action in AdvisedAction),
    )


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _signed(dollars: float) -> str:
    # Adding zero takes the sign from a zero that was rounded from below.
    return f"{round(dollars, 1) + 0.0:+.1f}"


def _interval(found: DollarInterval) -> str:
    if found.low is None or found.high is None:
        return "unknown"
    return f"{_signed(found.low)} … {_signed(found.high)}"


def _rounded(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return round(value, 6) if isinstance(value, float) else value


def _pictures(report: BacktestReport) -> Iterator[str]:
    """A line a policy, all on one scale from the least to the most any of them ever had."""
    ways = {name: (0.0, *policy.cumulative) for name, policy in report.policies.items()}
    least = min(min(way) for way in ways.values())
    most = max(max(way) for way in ways.values())
    widest = max(len(name) for name in ways)
    for name, way in ways.items():
        drawn = "".join(_step(value, least, most) for value in _thinned(way))
        yield f"{_spoken(name):<{widest}}  {drawn}  {way[-1]:+,.0f}"


def _thinned(way: Sequence[float]) -> Sequence[float]:
    if len(way) <= _MOST_STEPS:
        return way
    last = len(way) - 1
    return [way[round(place * last / (_MOST_STEPS - 1))] for place in range(_MOST_STEPS)]


def _step(value: float, least: float, most: float) -> str:
    if most <= least:
        return _STEPS[0]
    return _STEPS[min(len(_STEPS) - 1, int((value - least) / (most - least) * len(_STEPS)))]


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
        survey = await survey_pools(sources, SurveyPlan(every_protocol=True))
        pool = _named_pool(survey, named)
        pair = pair_of(sources.network, pool.token0, pool.token1, pool.state.sqrt_price_x96)
        units = _units(survey, pair, options)
        terms = fee_terms(pool.state)
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
        write_backtest(report, options.png)
        remarks.append(f"The picture is in {options.png}.")
    return CommandAnswer(
        heading=(
            f"{source}: {counted_windows(report.windows)}, {report.bars:,} bars · {profile.value}, "
            f"±{advisor.base_sigmas:.2f} daily σ · gas ${terms.gas_usd:g} an action, "
            f"fee {terms.fee_pips / 10_000:g}%, slippage {terms.slippage_bp:g} bp",
        ),
        lines=tuple(backtest_lines(report)),
        document=backtest_document(report),
        remarks=tuple(remarks),
    )
