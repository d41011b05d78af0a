"""`zuno pools`: the pools between the network's known tokens, the most valuable first."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from agents.lp.advice_words import edge_figure
from agents.numbers.advice import edge_of
from agents.numbers.fees import apr
from agents.numbers.rounding import significant
from agents.scorecard.pool_days import PoolDayStore, PoolWindow, RankKey, days_of
from chain.base.units import DAY, Known, Quantity, Unknown, combine
from chain.contracts.hooks import Danger
from chain.contracts.networks import Network
from chain.contracts.pool_key import PoolId
from chain.history.events import fee_terms
from chain.history.fee_rate import HourSums, hour_sums
from chain.history.hour_reader import HourMemory, read_hours
from chain.history.volatility import WEEK
from chain.positions.overview import Sources
from chain.protocols.pool import PoolSnapshot, PoolState
from chain.protocols.reference import V4
from chain.protocols.registry import protocol_named
from chain.rpc.errors import RpcError
from chain.survey.discovery import MOST_AGE, PoolSurvey, SurveyedPool, SurveyPlan, survey_pools
from chain.tokens.pair import pair_of
from zuno_tui.app.session import Session
from zuno_tui.intents.intents import ListPools
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.document import document
from zuno_tui.present.pages.pools import UNREAD, ListedPool, PoolList, ProtocolFees, pools_page
from zuno_tui.present.words import number

READ_SECONDS = 8 * DAY
"""A week, and the day before it for the price it began at."""


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
        kept.record_look()
    return {pool: hour_sums(read[pool], WEEK) if pool in read else UNREAD for pool in terms}


async def read_surveyed(
    sources: Sources, pools: Sequence[SurveyedPool], *, unread: bool
) -> dict[PoolId, Quantity[HourSums]]:
    """The weeks of these pools, their depth kept beside them."""
    found = {pool.state.pool_id: number(pool.depth_usd) for pool in pools}
    depths = {pool: depth for pool, depth in found.items() if depth is not None}
    states = [pool.state for pool in pools]
    return await read_weeks(sources, states, unread=unread, depths=depths)


async def surveyed_pools(session: Session, asked: ListPools) -> CommandAnswer:
    plan = SurveyPlan(every_protocol=True, most_age=0.0 if asked.refresh else MOST_AGE)
    async with session.sources() as sources:
        survey = await survey_pools(sources, plan)
        pools = [pool for pool in survey.pools if _holds(survey.network, pool, asked.token)]
        weeks = await read_surveyed(sources, pools, unread=asked.pays)
    records = pool_records(survey, ranked_pools(pools, weeks, RankKey(asked.by)), weeks)
    known = sum(not isinstance(week, Unknown) for week in weeks.values())
    listed = PoolList(
        network=survey.network.name,
        chain_id=survey.network.chain_id,
        block=survey.block.number,
        found=survey.found,
        listed_at=survey.listed_at,
        complete=survey.coverage.complete,
        pools=records,
    )
    ranking = RankKey(asked.by)
    by = _KEY_WORDS[ranking] if known and ranking is not RankKey.DEPTH else ""
    view = pools_page(listed, by, _coverage(survey), tuple(_better_in_v4(records)))
    return CommandAnswer((), document(listed), view=view)


def _better_in_v4(records: Sequence[ListedPool]) -> Iterator[str]:
    """By pair, the pool of v4 that paid more over its risk than every one of another protocol."""
    best: dict[tuple[str, str], tuple[float, ListedPool]] = {}
    for pool in records:
        if isinstance(pool.edge7d, Known) and pool.hook_danger is Danger.NONE:
            place = pool.pair, pool.protocol
            best[place] = max(
                best.get(place, (0.0, pool)), (pool.edge7d.value, pool), key=lambda each: each[0]
            )
    for (pair, protocol), (paid, pool) in best.items():
        paid_in_v4, of_v4 = best.get((pair, V4), (0.0, pool))
        if paid_in_v4 > paid:
            yield (
                f"{pair}: v4 {of_v4.fee_words} paid {edge_figure(paid_in_v4)}, {protocol} "
                f"{pool.fee_words} {edge_figure(paid)}. Open it there: "
                f'zuno create "1 {pair} {of_v4.fee_words}"'
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


_KEY_WORDS = {
    RankKey.PAYS: ", those that paid most over their risk first",
    RankKey.FEES: ", the highest APR first",
    RankKey.CALM: ", the calmest first",
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


def _coverage(survey: PoolSurvey) -> tuple[str, ...]:
    age = max(0.0, time.time() - survey.listed_at)
    line = f"{survey.network.title}, block {survey.block.number:,} · listed {age:.0f} s ago"
    coverage = survey.coverage
    if coverage.complete:
        return (line,)
    why = f" ({coverage.failure})" if coverage.failure else ""
    return (
        line,
        f"Hooked and dynamic-fee pools made after block {coverage.through:,} are not in this"
        f" list{why}. Run it again to read further.",
    )


def pool_records(
    survey: PoolSurvey, pools: Sequence[SurveyedPool], weeks: Mapping[PoolId, Quantity[HourSums]]
) -> tuple[ListedPool, ...]:
    return tuple(_record(survey, pool, weeks[pool.state.pool_id]) for pool in pools)


def _record(survey: PoolSurvey, pool: SurveyedPool, week: Quantity[HourSums]) -> ListedPool:
    state = pool.state
    pair = pair_of(survey.network, pool.token0, pool.token1, state.sqrt_price_x96)
    price = pair.price(state.sqrt_price_x96)
    return ListedPool(
        pool_id=state.pool_id,
        protocol=pool.protocol,
        pair=pair.name,
        currency0=pool.key.currency0,
        currency1=pool.key.currency1,
        symbol0=pool.token0.label,
        symbol1=pool.token1.label,
        fee=pool.key.fee,
        fee_tier=state.fee_tier,
        dynamic=pool.key.has_dynamic_fee,
        lp_fee=state.lp_fee,
        protocol_fee=ProtocolFees(state.protocol_fee.zero_for_one, state.protocol_fee.one_for_zero),
        tick_spacing=pool.key.tick_spacing,
        hooks=pool.key.hooks,
        hook_danger=pool.hook.danger,
        hook_sentences=tuple(pool.hook.sentences),
        tick=state.tick,
        sqrt_price_x96=state.sqrt_price_x96,
        liquidity=state.liquidity,
        price=None if price is None else price.value,
        price_unit=None if price is None else f"{price.quote} per {price.base}",
        depth_usd=pool.depth_usd,
        fees_a_day_usd=_fees_a_day(survey, pool, week),
        fees_a_year7d=week.map(_fees_a_year).map(significant),
        edge7d=edge_of(week).map(significant),
        volatility7d=week.map(_daily_volatility).map(significant),
        verified=pool.token0.verified and pool.token1.verified,
    )


def _fees_a_day(
    survey: PoolSurvey, pool: SurveyedPool, week: Quantity[HourSums]
) -> Quantity[float]:
    """The mean of the week, at today's prices."""
    if isinstance(week, Unknown):
        return week
    paid = combine(
        Fraction.__add__,
        survey.prices.value(pool.token0, week.value.fees0),
        survey.prices.value(pool.token1, week.value.fees1),
    )
    return paid.map(lambda usd: significant(float(usd) * DAY / week.value.seconds))


def _fees_a_year(week: HourSums) -> float:
    """Of liquidity over all prices, as a part of its worth."""
    return apr(week.fee_rate * DAY / week.seconds, 1)


def _daily_volatility(week: HourSums) -> float:
    return _window(week).volatility
