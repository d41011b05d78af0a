"""A position and its hedge: what is short for it, and what both came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.monitor.alerts.alert import iso_time
from chain.base.quantity import Unknown
from chain.exchange.orders.hedge import (
    HedgeAccount,
    HedgeKey,
    HedgeStart,
    PositionHedge,
    position_hedges,
)
from chain.exchange.orders.venue import Venue, current_orders
from chain.exchange.public.market import contract_symbol
from chain.positions.batch_reader import BatchReader
from chain.positions.change_reader import ChangeMemory, ChangeReader
from chain.read.block_reader import OneBlock
from chain.tokens.pair import Pair, pair_of
from zuno_tui.present.words import dollar_gain

if TYPE_CHECKING:
    from agents.trade.facts import HedgeFacts
    from chain.contracts.networks import Address
    from chain.exchange.orders.hedge import PositionHedge
    from chain.exchange.orders.journal import TradeJournal
    from chain.positions.circumstances import LiquidityChange
    from chain.positions.overview import Overview, Sources
    from chain.positions.snapshot import PositionSnapshot
    from chain.tokens import Token
    from zuno_tui.app.session import Session
    from zuno_tui.features.trade.gate import Trading
    from zuno_tui.features.trade.venue import OpenVenue
    from zuno_tui.present.output import Json


_DUST = 1e-9


class HedgedResult(Struct, frozen=True):
    """In dollars, since the position was first hedged; None where a part of it is unknown."""

    since: float
    """By the venue's clock."""
    short: float
    mark: float
    position_usd: float | None
    account: HedgeAccount
    hedge_usd: float | None
    unknown: str = ""

    @property
    def together_usd(self) -> float | None:
        if self.position_usd is None or self.hedge_usd is None:
            return None
        return self.position_usd + self.hedge_usd


async def read_hedges(journal: TradeJournal, venue: Venue) -> dict[HedgeKey, PositionHedge]:
    """Of every position that was ever hedged on this venue; looking sends nothing."""
    starts = journal.hedges(venue.name)
    if not starts:
        return {}
    return position_hedges(starts, await current_orders(journal, venue, set(starts)))


def owned_short(
    hedges: Mapping[HedgeKey, PositionHedge],
    facts: HedgeFacts,
    gone: Sequence[HedgeKey],
    total_short: float,
) -> HedgeFacts:
    """The facts with what is short for the position; what the venue does not hold is no hedge."""
    own = hedges.get(HedgeKey(facts.chain_id, facts.token_id))
    left = [(key.token_id, hedges[key].short) for key in gone if hedges[key].short > _DUST]
    short = (0.0 if own is None else standing_short(own)) + sum(coins for _, coins in left)
    waiting = 0.0 if own is None else max(-own.waiting, 0.0)
    return facts.model_copy(
        update={
            "short": max(min(short, max(total_short, 0.0) + waiting), 0.0),
            "taken_over": tuple(left),
        }
    )


def standing_short(hedge: PositionHedge) -> float:
    """With what still waits to be sold."""
    return hedge.short - hedge.waiting


async def owned_facts(
    trading: Trading,
    sources: Sources,
    hedges: Mapping[HedgeKey, PositionHedge],
    facts: HedgeFacts,
) -> HedgeFacts:
    """The facts with what is short for the position now, and for those it took the place of."""
    gone = await gone_hedges(sources, hedges, facts)
    held = (await trading.venue.account()).held(contract_symbol(facts.coin))
    return owned_short(hedges, facts, gone, -held)


async def gone_hedges(
    sources: Sources, hedges: Mapping[HedgeKey, PositionHedge], facts: HedgeFacts
) -> tuple[HedgeKey, ...]:
    """Hedges of the same coin and wallet whose positions hold nothing any more."""
    asked = [
        key
        for key, one in hedges.items()
        if key.chain_id == facts.chain_id
        and key.token_id != facts.token_id
        and one.first.coin == facts.coin
        and one.first.wallet == facts.wallet
        and abs(one.short) > _DUST
    ]
    if not asked:
        return ()
    gathering = BatchReader(
        OneBlock(sources.client, sources.network), sources.network, sources.memory
    )
    await gathering.complete([key.token_id for key in asked])
    found = gathering.snapshots()
    return tuple(
        key for key in asked if key.token_id not in found or found[key.token_id].liquidity == 0
    )


async def hedged_result(
    opened: OpenVenue,
    sources: Sources,
    snapshot: PositionSnapshot,
    tokens: Mapping[Address, Token],
    hedge: PositionHedge,
) -> HedgedResult:
    """What the position and its hedge came to since its first plan, at the prices of now."""
    start, symbol = hedge.first, hedge.first.symbol
    mark = (await opened.market.funding(symbol)).mark
    since = int(min([start.time, *(fill.time for fill in hedge.fills)]))
    account = hedge.account(await opened.market.payments(symbol, since=since))
    held = (await opened.venue.account()).held(symbol)
    hedge_usd, unknown = account.result(mark), ""
    if hedge_usd is None:
        unknown = "the venue does not tell at which price funding was paid"
    if hedge.short + held > _DUST:
        hedge_usd, unknown = None, "less is short on the venue than was sold for it"
    memory = ChangeMemory(sources.store, sources.network, sources.clock)
    reader = ChangeReader(sources.client, sources.network, sources.memory, memory)
    changes = (await reader.since_entry([snapshot]))[snapshot.token_id].changes
    pair = pair_of(
        sources.network,
        tokens[snapshot.pool.key.currency0],
        tokens[snapshot.pool.key.currency1],
        snapshot.pool.sqrt_price_x96,
    )
    position_usd = position_gain(pair, snapshot, changes, start) if changes else None
    if position_usd is None:
        unknown = "what was put in or taken out since is not known"
    return HedgedResult(start.time, hedge.short, mark, position_usd, account, hedge_usd, unknown)


