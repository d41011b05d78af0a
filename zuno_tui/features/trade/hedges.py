"""A position and its hedge: what is short for it, and what both came to."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from agents.monitor.alerts.alert import iso_time
from chain.base.home import Home
from chain.base.units import Unknown
from chain.contracts.networks import NATIVE, Address, Network
from chain.exchange.orders.engine import current_orders
from chain.exchange.orders.hedge import (
    HedgeAccount,
    HedgeKey,
    HedgeStart,
    PlanOrders,
    PositionHedge,
    position_hedges,
)
from chain.exchange.orders.journal import TradeJournal
from chain.exchange.orders.order import OrderProgress, PerpetualPosition
from chain.exchange.orders.venue import Venue, VenueAccount
from chain.exchange.public.margin import AccountRisk, MarkedPosition, account_risk
from chain.exchange.public.market import contract_symbol
from chain.positions.batch_reader import BatchReader
from chain.positions.overview import Overview, Sources
from chain.positions.performance import accounts_of, read_past
from chain.protocols.past import LiquidityChange
from chain.protocols.reference import PositionRef, position_label, position_name
from chain.protocols.snapshot import PositionSnapshot
from chain.read.block_reader import OneBlock
from chain.tokens import Token
from chain.tokens.pair import Pair, pair_of
from chain.tokens.token import TokenClass, listed_token
from zuno_tui.app.session import Session
from zuno_tui.features.trade.venue import (
    CLOSED_TO_LOOKERS,
    OpenVenue,
    VenueUnreadError,
    has_hedges,
    open_venue,
)
from zuno_tui.intents.intent import PositionName
from zuno_tui.present.document import document
from zuno_tui.present.output import Json
from zuno_tui.present.words import dollar_gain

if TYPE_CHECKING:
    from agents.trade.facts import HedgeFacts
    from chain.exchange.orders.venue import Venue

_DUST = 1e-9


async def venue_risk(
    venue: Venue, account: VenueAccount, short: Mapping[str, float]
) -> AccountRisk | None:
    """Of all that is held there; of these contracts at least what is short by the journal."""
    held = {position.symbol: position for position in account.positions}
    found = []
    for symbol in sorted(held.keys() | short.keys()):
        position = held.get(symbol, PerpetualPosition(symbol, 0.0, 0.0))
        mark = account.marks.get(symbol) or (await venue.contracts.funding(symbol)).mark
        quantity = min(position.quantity, -short[symbol]) if symbol in short else position.quantity
        found.append(MarkedPosition(quantity, mark, position.liquidation))
    return account_risk(account.equity, found)


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
    held: float = 0.0
    """Coins the position holds."""
    funding_usd_a_day: float = 0.0
    """What the short pays at the rate of now; below 0 it is paid."""
    margin_used: float | None = None
    """What all that is held there is worth, over the account."""
    to_liquidation: float | None = None
    """By which share every price may move against the account before the venue closes something."""
    other_usd: float | None = 0.0
    """What the hedge of the position's other coin came to."""

    @property
    def net(self) -> float:
        return self.held - self.short

    @property
    def together_usd(self) -> float | None:
        if self.position_usd is None or self.hedge_usd is None or self.other_usd is None:
            return None
        return self.position_usd + self.hedge_usd + self.other_usd


async def read_hedges(journal: TradeJournal, venue: Venue) -> dict[HedgeKey, PositionHedge]:
    """Of every position that was ever hedged on this venue; looking sends nothing."""
    starts = journal.hedges(venue.name)
    if not starts:
        return {}
    return position_hedges(starts, await current_orders(journal, venue, set(starts)))


def hedges_by_position(
    hedges: Mapping[HedgeKey, PositionHedge], chain_id: int
) -> dict[PositionRef, tuple[PositionHedge, ...]]:
    """By the position's id on one chain; a pool of two coins has a hedge of each."""
    found: dict[PositionRef, tuple[PositionHedge, ...]] = {}
    for key, hedge in hedges.items():
        if key.chain_id == chain_id:
            found[key.ref] = (*found.get(key.ref, ()), hedge)
    return found


class StandingHedge(NamedTuple):
    venue: str
    key: HedgeKey
    hedge: PositionHedge


