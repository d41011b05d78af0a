"""A position: its row, its page and its document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from agents.monitor.rules.thresholds import WatchSettings
from agents.numbers.fees import apr
from chain.base.units import Known, Quantity, Unknown, usd
from chain.contracts.hooks import Danger
from chain.contracts.networks import Address, Network
from chain.math.liquidity import Amounts
from chain.math.ticks import sqrt_price_at_tick
from chain.positions.overview import Overview, Worth
from chain.prices.pool_prices import pool_name
from chain.prices.price import PriceBook, WorthUnit
from chain.protocols.reference import PositionRef, position_name
from chain.protocols.snapshot import PositionSnapshot
from chain.tokens import Token
from chain.tokens.pair import Pair, pair_of
from zuno_tui.present.charts import price_figure
from zuno_tui.present.document import document, parts
from zuno_tui.present.output import Json
from zuno_tui.present.views import ChartView, PositionRow, PositionsView, Standing, Tone
from zuno_tui.present.words import (
    amount_of,
    fee_text,
    figure_cell,
    gain_figure,
    money,
    number,
    percent,
    round_usd,
    short_gain,
    short_worth,
    units,
    yearly_percent,
)

if TYPE_CHECKING:
    # With the past of pools behind it, which the present of a wallet does not need.
    from chain.positions.by_day import SinceEntry
    from chain.positions.performance import DailyResult, Performance


def price_fields(pair: Pair, sqrt_price_x96: int) -> dict[str, Json]:
    """A pool's price; both are null where a token's decimals are unknown."""
    price = pair.price(sqrt_price_x96)
    return {
        "price": None if price is None else price.value,
        "priceUnit": None if price is None else f"{price.quote} per {price.base}",
    }


def range_fields(pair: Pair, tick_lower: int, tick_upper: int) -> dict[str, Json]:
    """A range's edges as prices, the lower figure first, in the unit of the pool's price."""
    prices = [pair.price(sqrt_price_at_tick(tick)) for tick in (tick_lower, tick_upper)]
    low, high = reversed(prices) if pair.inverted else prices
    return {
        "priceLower": None if low is None else low.value,
        "priceUpper": None if high is None else high.value,
    }


class Won(Struct, frozen=True):
    """What a position won or lost, which is read less often than the rest."""

    against_holding: str
    tone: Tone
    net_a_day: str
    fee_apr: str = "…"
    gained: float | None = None
    """The same as figures, None where unknown."""
    apr: float | None = None
    old: bool = False
    """Whether the result against holding is of an earlier read than worth and fees."""
    figures: tuple[str, str] = ("…", "…")
    """Result against holding and net a day where a column's head names the unit."""


_NOT_READ_YET = Won("…", "dim", "…")
_LEAST_GAIN = Fraction(1, 200)
"""What is less is told as nothing."""
_NO_CHARTS: Mapping[PositionRef, ChartView] = MappingProxyType({})


def positions_view(
    network: Network,
    overview: Overview,
    won: Mapping[PositionRef, Won],
    watching: WatchSettings,
    *,
    read_at: float,
    charts: Mapping[PositionRef, ChartView] = _NO_CHARTS,
    weeks: Mapping[PositionRef, ChartView] = _NO_CHARTS,
) -> PositionsView:
    wallet, whole, unit = overview.wallet, overview.portfolio, overview.portfolio.unit
    rows = position_rows(network, overview, won, watching, charts)
    return PositionsView(
        rows=tuple(replace(row, week=weeks.get(row.ref)) for row in rows) if weeks else rows,
        total=money(whole.total, unit),
        fees=money(whole.fees, unit),
        found=f"{wallet.found_count} of {wallet.balance_of} found",
        block=wallet.block.number,
        read_at=read_at,
        unit="" if unit is WorthUnit.USD else unit.value.upper(),
    )


def position_rows(
    network: Network,
    overview: Overview,
    won: Mapping[PositionRef, Won],
    watching: WatchSettings,
    charts: Mapping[PositionRef, ChartView] = _NO_CHARTS,
) -> tuple[PositionRow, ...]:
    worths = {position.ref: position for position in overview.portfolio.positions}
    return tuple(
        _row(
            network,
            overview,
            position,
            worths[position.ref],
            won.get(position.ref, _NOT_READ_YET),
            near_edge=watching.thresholds(network.name, position.ref).near_edge,
            chart=charts.get(position.ref),
        )
        for position in overview.wallet.positions
    )


