"""A closer look at one position: its facts at once, its pictures as they are read."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from fractions import Fraction

from msgspec.structs import replace

from agents.lp.advice_words import edge_sentence
from agents.numbers.advice import week_edge
from chain.base.units import DAY, Known, Quantity, Unknown
from chain.bookkeeping.wallet_history import WalletHistory, read_wallet_history
from chain.contracts.addresses import checksum
from chain.history.events import fee_terms
from chain.history.hour_reader import HourMemory, read_given_hours
from chain.math.liquidity import Amounts
from chain.pools.depth import read_depths, read_states
from chain.positions.by_day import DayMemory, DayOfRange, settled_days
from chain.positions.overview import OnePosition, read_one, read_worths
from chain.positions.performance import Performance, read_performance
from chain.prices.price import PriceBook, WorthUnit
from chain.protocols.past import LiquidityChange
from chain.protocols.reference import position_label
from chain.read.block_reader import OneBlock
from chain.tokens.pair import Pair, pair_of
from zuno_tui.app.earned import day_worth
from zuno_tui.app.history import sent_plans
from zuno_tui.app.inspect import PositionPage
from zuno_tui.app.positions import reading_progress
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.events import DetailReady, Said
from zuno_tui.desk.jobs import Progress
from zuno_tui.intents.intents import Inspect
from zuno_tui.present.charts import liquidity_points
from zuno_tui.present.history import profit_figures
from zuno_tui.present.past_prices import past_chart
from zuno_tui.present.position import DetailView, KeyFigure, gain_tone
from zuno_tui.present.words import UNKNOWN, amount_of, short_gain


def _each(pair: Pair, prices: PriceBook, unit: WorthUnit) -> Fraction | None:
    """What the smallest unit of currency1 is worth; None where nobody prices it."""
    price = prices.price(pair.token1.address, unit)
    if isinstance(price, Unknown) or pair.token1.decimals is None:
        return None
    return price.value * Fraction(1, 10**pair.token1.decimals)


def days_view(
    days: Sequence[DayOfRange], pair: Pair, prices: PriceBook, unit: WorthUnit
) -> tuple[tuple[str, float, float], ...]:
    """Day, fees and LVR in the unit the desk counts in; nothing where it cannot be priced."""
    each = _each(pair, prices, unit)
    if each is None:
        return ()
    shown = ((day, day_worth(day, Known(each, "its price now"), unit)) for day in days)
    return tuple(
        (
            f"{datetime.fromtimestamp(day.begin, UTC):%d %b}",
            float(worth.fees.value),
            float(worth.lvr.value),
        )
        for day, worth in shown
        if isinstance(worth.fees, Known) and isinstance(worth.lvr, Known)
    )


def _days_told(days: Sequence[DayOfRange], opened: int) -> Sequence[DayOfRange]:
    """All of a position that is little older than a week, so that its fees are all there."""
    whole = bool(days) and days[0].begin <= opened and len(days) <= _MOST_DAYS
    return days if whole else days[-_DAYS:]


def days_sum(
    days: Sequence[tuple[str, float, float]],
    against_holding: Quantity[Fraction],
    unit: WorthUnit,
    *,
    since_opened: bool,
) -> tuple[KeyFigure, ...]:
    """What the days come to, beside the result against holding that is told for the whole."""
    if not days:
        return ()
    net = Known(_rounded(Fraction(sum(fees - lvr for _, fees, lvr in days)), unit), "hours")
    told = _gain(f"fees less LVR, {len(days)} days (UTC)", net, unit)
    if isinstance(against_holding, Unknown):
        return (told,)
    # Of the figures as they are shown: a reader adds them up.
    rest = Known(_rounded(against_holding.value, unit) - net.value, "hours")
    before = "" if since_opened else f", all before {days[0][0]}"
    return (
        told,
        _gain(f"+ other effects{before}", rest, unit),
        _gain("= vs holding since entry", against_holding, unit),
    )


def _rounded(value: Fraction, unit: WorthUnit) -> Fraction:
    return Fraction(round(100 * value), 100) if unit is WorthUnit.USD else value


def _gain(label: str, value: Quantity[Fraction], unit: WorthUnit) -> KeyFigure:
    return KeyFigure(label, short_gain(value, unit), gain_tone(value))


def history_lines(changes: Sequence[LiquidityChange], pair: Pair) -> Iterator[str]:
    """What was put in and taken out, the newest first."""
    for change in reversed(changes):
        when = datetime.fromtimestamp(change.timestamp, UTC)
        verb = "put in" if change.liquidity_delta > 0 else "took out"
        told = [f"{verb} {_both(change.amounts, pair)}"] if change.liquidity_delta else []
        if isinstance(change.fees, Unknown) or any(change.fees.value):
            told.append(f"collected {_both(change.fees, pair)}")
        yield f"{when:%Y-%m-%d %H:%M} · {', '.join(told) or 'nothing moved'}"


def _both(amounts: Quantity[Amounts], pair: Pair) -> str:
    if isinstance(amounts, Unknown):
        return f"{UNKNOWN}: {amounts.reason}"
    tokens = zip(amounts.value, (pair.token0, pair.token1), strict=True)
    return " + ".join(f"{amount_of(amount, token)} {token.label}" for amount, token in tokens)


_PATIENCE = 120.0
_DAYS, _MONTH = 7, 30
_MOST_DAYS = 9
_LEAST_REACH, _MOST_REACH = 600, 12_000
"""Ticks to either side of the price whose liquidity is drawn."""
_ABOVE = ("range", "price", "put in", "taken out", "fees earned", "vs holding", "delta")
"""What stands over the pictures, in them, or in what it holds: not in the list."""
_IN_FIGURES = " = "
"""Before what amounts are worth, which stands above."""
_WITH_HOOK = (*_ABOVE, "hook", "")
"""A hook's sentences have a place of their own."""
_WHOLE_HEX = re.compile(r"\b(0x[0-9a-fA-F]{4})[0-9a-fA-F]{32,56}([0-9a-fA-F]{4})\b")