def hedges_on_record(journal: TradeJournal) -> tuple[StandingHedge, ...]:
    """What is short for positions by the journal alone: no venue is asked."""
    found = []
    for venue in journal.venues():
        starts = journal.hedges(venue)
        orders: dict[str, list[OrderProgress]] = {}
        for entry in journal.entries():
            if entry.answer is not None:
                orders.setdefault(entry.plan_id, []).append(entry.answer)
        plans = [PlanOrders(plan_id, tuple(answers)) for plan_id, answers in orders.items()]
        for key, hedge in position_hedges(starts, plans).items():
            if abs(standing_short(hedge)) > _DUST:
                found.append(StandingHedge(venue, key, hedge))
    return tuple(found)


def outliving_words(home: Home, chain_id: int, ref: PositionRef) -> tuple[str, ...]:
    """The hedge that a position leaves behind when it is closed or moved, and what ends it."""
    if not home.trades.exists():
        return ()
    with TradeJournal.open(home.trades) as journal:
        standing = hedges_on_record(journal)
    return tuple(
        f"{position_label(ref)} has a hedge: {standing_short(found.hedge):g} "
        f"{found.hedge.first.coin} short on {found.venue}. It stays when the position goes. "
        f"Then close it: zuno unhedge {position_name(ref)}"
        for found in standing
        if (found.key.chain_id, found.key.ref) == (chain_id, ref)
    )


def short_notes(home: Home, chain_id: int) -> dict[PositionRef, str]:
    """At a position's row, what is short for it by the journal."""
    with TradeJournal.open(home.trades) as journal:
        standing = hedges_on_record(journal)
    notes: dict[PositionRef, str] = {}
    for found in standing:
        if found.key.chain_id == chain_id:
            note = f"short {standing_short(found.hedge):.4g}"
            before = notes.get(found.key.ref)
            notes[found.key.ref] = note if before is None else f"{before}, {note}"
    return notes


def owned_short(
    hedges: Mapping[HedgeKey, PositionHedge],
    facts: HedgeFacts,
    gone: Sequence[HedgeKey],
    total_short: float,
) -> HedgeFacts:
    """The facts with what is short for the position; what the venue does not hold is no hedge."""
    own = hedges.get(HedgeKey(facts.chain_id, facts.token_id, facts.coin))
    left = [(key.ref, hedges[key].short) for key in gone if hedges[key].short > _DUST]
    short = (0.0 if own is None else standing_short(own)) + sum(coins for _, coins in left)
    waiting = 0.0 if own is None else max(-own.waiting, 0.0)
    return facts.model_copy(
        update={
            "short": max(min(short, max(total_short, 0.0) + waiting), 0.0),
            "taken_over": tuple(left),
        }
    )


def hedging_coins(hedges: Mapping[HedgeKey, PositionHedge], position: PerpetualPosition) -> float:
    """Of what the venue holds, that which hedges positions: never more than there is."""
    short = sum(hedge.short for hedge in hedges.values() if hedge.first.symbol == position.symbol)
    return -max(min(short, -position.quantity), 0.0)


def standing_short(hedge: PositionHedge) -> float:
    """With what still waits to be sold."""
    return hedge.short - hedge.waiting


async def owned_facts(
    venue: Venue, sources: Sources, hedges: Mapping[HedgeKey, PositionHedge], facts: HedgeFacts
) -> HedgeFacts:
    """The facts with what is short for the position now, and for those it took the place of."""
    gone = await gone_hedges(sources, hedges, facts)
    held = (await venue.account()).quantity_of(contract_symbol(facts.coin))
    return owned_short(hedges, facts, gone, -held)


async def gone_hedges(
    sources: Sources, hedges: Mapping[HedgeKey, PositionHedge], facts: HedgeFacts
) -> tuple[HedgeKey, ...]:
    """Hedges of the same coin and wallet whose positions hold nothing any more."""
    asked = [
        key
        for key, hedge in hedges.items()
        if key.chain_id == facts.chain_id
        and key.ref != facts.token_id
        and hedge.first.coin == facts.coin
        and hedge.first.wallet == facts.wallet
        and abs(hedge.short) > _DUST
    ]
    if not asked:
        return ()
    gathering = BatchReader(
        OneBlock(sources.client, sources.network), sources.network, sources.memory
    )
    await gathering.complete([key.ref for key in asked])
    found = gathering.snapshots()
    return tuple(key for key in asked if key.ref not in found or found[key.ref].liquidity == 0)