def won_by_position(
    overview: Overview, performance: Performance, unit: WorthUnit
) -> dict[PositionRef, Won]:
    worths = {worth.ref: worth.principal for worth in overview.portfolio.positions}
    return {
        position.ref: _won(overview, position, worths[position.ref], performance, unit)
        for position in overview.wallet.positions
    }


def won_now(
    overview: Overview,
    known: Performance,
    before: Mapping[PositionRef, Won],
    unit: WorthUnit,
    *,
    old: bool,
) -> dict[PositionRef, Won]:
    """With results against holding as of this read, by the changes that were read before; where
    there were others since, those of then."""
    # `zuno positions` reads no hours, and starts without what reads them.
    from chain.positions.by_day import since_entry

    told = dict(before)
    worths = {worth.ref: worth.principal for worth in overview.portfolio.positions}
    for position in overview.wallet.positions:
        ref = position.ref
        account = known.accounts.get(ref)
        if account is None or ref not in told:
            continue
        fresh = since_entry(position, account.changes)
        if isinstance(fresh.against_holding, Unknown) or _has_missed(account, fresh):
            told[ref] = replace(told[ref], old=old)
        else:
            present = replace(known, accounts={ref: fresh})
            told[ref] = _won(overview, position, worths[ref], present, unit)
    return told


def _has_missed(account: SinceEntry, fresh: SinceEntry) -> bool:
    """Whether fees were collected that no change tells of yet: what was earned never shrinks."""
    before, now = account.fees_earned, fresh.fees_earned
    if isinstance(before, Unknown) or isinstance(now, Unknown):
        return False
    return now.value.amount0 < before.value.amount0 or now.value.amount1 < before.value.amount1


def _won(
    overview: Overview,
    position: PositionSnapshot,
    principal: Quantity[Fraction],
    performance: Performance,
    unit: WorthUnit,
) -> Won:
    token1 = overview.tokens[position.pool.key.currency1]
    gained = performance.gains(position.ref, token1, overview.prices, unit)
    yearly = yearly_fees(performance.daily[position.ref], gained.fees_a_day, principal)
    return Won(
        short_gain(gained.against_holding, unit),
        gain_tone(gained.against_holding),
        short_gain(gained.net_a_day, unit),
        fee_apr="–" if yearly is None else yearly_percent(yearly),
        gained=number(gained.against_holding),
        apr=yearly,
        figures=(gain_figure(gained.against_holding, unit), gain_figure(gained.net_a_day, unit)),
    )


def dollar_prices(
    network: Network,
    position: PositionSnapshot,
    tokens: Mapping[Address, Token],
    prices: PriceBook,
) -> str:
    """`WETH $3,097.02 by pool WETH/USDC 0.05%`, where dollars come from elsewhere than its pool:
    its worth then moves while its own price stands."""
    told = []
    for address in (position.pool.key.currency0, position.pool.key.currency1):
        price = prices.price(address)
        own = f"pool {pool_name(network, position.pool)}"
        if isinstance(price, Known) and address != network.stable and price.source != own:
            told.append(f"{tokens[address].label} {usd(float(price.value))} by {price.source}")
    return ", ".join(told)


def yearly_fees(
    daily: DailyResult, fees_a_day: Quantity[Fraction], principal: Quantity[Fraction]
) -> float | None:
    """The fees of 24 closed hours as a share of the worth a year; None under a day of age."""
    if not daily.whole_day:
        return None
    if isinstance(fees_a_day, Unknown) or isinstance(principal, Unknown) or not principal.value:
        return None
    return apr(fees_a_day.value, principal.value)


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
        ref=position.ref,
        pair=pair.name,
        fee=fee_text(pool.fee_tier) + ("*" if pool.key.has_dynamic_fee else ""),
        standing=range_state(position, progress, near_edge),
        notes=(*notes(position), *withdrawn_words(position, value, unit)),
        progress=progress,
        low=low,
        high=high,
        price=pair.price_text(pool.sqrt_price_x96),
        share=percent(position.share) if position.share else "–",
        holds=" + ".join(
            f"{amount_of(amount, token)} {token.label}"
            for amount, token in (
                (position.amount0, pair.token0),
                (position.amount1, pair.token1),
            )
            if amount
        ),
        dollars=dollar_prices(network, position, tokens, overview.prices),
        value=short_worth(value.principal, unit),
        fees=short_worth(value.fees, unit),
        against_holding=won.against_holding,
        against_holding_tone=won.tone,
        against_holding_old=won.old,
        net_a_day=won.net_a_day,
        fee_apr=won.fee_apr,
        chart=None if chart is None else _until_now(chart, position, pair),
        worth=number(value.principal),
        fees_worth=number(value.fees),
        gained=won.gained,
        apr=won.apr,
        figures=(figure_cell(value.principal, unit), figure_cell(value.fees, unit), *won.figures),
    )


