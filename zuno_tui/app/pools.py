"""`zuno pools`: the pools between the network's known tokens, the most valuable first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agents.lp.advice_words import edge_figure
from agents.numbers.advice import edge_of
from agents.numbers.fees import apr
from agents.numbers.rounding import significant
from chain.base.quantity import Known, Quantity, Unknown
from chain.base.units import DAY
from chain.contracts.hooks import Danger
from chain.history.events import fee_terms
from chain.history.fee_rate import hour_sums
from chain.history.hour_reader import HourMemory, read_hours
from chain.history.volatility import WEEK
from chain.prices.price import WorthUnit
from chain.rpc.errors import RpcError
from chain.survey.discovery import MOST_AGE, PoolSurvey, SurveyedPool, SurveyPlan, discover_pools
from chain.tokens.pair import pair_of
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import Json, OutputColumn, table
from zuno_tui.present.position import price_fields
from zuno_tui.present.words import UNKNOWN, fee_text, number, percent, worth

if TYPE_CHECKING:
    from chain.contracts.networks import Network
    from chain.contracts.pool_key import PoolId
    from chain.history.hours import PoolHours
    from chain.pools.state import PoolState
    from chain.positions.overview import Sources
    from chain.positions.snapshot import PoolSnapshot
    from zuno_tui.app.session import Session


READ_SECONDS = 8 * DAY
"""A week, and the day before it for the price it began at."""
UNREAD = Unknown("its swaps of the week were not read yet")


class WeekPay(NamedTuple):
    """What a pool paid in seven days."""

    edge: Quantity[float]
    """Over its risk."""
    fees: Quantity[float]
    """For a year of liquidity over all prices, as a part of its worth."""


async def read_week_pay(
    sources: Sources, states: Iterable[PoolState | PoolSnapshot], *, unread: bool
) -> dict[PoolId, WeekPay]:
    """By pool; those whose swaps nobody has read so far only where `unread` asks for them.

    A busy pool's first week is long to read, so a list of pools does not begin it unasked.
    """
    memory = HourMemory(sources.store, sources.network, sources.clock)
    terms = {state.pool_id: fee_terms(state) for state in states}
    wanted = {
        pool: one for pool, one in terms.items() if unread or memory.load(pool, one) is not None
    }
    try:
        read = await read_hours(
            sources.client, sources.network, wanted, READ_SECONDS, memory=memory
        )
    except RpcError as error:
        untold = Unknown(error.sentence)
        return dict.fromkeys(terms, WeekPay(untold, untold))
    unknown = WeekPay(UNREAD, UNREAD)
    return {pool: _week_pay(read[pool]) if pool in read else unknown for pool in terms}


def _week_pay(hours: PoolHours) -> WeekPay:
    week = hour_sums(hours, WEEK)
    yearly = week.map(lambda sums: apr(sums.fee_rate * DAY / sums.seconds, 1))
    return WeekPay(edge_of(week), yearly)


_COLUMNS = (
    OutputColumn("POOL"),
    OutputColumn(""),
    OutputColumn("FEE", "right"),
    OutputColumn("PRICE", "right"),
    OutputColumn("DEPTH ±2%", "right"),
    OutputColumn("FEES 7 D", "right"),
    OutputColumn("PAYS 7 D", "right"),
    OutputColumn("HOOK"),
    OutputColumn("POOL ID"),
)


async def surveyed_pools(
    session: Session, token: str | None, *, refresh: bool, pays: bool
) -> CommandAnswer:
    plan = SurveyPlan(v3=True, most_age=0.0 if refresh else MOST_AGE)
    async with session.sources() as sources:
        survey = await discover_pools(
            sources.client,
            sources.network,
            sources.store,
            clock=sources.clock,
            coingecko=sources.coingecko,
            plan=plan,
        )
        pools = [pool for pool in survey.pools if _holds(survey.network, pool, token)]
        paid = await read_week_pay(sources, (pool.state for pool in pools), unread=pays)
    rows = [(*pool_words(survey, pool, paid), f"{pool.state.pool_id[:10]}…") for pool in pools]
    unread = any(one.edge is UNREAD for one in paid.values())
    return CommandAnswer(
        heading=_headline(survey, len(pools)),
        lines=tuple(table(_COLUMNS, rows)) if rows else (),
        remarks=(
            _FULL_RANGE_WORDS,
            *_better_in_v4(survey, pools, paid),
            *((_UNREAD_WORDS,) if unread else ()),
        ),
        document=_document(survey, pools, paid),
    )


def _better_in_v4(
    survey: PoolSurvey, pools: Sequence[SurveyedPool], paid: Mapping[PoolId, WeekPay]
) -> Iterator[str]:
    """By pair, the pool of v4 that paid more over its risk than every one of v3."""
    best: dict[tuple[str, str], tuple[float, PoolWords]] = {}
    for pool in pools:
        edge, words = paid[pool.state.pool_id].edge, pool_words(survey, pool, paid)
        if isinstance(edge, Known) and pool.hook.danger is Danger.NONE:
            place = words.pair, words.protocol
            best[place] = max(best.get(place, (0.0, words)), (edge.value, words))
    for (pair, protocol), (edge_of_v3, of_v3) in best.items():
        edge_of_v4, of_v4 = best.get((pair, "v4"), (0.0, of_v3))
        if protocol == "v3" and edge_of_v4 > edge_of_v3:
            yield (
                f"{pair}: v4 {of_v4.fee} paid {of_v4.pays}, v3 {of_v3.fee} {of_v3.pays}. "
                f'Open it there: zuno create "1 {pair} {of_v4.fee}"'
            )


def _holds(network: Network, pool: SurveyedPool, symbol: str | None) -> bool:
    if symbol is None:
        return True
    wanted, both = symbol.lower(), (pool.token0, pool.token1)
    if pool.protocol == "v3" and wanted == network.native_symbol.lower():
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
    hook: str


def pool_words(survey: PoolSurvey, pool: SurveyedPool, paid: Mapping[PoolId, WeekPay]) -> PoolWords:
    state = pool.state
    pair = pair_of(survey.network, pool.token0, pool.token1, state.sqrt_price_x96)
    dynamic = " dynamic" if pool.key.has_dynamic_fee else ""
    hook = "" if not pool.hook.present else _HOOK_WORDS[pool.hook.danger]
    tier = pool.key.fee if pool.protocol == "v3" else state.lp_fee
    return PoolWords(
        pair.name,
        pool.protocol,
        f"{fee_text(tier)}{dynamic}",
        pair.price_text(state.sqrt_price_x96),
        worth(pool.depth_usd, WorthUnit.USD),
        _paid(paid[state.pool_id].fees, lambda part: f"{percent(part)} a year"),
        _paid(paid[state.pool_id].edge, edge_figure),
        hook,
    )


def _paid(value: Quantity[float], words: Callable[[float], str]) -> str:
    if isinstance(value, Unknown):
        return "–" if value is UNREAD else UNKNOWN
    return words(value.value)


_FULL_RANGE_WORDS = "FEES 7 D is what liquidity over all prices was paid; create opens in v4."
_UNREAD_WORDS = "What a pool pays is known once its swaps were read: zuno pools --pays"
_HOOK_WORDS = {Danger.NONE: "harmless", Danger.CAUTION: "caution", Danger.DANGEROUS: "dangerous"}


def _document(
    survey: PoolSurvey, pools: list[SurveyedPool], paid: Mapping[PoolId, WeekPay]
) -> Json:
    return {
        "network": survey.network.name,
        "chainId": survey.network.chain_id,
        "block": survey.block.number,
        "found": survey.found,
        "listedAt": survey.listed_at,
        "complete": survey.coverage.complete,
        "pools": [_pool_document(survey, pool, paid[pool.state.pool_id]) for pool in pools],
    }


def _pool_document(survey: PoolSurvey, pool: SurveyedPool, paid: WeekPay) -> Json:
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
        "feesAYear7d": None if isinstance(paid.fees, Unknown) else significant(paid.fees.value),
        "edge7d": None if isinstance(paid.edge, Unknown) else significant(paid.edge.value),
    }