def position_gain(
    pair: Pair,
    snapshot: PositionSnapshot,
    changes: Sequence[LiquidityChange],
    start: HedgeStart,
) -> float | None:
    """Its worth and fees less those at the start; what moved meanwhile at the price of now."""
    amount0, amount1 = snapshot.amount0 + snapshot.fees0, snapshot.amount1 + snapshot.fees1
    for change in changes:
        if change.place.block_number <= start.block:
            continue
        if isinstance(change.amounts, Unknown) or isinstance(change.fees, Unknown):
            return None
        sign = -1 if change.liquidity_delta > 0 else 1
        amount0 += sign * change.amounts.value.amount0 + change.fees.value.amount0
        amount1 += sign * change.amounts.value.amount1 + change.fees.value.amount1
    before = _dollars(pair, int(start.amount0), int(start.amount1), int(start.sqrt_price_x96))
    worth = _dollars(pair, amount0, amount1, snapshot.pool.sqrt_price_x96)
    return None if worth is None or before is None else worth - before


def _dollars(pair: Pair, amount0: int, amount1: int, sqrt_price_x96: int) -> float | None:
    price = pair.price(sqrt_price_x96)
    if price is None:
        return None
    base, quote = (amount1, amount0) if pair.inverted else (amount0, amount1)
    coins = base / 10 ** (pair.base.decimals or 0)
    return float(coins * price.value + quote / 10 ** (pair.quote.decimals or 0))


class HedgeResults(Struct, frozen=True):
    results: tuple[tuple[PositionHedge, HedgedResult], ...] = ()
    trouble: str = ""
    """Why they are not known."""


async def read_hedge_results(
    session: Session, sources: Sources, overviews: Sequence[Overview]
) -> HedgeResults:
    """Of positions that are held and were ever hedged; without trades nothing is asked for."""
    if not session.home.trades.exists():
        return HedgeResults()
    from chain.exchange.orders.hedge import HedgeKey
    from zuno_tui.features.trade.venue import (
        CLOSED_TO_LOOKERS,
        VenueUnreadError,
        has_hedges,
        open_venue,
    )

    chain_id = session.network.chain_id
    results = []
    try:
        if not has_hedges(session.home):
            return HedgeResults()
        async with open_venue(session) as opened:
            hedges = await read_hedges(opened.journal, opened.venue)
            for overview in overviews:
                for snapshot in overview.wallet.positions:
                    hedge = hedges.get(HedgeKey(chain_id, snapshot.token_id))
                    if hedge is not None:
                        result = await hedged_result(
                            opened, sources, snapshot, overview.tokens, hedge
                        )
                        results.append((hedge, result))
    except (VenueUnreadError, *CLOSED_TO_LOOKERS) as error:
        return HedgeResults(trouble=str(error))
    return HedgeResults(tuple(results))


def hedged_lines(hedge: PositionHedge, result: HedgedResult) -> tuple[str, ...]:
    """Two lines: the sum, and what the hedge's part is made of."""
    start, account = hedge.first, result.account
    why = f" ({result.unknown})" if result.unknown else ""
    return (
        f"#{start.token_id} and its hedge since {iso_time(result.since)[:16].replace('T', ' ')}: "
        f"position {dollar_gain(result.position_usd)}, hedge {dollar_gain(result.hedge_usd)}, "
        f"together {dollar_gain(result.together_usd)}{why}",
        f"  {result.short:g} {start.coin} short of {start.symbol} at {result.mark:,.2f}, "
        f"fees ${account.fees:,.2f}, funding {dollar_gain(account.funding)}",
    )


def hedged_document(hedge: PositionHedge, result: HedgedResult) -> dict[str, Json]:
    start, account = hedge.first, result.account
    return {
        "tokenId": start.token_id,
        "chainId": start.chain_id,
        "coin": start.coin,
        "symbol": start.symbol,
        "since": result.since,
        "sinceBlock": start.block,
        "ratio": hedge.last.ratio,
        "short": result.short,
        "waiting": hedge.waiting,
        "mark": result.mark,
        "feesUsd": account.fees,
        "fundingUsd": account.funding,
        "positionUsd": result.position_usd,
        "hedgeUsd": result.hedge_usd,
        "togetherUsd": result.together_usd,
        "unknown": result.unknown or None,
    }


def hedge_result_lines(found: HedgeResults) -> tuple[str, ...]:
    """Under a list of positions: nothing where nothing was ever hedged."""
    if found.trouble:
        return ("", f"Hedges are not known: {found.trouble}")
    lines = [line for hedge, result in found.results for line in hedged_lines(hedge, result)]
    return ("", *lines) if lines else ()


def hedge_results_document(found: HedgeResults) -> Json:
    """None where they are not known."""
    if found.trouble:
        return None
    return [hedged_document(hedge, result) for hedge, result in found.results]