def _until_now(chart: ChartView, position: PositionSnapshot, pair: Pair) -> ChartView:
    now, price = position.block.timestamp, price_figure(pair, position.pool.sqrt_price_x96)
    if price is None or now <= chart.times[-1]:
        return chart
    return replace(chart, times=(*chart.times, float(now)), prices=(*chart.prices, price))


def range_state(position: PositionSnapshot, progress: float, near_edge: float) -> Standing:
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
        "operator": bool(custody.approved),
        "subscribed": bool(custody.subscriber),
    }
    return tuple(note for note, holds in told.items() if holds)


def withdrawn_words(position: PositionSnapshot, value: Worth, unit: WorthUnit) -> tuple[str, ...]:
    """What waits beside the fees, or with them where nobody can tell which is which."""
    waits: list[tuple[Quantity[Fraction], str]] = []
    if isinstance(position.withdrawn, Unknown):
        waits.append((value.waiting, "waits"))
    elif any(position.withdrawn.value):
        waits.append((value.withdrawn, "withdrawn"))
    if position.rewards:
        waits.append((value.rewards, "in rewards"))
    return tuple(
        f"{round_usd(float(amount.value))} {words}"
        if unit is WorthUnit.USD and isinstance(amount, Known)
        else f"{short_worth(amount, unit)} {words}"
        for amount, words in waits
    )


def gain_tone(gained: Quantity[Fraction]) -> Tone:
    if isinstance(gained, Unknown):
        return "dim"
    if abs(gained.value) < _LEAST_GAIN:
        return "dim"
    return "bad" if gained.value < 0 else "good"


def wallet_document(
    network: Network, overview: Overview, performance: Performance | None
) -> dict[str, Json]:
    wallet, whole = overview.wallet, overview.portfolio
    worths = {position.ref: position for position in whole.positions}
    return {
        "network": network.name,
        "chainId": network.chain_id,
        "block": wallet.block.number,
        "blockHash": wallet.block.hash,
        "time": wallet.block.timestamp,
        **parts(wallet, "owner", "balance_of", "operators"),
        "found": wallet.found_count,
        "missing": wallet.shortfall,
        "operatorsKnownFromBlock": wallet.approvals_from,
        "unit": whole.unit.value,
        "total": round(float(whole.total), 8),
        "uncollected": round(float(whole.fees), 8),
        "withdrawn": round(float(whole.withdrawn), 8),
        "undivided": round(float(whole.undivided), 8),
        "rewards": round(float(whole.rewards), 8),
        "unpriced": [document(amount) for amount in whole.unpriced],
        "positions": [
            position_document(
                network,
                position,
                overview.tokens,
                overview.prices,
                worths[position.ref],
            )
            | ({} if performance is None else performance_document(performance, position))
            for position in wallet.positions
        ],
    }


