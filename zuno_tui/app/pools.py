"""`zuno pools`: the pools between the network's known tokens, the most valuable first."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from agents.lp.advice_words import edge_figure
from agents.numbers.advice import edge_of
from agents.numbers.fees import apr
from agents.numbers.rounding import significant
from agents.scorecard.pool_days import PoolDayStore, PoolWindow, RankKey, days_of
from chain.base.units import DAY, Known, Quantity, Unknown
from chain.contracts.hooks import Danger
from chain.contracts.networks import Network
from chain.contracts.pool_key import PoolId
from chain.history.events import fee_terms
from chain.history.fee_rate import HourSums, hour_sums
from chain.history.hour_reader import HourMemory, read_hours
from chain.history.volatility import WEEK
from chain.positions.overview import Sources
from chain.prices.price import WorthUnit
from chain.protocols.pool import PoolSnapshot, PoolState
from chain.protocols.reference import V4
from chain.protocols.registry import protocol_named
from chain.rpc.errors import RpcError
from chain.survey.discovery import MOST_AGE, PoolSurvey, SurveyedPool, SurveyPlan, survey_pools
from chain.tokens.pair import pair_of
from zuno_tui.app.session import Session
from zuno_tui.catalog.intents import ListPools
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import Json, table
from zuno_tui.present.position import price_fields
from zuno_tui.present.terminal import columns
from zuno_tui.present.words import UNKNOWN, fee_text, number, percent, worth

READ_SECONDS = 8 * DAY
"""A week, and the day before it for the price it began at."""
UNREAD = Unknown("the week's swaps are not read yet")


async def read_weeks(
    sources: Sources,
    states: Iterable[PoolState | PoolSnapshot],
    *,
    unread: bool,
    depths: Mapping[PoolId, float] = MappingProxyType({}),
) -> dict[PoolId, Quantity[HourSums]]:
    """By pool; those whose swaps nobody has read so far only where `unread` asks for them.

    A busy pool's first week is long to read, so a list of pools does not begin it unasked. The
    whole days of what was read are kept, for rankings to be scored by.
    """
    memory = HourMemory(sources.store, sources.network, sources.clock)
    terms = {state.pool_id: fee_terms(state) for state in states}
    wanted = {
        pool: fee_terms
        for pool, fee_terms in terms.items()
        if unread or memory.load(pool, fee_terms) is not None
    }
    try:
        read = await read_hours(
            sources.client, sources.network, wanted, READ_SECONDS, memory=memory
        )
    except RpcError as error:
        return dict.fromkeys(terms, Unknown(error.sentence))
    kept = PoolDayStore(sources.store, sources.network.chain_id, sources.clock)
    for pool, hours in read.items():
        kept.keep(pool, days_of(hours, depths.get(pool)))
    if read:
        kept.looked()
    return {pool: hour_sums(read[pool], WEEK) if pool in read else UNREAD for pool in terms}


async def read_surveyed(
    sources: Sources, pools: Sequence[SurveyedPool], *, unread: bool
) -> dict[PoolId, Quantity[HourSums]]:
    """The weeks of these pools, their depth kept beside them."""
    found = {pool.state.pool_id: number(pool.depth_usd) for pool in pools}
    depths = {pool: depth for pool, depth in found.items() if depth is not None}
    states = [pool.state for pool in pools]
    return await read_weeks(sources, states, unread=unread, depths=depths)


_COLUMNS = columns(
    *("POOL", "", "FEE>", "PRICE>", "DEPTH ±2%>"),
    *("FEES 7 D>", "PAYS 7 D>", "VOLATILITY 7 D>", "HOOK", "POOL ID"),
)


async def surveyed_pools(session: Session, asked: ListPools) -> CommandAnswer:
    plan = SurveyPlan(every_protocol=True, most_age=0.0 if asked.refresh else MOST_AGE)
    async with session.sources() as sources:
        survey = await survey_pools(sources, plan)
        pools = [pool for pool in survey.pools if _holds(survey.network, pool, asked.token)]
        weeks = await read_surveyed(sources, pools, unread=asked.pays)
    pools = ranked_pools(pools, weeks, RankKey(asked.by))
    rows = [(*pool_words(survey, pool, weeks), f"{pool.state.pool_id[:10]}…") for pool in pools]
    known = sum(not isinstance(week, Unknown) for week in weeks.values())
    return CommandAnswer(
        heading=(*_headline(survey, len(pools)), *_order_words(RankKey(asked.by), known)),
        lines=tuple(table(_COLUMNS, rows)) if rows else (),
        remarks=(
            _FULL_RANGE_WORDS,
            *_better_in_v4(survey, pools, weeks),
            *((_UNREAD_WORDS,) if UNREAD in weeks.values() else ()),
        ),
        document={
            "network": survey.network.name,
            "chainId": survey.network.chain_id,
            "block": survey.block.number,
            "found": survey.found,
            "listedAt": survey.listed_at,
            "complete": survey.coverage.complete,
            "pools": [_pool_document(survey, pool, weeks[pool.state.pool_id]) for pool in pools],
        },
    )


def _better_in_v4(
    survey: PoolSurvey, pools: Sequence[SurveyedPool], weeks: Mapping[PoolId, Quantity[HourSums]]
) -> Iterator[str]:
    """By pair, the pool of v4 that paid more over its risk than every one of another protocol."""
    best: dict[tuple[str, str], tuple[float, PoolWords]] = {}
    for pool in pools:
        edge, words = edge_of(weeks[pool.state.pool_id]), pool_words(survey, pool, weeks)
        if isinstance(edge, Known) and pool.hook.danger is Danger.NONE:
            place = words.pair, words.protocol
            best[place] = max(best.get(place, (0.0, words)), (edge.value, words))
    for (pair, protocol), (paid, words) in best.items():
        paid_in_v4, of_v4 = best.get((pair, V4), (0.0, words))
        if paid_in_v4 > paid:
            yield (
                f"{pair}: v4 {of_v4.fee} paid {of_v4.pays}, {protocol} {words.fee} {words.pays}. "
                f'Open it there: zuno create "1 {pair} {of_v4.fee}"'
            )


def ranked_pools(
    pools: Sequence[SurveyedPool], weeks: Mapping[PoolId, Quantity[HourSums]], key: RankKey
) -> list[SurveyedPool]:
    """By this figure of the last seven days; those of which it is unknown by depth, behind."""

    def place(pool: SurveyedPool) -> tuple[bool, float]:
        week, depth = weeks[pool.state.pool_id], number(pool.depth_usd)
        value = depth if key is RankKey.DEPTH else None
        if not isinstance(week, Unknown):
            value = key.of(_window(week.value, depth))
        return value is None, 0.0 if value is None else -value

    return sorted(pools, key=place)


def _window(week: HourSums, depth: float | None = None) -> PoolWindow:
    days = max(1, round(week.seconds / DAY))
    return PoolWindow(week.fee_rate, week.squared_returns, days, depth)


def _order_words(key: RankKey, known: int) -> tuple[str, ...]:
    if key is RankKey.DEPTH or not known:
        return ()
    return (
        f"Ranked by {_KEY_WORDS[key]}, where known; how well that predicted the days after: "
        "zuno scorecard",
    )


_KEY_WORDS = {
    RankKey.PAYS: "what they paid over their risk in the last 7 days",
    RankKey.FEES: "fees for each dollar of full-range worth in the last 7 days",
    RankKey.CALM: "the lowest volatility of the last 7 days",
}


def _holds(network: Network, pool: SurveyedPool, symbol: str | None) -> bool:
    if symbol is None:
        return True
    wanted, both = symbol.lower(), (pool.token0, pool.token1)
    outside = not protocol_named(pool.protocol).in_pool_manager
    if outside and wanted == network.native_symbol.lower():
        # The coin is there in its wrapped form alone.
        return any(token.address == network.wrapped_native for token in both)
    return any(wanted in (token.symbol.lower(), token.address) for token in both)


def _headline(survey: PoolSurvey, shown: int) -> tuple[str, ...]:
    age = max(0.0, time.time() - survey.listed_at)
    line = (
        f"{survey.network.title} · block {survey.block.number:,} · {shown} of {survey.found} pools"
        f" · listed {age:.0f} s ago"
    )
    coverage = survey.coverage
    if coverage.complete:
        return (line,)
    why = f" ({coverage.failure})" if coverage.failure else ""
    return (
        line,
        f"Hooked and dynamic-fee pools made after block {coverage.through:,} are not in this"
        f" list{why}. Run it again to read further.",
    )


class PoolWords(NamedTuple):
    pair: str
    protocol: str
    fee: str
    price: str
    depth: str
    fees: str
    pays: str
    volatility: str
    hook: str


def pool_words(
    survey: PoolSurvey, pool: SurveyedPool, weeks: Mapping[PoolId, Quantity[HourSums]]
) -> PoolWords:
    state, week = pool.state, weeks[pool.state.pool_id]
    pair = pair_of(survey.network, pool.token0, pool.token1, state.sqrt_price_x96)
    dynamic = " dynamic" if pool.key.has_dynamic_fee else ""
    hook = "" if not pool.hook.present else _HOOK_WORDS[pool.hook.danger]
    tier = state.fee_tier
    return PoolWords(
        pair.name,
        pool.protocol,
        f"{fee_text(tier)}{dynamic}",
        pair.price_text(state.sqrt_price_x96),
        worth(pool.depth_usd, WorthUnit.USD),
        _cell(week.map(_fees_a_year), lambda part: f"{percent(part)} a year"),
        _cell(edge_of(week), edge_figure),
        _cell(week.map(_daily_volatility), lambda part: f"{percent(part)} a day"),
        hook,
    )


def _cell(value: Quantity[float], words: Callable[[float], str]) -> str:
    if isinstance(value, Unknown):
        return "–" if value is UNREAD else UNKNOWN
    return words(value.value)


def _fees_a_year(week: HourSums) -> float:
    """Of liquidity over all prices, as a part of its worth."""
    return apr(week.fee_rate * DAY / week.seconds, 1)


def _daily_volatility(week: HourSums) -> float:
    return _window(week).volatility


_FULL_RANGE_WORDS = "FEES 7 D is what full-range liquidity earned; create opens in v4."
_UNREAD_WORDS = "What a pool pays is known once its swaps are read: zuno pools --pays"
_HOOK_WORDS = {Danger.NONE: "harmless", Danger.CAUTION: "caution", Danger.DANGEROUS: "dangerous"}


def _pool_document(survey: PoolSurvey, pool: SurveyedPool, week: Quantity[HourSums]) -> Json:
    state = pool.state
    pair = pair_of(survey.network, pool.token0, pool.token1, state.sqrt_price_x96)
    return {
        "poolId": state.pool_id,
        "protocol": pool.protocol,
        "currency0": pool.key.currency0,
        "currency1": pool.key.currency1,
        "symbol0": pool.token0.label,
        "symbol1": pool.token1.label,
        "fee": pool.key.fee,
        "lpFee": state.lp_fee,
        "protocolFee": {
            "zeroForOne": state.protocol_fee.zero_for_one,
            "oneForZero": state.protocol_fee.one_for_zero,
        },
        "tickSpacing": pool.key.tick_spacing,
        "hooks": pool.key.hooks,
        "hookDanger": pool.hook.danger.value,
        "hookSentences": list(pool.hook.sentences),
        "tick": state.tick,
        "sqrtPriceX96": str(state.sqrt_price_x96),
        "liquidity": str(state.liquidity),
        **price_fields(pair, state.sqrt_price_x96),
        "depthUsd": number(pool.depth_usd),
        "feesAYear7d": _figure(week.map(_fees_a_year)),
        "edge7d": _figure(edge_of(week)),
        "volatility7d": _figure(week.map(_daily_volatility)),
    }


def _figure(value: Quantity[float]) -> float | None:
    return None if isinstance(value, Unknown) else significant(value.value)