class Details:
    def __init__(self, context: DeskContext) -> None:
        self._context = context

    def inspect(self, intent: Inspect) -> None:
        self._context.jobs.start(
            "inspect",
            f"Reading position {position_label(intent.ref)}",
            lambda progress: self._read(intent, progress),
            seconds=_PATIENCE,
            opens_page=True,
        )

    async def _read(self, intent: Inspect, progress: Progress) -> None:
        context, session = self._context, self._context.session
        position = await read_one(context.display_sources, intent.ref, session.settings.unit)
        if position is None:
            label = position_label(intent.ref)
            words = f"{session.network.title} has no position {label}, or it was burned."
            context.tell(Said(words, "warn", intent.twin))
            return
        performance = await read_performance(context.display_sources, [position.snapshot])
        pool = position.snapshot.pool
        token0, token1 = position.tokens[pool.key.currency0], position.tokens[pool.key.currency1]
        pair = pair_of(self._context.session.network, token0, token1, pool.sqrt_price_x96)
        view = self._facts(position, performance, pair)
        context.tell(DetailReady(view))
        progress("Reading a week of swaps")
        facts = view
        view = await self._drawn(position, performance, pair, facts, progress, days=_DAYS + 1)
        context.tell(DetailReady(view, opens=False))
        if not view.owned_by:
            progress("Reading the result since entry")
            won = performance.gains(view.ref, pair.token1, position.prices, WorthUnit.USD)
            # With the positions that came before it.
            history = await self._past()
            found = (result for result in history.results if view.ref in result.story.refs)
            profit = next((profit_figures(result, won.against_holding) for result in found), ())
            view = replace(view, profit=profit)
            context.tell(DetailReady(view, opens=False))
        changes = performance.accounts[intent.ref].changes
        opened = changes[0].timestamp if changes else position.snapshot.block.timestamp
        if position.snapshot.block.timestamp - opened > (_DAYS + 1) * DAY:
            progress("Reading a month of swaps for the chart")
            month = await self._drawn(position, performance, pair, facts, progress, days=_MONTH + 1)
            context.tell(DetailReady(replace(view, price=month.price), opens=False))

    def remember_past(self) -> None:
        """Once, while the chain still knows it: a fast market is past thousands of blocks soon."""
        self._context.jobs.start(
            "past",
            "Reading the wallet's past",
            lambda _: self._past(),
            seconds=_PATIENCE,
            asked=False,
        )

    async def _past(self) -> WalletHistory:
        context, sources = self._context, self._context.display_sources
        (worth,) = await read_worths(sources, [context.wallet], WorthUnit.USD, every_protocol=True)
        plans = sent_plans(context.session).get((sources.network.chain_id, context.wallet), {})
        return await read_wallet_history(sources, worth, plans)

    def _facts(self, position: OnePosition, performance: Performance, pair: Pair) -> DetailView:
        ref = position.snapshot.ref
        page = PositionPage(self._context.session, position, performance)
        (_, title), *facts = page.lines()
        hook, owner = position.snapshot.pool.hook, position.snapshot.owner
        elsewhere = _WITH_HOOK if hook.present else _ABOVE
        return DetailView(
            ref=ref,
            title=f"{position_label(ref)} {title}",
            facts=tuple(
                (name, _WHOLE_HEX.sub(r"\1…\2", words.partition(_IN_FIGURES)[0]))
                for name, words in facts
                if name not in elsewhere
            ),
            price=None,
            liquidity=(),
            fees_by_day=(),
            history=tuple(history_lines(performance.accounts[ref].changes, pair)),
            hook=hook.sentences if hook.present else (),
            figures=tuple(page.key_figures()),
            standing=page.range_standing,
            owned_by="" if owner == self._context.wallet else checksum(owner),
            copied=tuple(
                f"{name}: {words}" if name else f"  {words}"
                for name, words in [(position_label(ref), title), *facts]
            ),
        )

    async def _drawn(
        self,
        position: OnePosition,
        performance: Performance,
        pair: Pair,
        view: DetailView,
        progress: Progress,
        *,
        days: int,
    ) -> DetailView:
        sources, snapshot = self._context.display_sources, position.snapshot
        client, network, store = sources.client, sources.network, sources.store
        pool = snapshot.pool
        read = await read_given_hours(
            client,
            network,
            {pool.pool_id: fee_terms(pool)},
            days * DAY,
            memory=HourMemory(store, network, sources.clock),
            head=snapshot.block,
            watch=reading_progress(progress),
        )
        hours = read[pool.pool_id]
        account = performance.accounts[snapshot.ref]
        opened = account.changes[0].timestamp if account.changes else snapshot.block.timestamp
        memory = DayMemory(store, network, sources.clock)
        settled = _days_told(settled_days(snapshot.identity, account, hours, memory), opened)
        pays = "pays", edge_sentence(week_edge(hours))
        unit = self._context.session.settings.unit
        shown = days_view(settled, pair, position.prices, unit)
        won = performance.gains(snapshot.ref, pair.token1, position.prices, unit)
        return replace(
            view,
            facts=(*view.facts, pays),
            price=past_chart(pair, snapshot, hours, account, _each(pair, position.prices, unit)),
            liquidity=await self._liquidity(position, pair),
            fees_by_day=shown,
            days_sum=days_sum(
                shown,
                won.against_holding,
                unit,
                since_opened=bool(settled) and settled[0].begin <= opened,
            ),
        )

    async def _liquidity(
        self, position: OnePosition, pair: Pair
    ) -> tuple[tuple[float, float], ...]:
        sources, snapshot = self._context.display_sources, position.snapshot
        identity, tick = snapshot.identity, snapshot.pool.tick
        farthest = max(abs(identity.tick_lower - tick), abs(identity.tick_upper - tick))
        reach = min(max(farthest * 5 // 4, _LEAST_REACH), _MOST_REACH)
        here = OneBlock(sources.client, sources.network)
        [state] = (await read_states(here, sources.network, [snapshot.pool.key])).states
        depths = await read_depths(here, sources.network, [state], reach=reach)
        return liquidity_points(pair, depths[state.pool_id], reach)
