"""The positions pane's reader: what was known first, then the chain again and again."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from chain.base.store import Store, StoreError, read_as
from chain.base.units import DAY, HOUR, Known, Unknown
from chain.contracts.networks import Address, Network
from chain.history.events import fee_terms
from chain.history.hour_reader import HourMemory
from chain.history.hours import hour_of
from chain.positions.overview import Overview, read_overview, read_worths
from chain.positions.performance import Performance, read_performance
from chain.protocols.reference import PositionRef, stored_position
from chain.protocols.v4.memory import SearchProgress
from chain.rpc.errors import StaleHead
from chain.tokens.pair import pair_of
from zuno_tui.app.earned import (
    PositionEarnings,
    fees_by_day,
    read_closed,
    read_earnings,
    remembered_earnings,
)
from zuno_tui.app.feature import position_notes
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.events import OutageChanged, PositionsChanged, Said
from zuno_tui.desk.jobs import fault_words, sentences_of
from zuno_tui.desk.portfolio import ClosedHours, EtherHistory
from zuno_tui.present.charts import window_chart, with_last_day
from zuno_tui.present.glance import DayGain, EtherSample, glance_of
from zuno_tui.present.outage import OutageView, endpoint_words
from zuno_tui.present.past_day import closed_hours, day_charts, ether_day
from zuno_tui.present.past_prices import past_chart
from zuno_tui.present.position import Won, positions_view, won_by_position, won_now
from zuno_tui.present.search_words import search_words
from zuno_tui.present.views import ChartView, PositionsView
from zuno_tui.settings.monitor import monitor_settings

_NAMESPACE = "desk-positions"
_WEEK = 7
_KEPT_ROWS = 1_000
"""More would make opening slow, and nobody reads them before the first fresh ones are there."""


def remember(
    store: Store, network: Network, wallet: Address, view: PositionsView, *, now: float
) -> None:
    # Charts are long, and are read anew before anybody could look at them all.
    rows = tuple(replace(row, chart=None, week=None) for row in view.rows[:_KEPT_ROWS])
    kept = to_builtins(replace(view, rows=()))
    kept["rows"] = [{**to_builtins(row), "token_id": str(row.ref)} for row in rows]
    store.put(_NAMESPACE, _key(network, wallet), kept, now=now)


def remembered_view(store: Store, network: Network, wallet: Address) -> PositionsView | None:
    """What was kept; None when there is nothing, or it was written by another version."""
    kept = store.get(_NAMESPACE, _key(network, wallet))
    if isinstance(kept, dict):
        rows = kept.get("rows", ())
        refs = [stored_position(str(row["token_id"])) for row in rows]
        named = [{**row, "token_id": ref} for row, ref in zip(rows, refs, strict=True)]
        kept = {**kept, "rows": named}
    known = read_as(PositionsView, kept)
    return None if known is None else replace(known, stale=None, remembered=True, glance=None)


def _key(network: Network, wallet: Address) -> str:
    return f"{network.chain_id}:{wallet}"


_COARSE_SECONDS = 15.0
_SAME_AGE_SECONDS = 60.0


class Rhythm(Struct, frozen=True):
    """How often the chain is asked, in seconds."""

    between_reads: float
    longest_pause: float
    """After faults in a row."""
    between_gains: float
    """Profit takes the swaps of a day: it is read less often, and when a position is new."""
    between_logs: float = 0.0
    """Strangers who may move positions are looked for less often: the watch does it, too."""
    between_notes: float = 30.0
    """The least time between two writings of what was read."""
    patience: float = 900.0
    """Each request has an end of its own; a wallet's first read may go through years of logs."""
    between_heads: float = 2.0
    """The least time between two reads that announced blocks ask for."""


LIVE = Rhythm(between_reads=30.0, longest_pause=120.0, between_gains=1800.0, between_logs=600.0)
EMBEDDED = Rhythm(between_reads=6.0, longest_pause=8.0, between_gains=45.0, between_heads=0.5)
_BETWEEN_WEEKS = 600.0
"""The least time between two reads of the week: where an hour of the chain takes a minute, the
day that is read with the gains tells its end."""


