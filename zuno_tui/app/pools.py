"""`zuno pools`: the pools between the network's known tokens, the most valuable first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from agents.lp.advice_words import edge_figure
from agents.numbers.advice import week_edge
from agents.numbers.rounding import significant
from chain.base.quantity import Quantity, Unknown
from chain.base.units import DAY
from chain.contracts.hooks import Danger
from chain.history.events import fee_terms
from chain.history.hour_reader import HourMemory, read_hours
from chain.prices.price import WorthUnit
from chain.rpc.errors import RpcError
from chain.survey.discovery import PoolSurvey, SurveyedPool, SurveyPlan, discover_pools
from chain.tokens.pair import pair_of
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.output import Json, OutputColumn, table
from zuno_tui.present.position import price_fields
from zuno_tui.present.words import UNKNOWN, fee_text, number, worth

if TYPE_CHECKING:
    from chain.contracts.pool_key import PoolId
    from chain.pools.state import PoolState
    from chain.positions.overview import Sources
    from chain.positions.snapshot import PoolSnapshot
    from zuno_tui.app.session import Session


READ_SECONDS = 8 * DAY
"""A week, and the day before it for the price it began at."""
UNREAD = Unknown("its swaps of the week were not read yet")


async def read_edges(
    sources: Sources, states: Iterable[PoolState | PoolSnapshot], *, unread: bool
) -> dict[PoolId, Quantity[float]]:
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
        return dict.fromkeys(terms, Unknown(error.sentence))
    return {pool: week_edge(read[pool]) if pool in read else UNREAD for pool in terms}


_COLUMNS = (
    OutputColumn("POOL"),
    OutputColumn("FEE", "right"),
    OutputColumn("PRICE", "right"),
    OutputColumn("DEPTH ±2%", "right"),
    OutputColumn("PAYS 7 D", "right"),
    OutputColumn("HOOK"),
    OutputColumn("POOL ID"),
)


async def surveyed_pools(
    session: Session, token: str | None, *, refresh: bool, pays: bool
) -> CommandAnswer:
    plan = SurveyPlan(most_age=0.0) if refresh else SurveyPlan()
    async with session.sources() as sources:
        survey = await discover_pools(
            sources.client,
            sources.network,
            sources.store,
            clock=sources.clock,
            coingecko=sources.coingecko,
            plan=plan,
        )
        pools = [pool for pool in survey.pools if _holds(pool, token)]
        edges = await read_edges(sources, (pool.state for pool in pools), unread=pays)
    rows = [(*pool_words(survey, pool, edges), f"{pool.state.pool_id[:10]}…") for pool in pools]
    unread = UNREAD in edges.values()
    return CommandAnswer(
        heading=_headline(survey, len(pools)),
        lines=tuple(table(_COLUMNS, rows)) if rows else (),
        remarks=(_UNREAD_WORDS,) if unread else (),
        document=_document(survey, pools, edges),
    )


def _holds(pool: SurveyedPool, symbol: str | None) -> bool:
    if symbol is None:
        return True
    wanted = symbol.lower()
    return any(wanted in (t.symbol.lower(), t.address) for t in (pool.token0, pool.token1))


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
    fee: str
    price: str
    depth: str
    pays: str
    hook: str


def pool_words(
    survey: PoolSurvey, pool: SurveyedPool, edges: Mapping[PoolId, Quantity[float]]
) -> PoolWords:
    state = pool.state
    pair = pair_of(survey.network, pool.token0, pool.token1, state.sqrt_price_x96)
    dynamic = " dynamic" if pool.key.has_dynamic_fee else ""
    hook = "" if not pool.hook.present else _HOOK_WORDS[pool.hook.danger]
    return PoolWords(
        pair.name,
        f"{fee_text(state.lp_fee)}{dynamic}",
        pair.price_text(state.sqrt_price_x96),
        worth(pool.depth_usd, WorthUnit.USD),
        _pays(edges[state.pool_id]),
        hook,
    )


def _pays(edge: Quantity[float]) -> str:
    """What it paid over its risk in seven days."""
    if isinstance(edge, Unknown):
        return "–" if edge is UNREAD else UNKNOWN
    return edge_figure(edge.value)


_UNREAD_WORDS = "What a pool pays is known once its swaps were read: zuno pools --pays"
_HOOK_WORDS = {Danger.NONE: "harmless", Danger.CAUTION: "caution", Danger.DANGEROUS: "dangerous"}


def _document(
    survey: PoolSurvey, pools: list[SurveyedPool], edges: Mapping[PoolId, Quantity[float]]
) -> Json:
    return {
        "network": survey.network.name,
        "chainId": survey.network.chain_id,
        "block": survey.block.number,
        "found": survey.found,
        "listedAt": survey.listed_at,
        "complete": survey.coverage.complete,
        "pools": [_pool_document(survey, pool, edges[pool.state.pool_id]) for pool in pools],
    }


def _pool_document(survey: PoolSurvey, pool: SurveyedPool, edge: Quantity[float]) -> Json:
    state = pool.state
    pair = pair_of(survey.network, pool.token0, pool.token1, state.sqrt_price_x96)
    return {
        "poolId": state.pool_id,
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
        "edge7d": None if isinstance(edge, Unknown) else significant(edge.value),
    }