def position_document(
    network: Network,
    position: PositionSnapshot,
    tokens: Mapping[Address, Token],
    prices: PriceBook,
    value: Worth,
) -> dict[str, Json]:
    pool, identity, key = position.pool, position.identity, position.pool.key
    token0, token1 = tokens[key.currency0], tokens[key.currency1]
    pair = pair_of(network, token0, token1, pool.sqrt_price_x96)
    usd = prices.value(token0, position.amount0), prices.value(token1, position.amount1)
    return {
        "tokenId": position_name(position.ref),
        **parts(position.ref, "protocol"),
        **parts(key, "currency0", "currency1", "fee", "tick_spacing", "hooks"),
        "symbol0": token0.label,
        "symbol1": token1.label,
        "decimals0": token0.decimals,
        "decimals1": token1.decimals,
        **parts(pool, "pool_id", "lp_fee", "protocol_fee", "tick", "sqrt_price_x96"),
        "hook": parts(pool.hook, "danger", "sentences"),
        **parts(identity, "tick_lower", "tick_upper"),
        **price_fields(pair, pool.sqrt_price_x96),
        **range_fields(pair, identity.tick_lower, identity.tick_upper),
        **parts(position, "liquidity", "amount0", "amount1", "in_range", "status", "owner"),
        "poolLiquidity": str(pool.liquidity),
        "share": round(float(position.share), 12),
        "fees0": units(position.fees.map(lambda fees: fees.amount0)),
        "fees1": units(position.fees.map(lambda fees: fees.amount1)),
        "withdrawn": _amounts(position.withdrawn),
        "waiting": _amounts(Known(position.collectable, "")),
        "rewards": [
            {"token": reward.token, "amount": str(reward.amount)} for reward in position.rewards
        ],
        "delta": str(position.delta),
        **parts(position.custody, "approved", "subscriber"),
        "valueUsd": _sum(*usd),
        "value": number(value.principal),
        "feesValue": number(value.fees),
        "withdrawnValue": number(value.withdrawn),
        "waitingValue": number(value.waiting),
        "rewardsValue": number(value.rewards),
        "unknown": _reasons(position.withdrawn),
        "sources": {
            **position.sources,
            "price0": _source(prices.price(key.currency0)),
            "price1": _source(prices.price(key.currency1)),
        },
    }


def _whole(value: Quantity[int]) -> int | None:
    return None if isinstance(value, Unknown) else value.value


def performance_document(performance: Performance, position: PositionSnapshot) -> dict[str, Json]:
    account = performance.accounts[position.ref]
    return {
        "sinceEntry": {
            **document(account, without=("ref", "age_seconds", "changes")),
            "ageSeconds": _whole(account.age_seconds),
            "changes": len(account.changes),
        },
        "daily": document(performance.daily[position.ref], without=("ref", "closed", "path")),
    }


def _sum(*parts: Quantity[Fraction]) -> float | None:
    known = [number(part) for part in parts]
    return None if None in known else round(sum(part or 0.0 for part in known), 8)


def _amounts(value: Quantity[Amounts]) -> Json:
    if isinstance(value, Unknown):
        return None
    return {"amount0": str(value.value.amount0), "amount1": str(value.value.amount1)}


def _reasons(*values: Quantity[object]) -> list[str]:
    return list(dict.fromkeys(value.reason for value in values if isinstance(value, Unknown)))


def _source(price: Quantity[Fraction]) -> str:
    return f"unknown: {price.reason}" if isinstance(price, Unknown) else price.source


class KeyFigure(NamedTuple):
    """One of the few figures that are told apart from all others."""

    label: str
    words: str
    tone: Tone = "plain"


class RangeStanding(Struct, frozen=True):
    """Where the price stands in the range of a position."""

    state: Standing
    low: str
    high: str
    progress: float
    unit: str
    """Of the prices, as `USDC per WETH`."""


class DetailView(Struct, frozen=True):
    """One position with everything that is known of it."""

    ref: PositionRef
    title: str
    facts: tuple[tuple[str, str], ...]
    """Label and words, in reading order."""
    price: ChartView | None
    liquidity: tuple[tuple[float, float], ...]
    """Price and the liquidity active there, around the current price."""
    fees_by_day: tuple[tuple[str, float, float], ...]
    """Day, fees, LVR, in the unit the desk counts in."""
    history: tuple[str, ...]
    hook: tuple[str, ...] = ()
    """What its hook may do; nothing where there is none."""
    days_sum: tuple[KeyFigure, ...] = ()
    """What the days come to, and what of the result against holding they do not tell."""
    figures: tuple[KeyFigure, ...] = ()
    """What one looks for first."""
    standing: RangeStanding | None = None
    profit: tuple[KeyFigure, ...] = ()
    """Since entry through every move, in dollars; nothing until the wallet's history is read."""
    owned_by: str = ""
    """Whose it is, where it is not the wallet's own."""
    copied: tuple[str, ...] = ()
    """All facts with whole addresses, for the clipboard, line by line."""