class PositionsReader:
    """One read at a time; a fault leaves the last rows standing, with its words beside them."""

    def __init__(
        self,
        context: DeskContext,
        rhythm: Rhythm,
        noticed: Callable[[Overview], None] = lambda _: None,
    ) -> None:
        self._context = context
        self._rhythm = rhythm
        self._noticed = noticed
        """Told after every read."""
        self._view = PositionsView()
        self._won: dict[PositionRef, Won] = {}
        self._performance: Performance | None = None
        self._results_at: float | None = None
        self._charts: dict[PositionRef, ChartView] = {}
        self._past: tuple[EtherSample, ...] = ()
        self._day: DayGain | None = None
        self._fees_by_day: tuple[tuple[str, float], ...] = ()
        self._days_of: frozenset[PositionRef] = frozenset()
        self._closed: tuple[PositionEarnings, ...] = ()
        """As they were when the days were read last, with those that were held then."""
        self._weeks: dict[PositionRef, ChartView] = {}
        """Each ends with the day that was read last."""
        self._days_until = 0
        """The end of the last hour they were read in."""
        self._days_at = -_BETWEEN_WEEKS
        self._idle: Fraction | None = None
        """What lies in the wallet, in the unit the desk counts in."""
        self._faults = 0
        self._lost_at = 0.0
        self._noted_at = 0.0
        self._gains_at = 0.0
        self._gains_of: frozenset[PositionRef] = frozenset()
        self._gaining: asyncio.Task[None] | None = None
        self._daily: asyncio.Task[None] | None = None
        self._overview: Overview | None = None
        self._old_blocks: list[StaleHead] = []
        """Of the last read, where there was no new one."""
        self._reading = context.sources.at_last_block(self._old_blocks.append)
        sources, network = context.sources, context.session.network
        key = f"{_key(network, context.wallet)}:{context.session.settings.unit.value}"
        self._history = EtherHistory(sources.store, key)
        self._hours = ClosedHours(sources.store, key)
        self._wanted = asyncio.Event()
        self.tried = asyncio.Event()
        """Set once the chain was asked for the first time, whatever it said."""

    @property
    def view(self) -> PositionsView:
        return self._view

    def show_remembered(self) -> None:
        context = self._context
        known = remembered_view(context.sources.store, context.session.network, context.wallet)
        if known is not None:
            self._won = {
                row.ref: Won(
                    row.against_holding, row.against_holding_tone, row.net_a_day, row.fee_apr
                )
                for row in known.rows
            }
            self._show(known)

    def soon(self) -> None:
        """Read now rather than when it is due."""
        self._wanted.set()

    def head_announced(self, number: int) -> None:
        """Read a block nobody has seen yet; while reading fails, its own pauses count."""
        if not self._faults and number > (self._view.block or 0):
            self._wanted.set()

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                self._wanted.clear()
                await self.read()
                await self._rest()
        finally:
            for task in (self._gaining, self._daily):
                if task is not None:
                    task.cancel()

    async def read(self) -> None:
        context = self._context
        self._old_blocks.clear()
        try:
            async with asyncio.timeout(self._rhythm.patience):
                overview = await read_overview(
                    self._reading,
                    context.wallet,
                    context.session.settings.unit,
                    watch=self._scanning,
                    between_logs=self._rhythm.between_logs,
                    every_protocol=True,
                )
                idle = self._gaining is None or self._gaining.done()
                # What leaves a position comes to the wallet: both are told as of one moment.
                if _held(overview) != self._gains_of or (idle and self._is_due(overview)):
                    self._idle = await self._read_idle()
            if self._old_blocks:
                self._overview = overview
                shown = self._drawn(overview, float(overview.wallet.block.timestamp))
                self._tell_fault(self._old_blocks[0], shown)
                self._gain(overview)
            else:
                self._take(overview)
        except Exception as error:  # whatever it was, the last rows stay and the reading goes on
            self._tell_fault(error, self._view)
        finally:
            self.tried.set()

    def _tell_fault(self, error: Exception, shown: PositionsView) -> None:
        self._faults += 1
        words, context = fault_words(error), self._context
        context.status.show_reading(None)
        self._show(replace(shown, stale=words))
        context.status.show_trouble(words)
        trouble = "has no new block" if isinstance(error, StaleHead) else "cannot be read"
        self._tell_outage(trouble, sentences_of(error) or words)

    def _tell_outage(self, trouble: str, happened: str) -> None:
        context = self._context
        session, now = context.session, context.clock()
        if self._faults == 1:
            self._lost_at = now
        view = OutageView(
            f"{session.network.title} {trouble}",
            happened,
            endpoint_words(session.settings, session.network),
            since=self._lost_at,
            tries=self._faults,
            next_at=now + self._pause,
            known_at=self._view.read_at,
        )
        context.tell(OutageChanged(view))

    def _take(self, overview: Overview) -> None:
        context = self._context
        now = context.clock()
        if self._faults:
            context.tell(OutageChanged(None))
            context.tell(Said(f"{context.session.network.title} is being read again.", "good"))
        self._faults = 0
        context.status.show_reading(None)
        self._remember_ether(overview, now)
        self._overview = overview
        self._show(self._drawn(overview, now))
        context.status.show_block(overview.wallet.block.number, now)
        self._noticed(overview)
        if now - self._noted_at >= self._rhythm.between_notes:
            self._noted_at = now
            self.note()
        self._gain(overview)

    def _gain(self, overview: Overview) -> None:
        idle = self._gaining is None or self._gaining.done()
        if idle and self._is_due(overview):
            self._gains_of = _held(overview)
            self._gaining = asyncio.create_task(self._read_gains(overview))

    def _is_due(self, overview: Overview) -> bool:
        """When time has passed, or positions came or went."""
        passed = self._context.clock() - self._gains_at
        return passed >= self._rhythm.between_gains or _held(overview) != self._gains_of

    async def _read_idle(self) -> Fraction:
        context = self._context
        unit = context.session.settings.unit
        (worth,) = await read_worths(self._reading, [context.wallet], unit)
        return worth.idle_value

    def note(self) -> None:
        """Write down what is shown, for the next run to begin with."""
        context, view = self._context, self._view
        if view.remembered or view.block is None:
            return
        try:
            network = context.session.network
            remember(context.sources.store, network, context.wallet, view, now=context.clock())
        except StoreError as error:
            context.status.show_trouble(fault_words(error))

    async def _read_gains(self, overview: Overview) -> None:
        context, began = self._context, self._context.clock()
        try:
            async with asyncio.timeout(self._rhythm.patience):
                performance = await read_performance(self._reading, overview.wallet.positions)
        except Exception as error:  # the rows are there without it; it is tried again when due
            context.status.show_trouble(fault_words(error))
        else:
            session, daily = context.session, performance.daily
            self._won = won_by_position(overview, performance, session.settings.unit)
            self._performance = performance
            self._results_at = began
            self._charts = day_charts(session.network, overview, daily)
            self._end_weeks(self._weeks)
            self._past = ether_day(session.network, overview, daily)
            end = hour_of(overview.wallet.block.timestamp)
            known = max((result.measured_seconds for result in daily.values()), default=0) // HOUR
            gains = closed_hours(session.network, overview, performance)
            self._day = self._hours.day(gains, end, known, now=context.clock())
            self._bring_days_up(overview, performance, end)
            self._show_again()
            if self._daily is None or self._daily.done():
                self._daily = asyncio.create_task(self._read_days(overview, end))
        self._gains_at = context.clock()

    def _bring_days_up(self, overview: Overview, performance: Performance, end: int) -> None:
        """Today goes on with every read of the day; nothing is asked for it. What was closed
        meanwhile is told with the next read of all days."""
        if not self._days_of or not self._days_of <= _held(overview):
            return
        begin, unit = _week_begin(end), self._context.session.settings.unit
        earned = remembered_earnings(self._reading, overview, performance, unit, begin)
        if earned is not None:
            self._fees_by_day = fees_by_day((*earned, *self._closed), begin)

    async def _read_days(self, overview: Overview, end: int) -> None:
        """Once an hour at most, and only where the week of every pool was read for something else:
        of a busy pool it is long to read. The embedded chain has it at hand."""
        sources, held = self._reading, overview.wallet.positions
        memory = HourMemory(sources.store, sources.network, sources.clock)
        now = self._context.clock()
        if end == self._days_until or now - self._days_at < _BETWEEN_WEEKS or not held:
            return
        self._days_until, self._days_at = end, now
        begin = _week_begin(end)
        kept = (memory.load(snapshot.pool.pool_id, fee_terms(snapshot.pool)) for snapshot in held)
        at_hand = sources.network.clock == "head"
        if not (at_hand or all(hours is not None and hours.since <= begin for hours in kept)):
            return
        unit = self._context.session.settings.unit
        try:
            async with asyncio.timeout(self._rhythm.patience):
                earned = await read_earnings(sources, overview, unit, _WEEK, lambda _: None)
                closed = await read_closed(
                    sources, overview, unit, _WEEK, lambda _: None, held=earned
                )
        except Exception as error:  # the rest is there without it; an hour later it is tried again
            self._context.status.show_trouble(fault_words(error))
            return
        self._days_of, self._closed = _held(overview), closed.positions
        self._fees_by_day = fees_by_day((*earned, *closed.positions), begin)
        self._end_weeks(_week_charts(sources.network, overview, earned))
        self._show_again()

    def _end_weeks(self, weeks: Mapping[PositionRef, ChartView]) -> None:
        self._weeks = {
            ref: with_last_day(week, self._charts[ref]) if ref in self._charts else week
            for ref, week in weeks.items()
        }

    def _show_again(self) -> None:
        """The rows of the last read with what is known of them by now."""
        if self._overview is not None and self._view.read_at is not None:
            drawn = self._drawn(self._overview, self._view.read_at)
            self._show(replace(drawn, stale=self._view.stale))

    def _drawn(self, overview: Overview, now: float) -> PositionsView:
        session, samples = self._context.session, self._history.after(self._past)
        watching = monitor_settings(session.settings)
        won, unit = self._won, session.settings.unit
        if self._performance is not None:
            old = now - (self._results_at or now) >= _SAME_AGE_SECONDS
            won = won_now(overview, self._performance, won, unit, old=old)
        view = positions_view(
            session.network,
            overview,
            won,
            watching,
            read_at=now,
            charts=self._charts,
            weeks=self._weeks,
        )
        glance = glance_of(overview, self._day, samples, self._idle, self._fees_by_day)
        noted = position_notes(session)
        rows = tuple(
            replace(row, notes=(*row.notes, *noted[row.ref])) if row.ref in noted else row
            for row in view.rows
        )
        return replace(view, rows=rows, glance=glance, results_at=self._results_at)

    def _remember_ether(self, overview: Overview, now: float) -> None:
        ether, block = overview.prices.ether, overview.wallet.block
        if isinstance(ether, Unknown):
            return
        sample = EtherSample(block.timestamp, float(ether.value))
        try:
            self._history.add(sample, now=now)
        except StoreError as error:
            self._context.status.show_trouble(fault_words(error))

    def _scanning(self, progress: SearchProgress) -> None:
        self._context.status.show_reading(search_words(progress))

    def _show(self, view: PositionsView) -> None:
        if _differs(self._view, view):
            self._view = view
            self._context.tell(PositionsChanged(view))

    @property
    def _pause(self) -> float:
        """Seconds until the next read, the longer the more faults came in a row."""
        pause = self._rhythm.between_reads * 2.0 ** min(self._faults, 6)
        return min(pause, self._rhythm.longest_pause)

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(self._pause):
                await self._wanted.wait()
        except TimeoutError:
            return


def _week_begin(end: int) -> int:
    return end - end % DAY - (_WEEK - 1) * DAY


def _week_charts(
    network: Network, overview: Overview, earned: Sequence[PositionEarnings]
) -> dict[PositionRef, ChartView]:
    charts = {}
    for position in earned:
        snapshot, key = position.snapshot, position.snapshot.pool.key
        tokens = overview.tokens[key.currency0], overview.tokens[key.currency1]
        pair = pair_of(network, *tokens, snapshot.pool.sqrt_price_x96)
        each = position.unit1.value if isinstance(position.unit1, Known) else None
        if position.hours is None:
            continue
        chart = past_chart(pair, snapshot, position.hours, position.account, each)
        if chart is not None:
            charts[snapshot.ref] = window_chart(chart, _WEEK * DAY)
    return charts


def _held(overview: Overview) -> frozenset[PositionRef]:
    return frozenset(position.ref for position in overview.wallet.positions)


def _differs(before: PositionsView, after: PositionsView) -> bool:
    """Ages are shown coarsely: that the same was read again is only worth telling now and then."""
    if before.read_at is None or after.read_at is None:
        return before != after
    later = after.read_at - before.read_at
    return later >= _COARSE_SECONDS or replace(before, read_at=after.read_at) != after