async def hedged_results(
    opened: OpenVenue,
    sources: Sources,
    snapshot: PositionSnapshot,
    tokens: Mapping[Address, Token],
    legs: Sequence[PositionHedge],
) -> tuple[HedgedResult, ...]:
    """Of each coin's hedge, all of them beside what the position itself came to."""
    found = [await _hedged_result(opened, sources, snapshot, tokens, leg) for leg in legs]
    if len(found) == 1:
        return tuple(found)
    return tuple(
        replace(result, other_usd=other.hedge_usd)
        for result, other in zip(found, reversed(found), strict=True)
    )


async def _hedged_result(
    opened: OpenVenue,
    sources: Sources,
    snapshot: PositionSnapshot,
    tokens: Mapping[Address, Token],
    hedge: PositionHedge,
) -> HedgedResult:
    """What the position and its hedge came to since its first plan, at the prices of now."""
    start, symbol = hedge.first, hedge.first.symbol
    funding = await opened.venue.contracts.funding(symbol)
    mark = funding.mark
    since = int(min([start.time, *(fill.time for fill in hedge.fills)]))
    account = hedge.account(await opened.venue.contracts.payments(symbol, since=since))
    seen = await opened.venue.account()
    held = seen.quantity_of(symbol)
    risk = await venue_risk(opened.venue, seen, {symbol: hedge.short})
    hedge_usd, unknown = account.result(mark), ""
    if hedge_usd is None:
        unknown = "the venue does not say at which price funding was paid"
    if hedge.short + held > _DUST:
        hedge_usd, unknown = None, "less is short on the venue than was sold for it"
    past = await read_past(sources, [snapshot])
    changes = accounts_of([snapshot], past)[snapshot.ref].changes
    pair = pair_of(
        sources.network,
        tokens[snapshot.pool.key.currency0],
        tokens[snapshot.pool.key.currency1],
        snapshot.pool.sqrt_price_x96,
    )
    position_usd = None
    if changes:
        units = _quote_dollars(sources.network, pair, start, snapshot, mark)
        position_usd = position_gain(pair, snapshot, changes, start, units)
    if position_usd is None:
        unknown = "what was put in or taken out since is not known"
    return HedgedResult(
        start.time,
        hedge.short,
        mark,
        position_usd,
        account,
        hedge_usd,
        unknown,
        held=_held_of(snapshot, hedge.last, tokens),
        funding_usd_a_day=-funding.rate_a_day * hedge.short * mark,
        margin_used=None if risk is None else risk.leverage,
        to_liquidation=None if risk is None else risk.to_liquidation,
    )


def _held_of(
    snapshot: PositionSnapshot, start: HedgeStart, tokens: Mapping[Address, Token]
) -> float:
    """What the position holds of the hedged coin, in what the contract is of."""
    key = snapshot.pool.key
    amounts = {key.currency0: snapshot.amount0, key.currency1: snapshot.amount1}
    return sum(
        amount
        / float(10 ** (tokens[address].decimals or 0))
        * (start.rate if address == start.token else start.other_rate)
        for address, amount in amounts.items()
    )


def coins_held(
    positions: Iterable[PositionSnapshot], tokens: Mapping[Address, Token], network: Network
) -> dict[str, float]:
    """By coin, as venues call it, what these positions hold; dollars are no coin, and what is
    worth a share of another is left out."""
    sums: dict[str, float] = {}
    for position in positions:
        key = position.pool.key
        for address, amount in (
            (key.currency0, position.amount0),
            (key.currency1, position.amount1),
        ):
            token = tokens[address]
            if amount and not is_dollar(network, token) and not is_rated(token):
                coin = coin_of(network, token)
                sums[coin] = sums.get(coin, 0.0) + amount / 10 ** (token.decimals or 0)
    return sums


def position_gain(
    pair: Pair,
    snapshot: PositionSnapshot,
    changes: Sequence[LiquidityChange],
    start: HedgeStart,
    units: tuple[float, float] = (1.0, 1.0),
) -> float | None:
    """Its worth and fees less those at the start; what moved meanwhile at the price of now.

    The units are what the pair's second token was worth in dollars at the start, and is now.
    """
    amount0, amount1 = snapshot.inside
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
    return None if worth is None or before is None else worth * units[1] - before * units[0]


def _quote_dollars(
    network: Network, pair: Pair, start: HedgeStart, snapshot: PositionSnapshot, mark: float
) -> tuple[float, float]:
    """By the contract's mark, then and now: the pool tells what one coin is in the other."""
    if is_dollar(network, pair.quote):
        return 1.0, 1.0
    worths = []
    moments = (int(start.sqrt_price_x96), start.mark), (snapshot.pool.sqrt_price_x96, mark)
    for sqrt_price_x96, at_mark in moments:
        price = pair.price(sqrt_price_x96)
        coin = at_mark * start.rate
        apart = start.token == pair.base.address and price is not None
        worths.append(coin / price.value if apart and price is not None else coin)
    return worths[0], worths[1]


def _dollars(pair: Pair, amount0: int, amount1: int, sqrt_price_x96: int) -> float | None:
    price = pair.price(sqrt_price_x96)
    if price is None:
        return None
    base, quote = (amount1, amount0) if pair.inverted else (amount0, amount1)
    coins = base / 10 ** (pair.base.decimals or 0)
    return float(coins * price.value + quote / 10 ** (pair.quote.decimals or 0))


class CoinDelta(NamedTuple):
    """What positions hold of a coin, and what is short of it for them."""

    coin: str
    held: float
    short: float


class HedgeResults(Struct, frozen=True):
    results: tuple[tuple[PositionHedge, HedgedResult], ...] = ()
    left: tuple[PositionHedge, ...] = ()
    """Of positions that are no more."""
    deltas: tuple[CoinDelta, ...] = ()
    wanted: tuple[str, ...] = ()
    """Commands somebody typed while the venue did not answer."""
    trouble: str = ""
    """Why they are not known."""


async def read_hedge_results(
    session: Session, sources: Sources, overviews: Sequence[Overview]
) -> HedgeResults:
    """Of positions that are held and were ever hedged; without trades nothing is asked for."""
    if not session.home.trades.exists():
        return HedgeResults()
    chain_id = session.network.chain_id
    held = {position.ref: position for seen in overviews for position in seen.wallet.positions}
    owners = {seen.wallet.owner for seen in overviews}
    tokens = {address: token for seen in overviews for address, token in seen.tokens.items()}
    results: list[tuple[PositionHedge, HedgedResult]] = []
    left: list[PositionHedge] = []
    try:
        if not has_hedges(session.home):
            return HedgeResults()
        async with open_venue(session) as opened:
            hedges = await read_hedges(opened.journal, opened.venue)
            for ref, legs in hedges_by_position(hedges, chain_id).items():
                snapshot = held.get(ref)
                if snapshot is not None:
                    told = await hedged_results(opened, sources, snapshot, tokens, legs)
                    results += zip(legs, told, strict=True)
                else:
                    left += [
                        leg
                        for leg in legs
                        if leg.first.wallet in owners and standing_short(leg) > _DUST
                    ]
    except (VenueUnreadError, *CLOSED_TO_LOOKERS) as error:
        return HedgeResults(trouble=str(error))
    short: dict[str, float] = {}
    for hedge in (*(hedge for hedge, _ in results), *left):
        short[hedge.first.coin] = short.get(hedge.first.coin, 0.0) + hedge.short
    coins = coins_held(held.values(), tokens, session.network)
    deltas = [CoinDelta(coin, coins.get(coin, 0.0), sold) for coin, sold in short.items()]
    wanted = [f"zuno unhedge {wanted}{part}" for wanted, part in wanted_closings(session).items()]
    return HedgeResults(tuple(results), tuple(left), tuple(deltas), tuple(wanted))


def hedged_lines(hedge: PositionHedge, result: HedgedResult) -> tuple[str, ...]:
    """The sum, what the hedge's part is made of, and how long the venue carries it."""
    start, account = hedge.first, result.account
    why = f" ({result.unknown})" if result.unknown else ""
    return (
        f"#{start.token_id} and its hedge since {iso_time(result.since)[:16].replace('T', ' ')}: "
        f"position {dollar_gain(result.position_usd)}, hedge {dollar_gain(result.hedge_usd)}, "
        f"together {dollar_gain(result.together_usd)}{why}",
        f"  long {result.held:.4g} {start.coin}, short {result.short:g} at {result.mark:,.2f}, net "
        f"{result.net:+.4g}; fees ${account.fees:,.2f}, funding {dollar_gain(account.funding)} so "
        f"far, {dollar_gain(-result.funding_usd_a_day)} a day",
        *_margin_line(result, start.coin),
    )


def _margin_line(result: HedgedResult, coin: str) -> tuple[str, ...]:
    if result.margin_used is None or result.to_liquidation is None or result.short <= _DUST:
        return ()
    return (
        f"  the account carries {result.margin_used:.2f}× its worth there; {coin} may rise by "
        f"about {max(result.to_liquidation, 0.0):.0%}, and all else there move as far against it, "
        "before the venue closes something",
    )


def hedged_document(hedge: PositionHedge, result: HedgedResult) -> dict[str, Json]:
    return {
        **_hedge_document(hedge),
        **document(result, "net", "together_usd"),
        "ratio": hedge.last.ratio,
    }


def _hedge_document(hedge: PositionHedge) -> dict[str, Json]:
    return {**document(hedge.first), "waiting": hedge.waiting}


def hedge_result_lines(found: HedgeResults) -> tuple[str, ...]:
    """Under a list of positions: nothing where nothing was ever hedged."""
    if found.trouble:
        return ("", f"Hedges are not known: {found.trouble}")
    lines = [line for hedge, result in found.results for line in hedged_lines(hedge, result)]
    lines += [
        f"#{hedge.first.token_id} is gone, and {standing_short(hedge):g} {hedge.first.coin} is "
        f"still short for it. Close it: zuno unhedge {hedge.first.token_id}"
        for hedge in found.left
    ]
    lines += [
        f"{delta.coin}: {delta.held:.4g} held, {delta.short:.4g} short, "
        f"net {delta.held - delta.short:+.4g}"
        for delta in found.deltas
    ]
    lines += [f"Asked for while the venue was silent: {command}" for command in found.wanted]
    return ("", *lines) if lines else ()


def hedge_results_document(found: HedgeResults) -> Json:
    """None where they are not known."""
    if found.trouble:
        return None
    held: list[Json] = [hedged_document(hedge, result) for hedge, result in found.results]
    left: list[Json] = [
        {**_hedge_document(hedge), "short": hedge.short, "gone": True} for hedge in found.left
    ]
    return [*held, *left]


_WANTED = "unhedge-wanted"
"""Closings somebody asked for while the venue did not answer."""


def note_wanted(session: Session, subject: PositionName, percent: int | None) -> None:
    with closing(session.open_store()) as store:
        part = "" if percent is None else f" {percent}"
        store.put(_WANTED, _wanted_key(session, subject), part, now=time.time())


def forget_wanted(session: Session, subject: PositionName) -> None:
    with closing(session.open_store()) as store:
        store.forget_key(_WANTED, _wanted_key(session, subject))


def wanted_closings(session: Session) -> dict[str, str]:
    """By position or "all", the part that was to be closed, as it is typed."""
    with closing(session.open_store()) as store:
        kept = store.items(_WANTED)
    here = _wanted_key(session, "")
    return {
        key.removeprefix(here): str(part)
        for key, part in sorted(kept.items())
        if key.startswith(here)
    }


def _wanted_key(session: Session, subject: PositionName | Literal[""]) -> str:
    return f"{session.network.chain_id}:{subject}"


_WRAPPED = {"WBTC": "BTC", "CBBTC": "BTC", "TBTC": "BTC", "STETH": "ETH"}
"""Coins that are worth one of another, by what venues call that one."""
_RATED = {
    **dict.fromkeys(("WSTETH", "WEETH", "RETH", "CBETH", "EZETH"), "ETH"),
    **{coin: f"1000{coin}" for coin in ("PEPE", "SHIB", "FLOKI", "BONK", "XEC", "LUNC")},
}
"""Coins that are worth a share or a multiple of what a contract is of: its mark tells which."""


def coin_of(network: Network, token: Token) -> str:
    """What venues call it: wrapped coins trade under their own name."""
    if token.address in (NATIVE, network.wrapped_native):
        return network.native_symbol
    label = token.label.upper()
    return _WRAPPED.get(label) or _RATED.get(label, label)


def is_rated(token: Token) -> bool:
    return token.label.upper() in _RATED


def is_dollar(network: Network, token: Token) -> bool:
    listed = listed_token(network, token.address)
    return listed is not None and listed.kind is TokenClass.DOLLAR
