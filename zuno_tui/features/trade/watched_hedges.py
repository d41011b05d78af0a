"""Hedges as the monitor asks for them."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from agents.monitor.alerts.alert import Finding, Severity
from agents.monitor.heartbeat import Note, Troubled
from agents.monitor.rules.features import FeatureNews
from chain.base.errors import ZunoError
from chain.base.home import Home, locked_if_free
from chain.base.units import DAY
from chain.contracts.networks import Network
from chain.exchange.orders.ccxt_client import order_bell
from chain.exchange.orders.engine import tend_orders
from chain.exchange.orders.hedge import PositionHedge
from chain.exchange.orders.journal import KeyEnd, TradeJournal
from chain.exchange.orders.venue import KEY_WARNED_DAYS, KnowsKeyEnd
from chain.prices.market_http import MarketError
from chain.protocols.reference import PositionRef
from zuno_tui.app.session import Session, SettingsSource
from zuno_tui.features.trade.alert_kinds import TradeAlert
from zuno_tui.features.trade.hedge_alerts import AttachedHedges, HeldHedge
from zuno_tui.features.trade.hedges import (
    hedges_by_position,
    read_hedges,
    standing_short,
    venue_risk,
    wanted_closings,
)
from zuno_tui.features.trade.intents import BAND
from zuno_tui.features.trade.venue import (
    CLOSED_TO_LOOKERS,
    OpenVenue,
    VenueUnreadError,
    has_hedges,
    open_venue,
    taken_urgent,
    trades_by_journal,
    unfinished_venues,
    venue_entry,
)
from zuno_tui.settings import Settings, load_settings

_KEY_SECONDS = 6 * 3_600.0
"""How often a venue is asked until when a key is good."""
_BETWEEN_LOOKS = 1.0
"""At least, however much a venue tells."""
_QUIET_SECONDS = 60.0
"""After so long it is seen whether anything is left to wait for."""


class HomeHedges:
    """Reads the journal of trades and asks the venue about orders that may still be filled."""

    def __init__(self, home: Home, settings: Settings, network: Network) -> None:
        self._home = home
        self._settings = settings
        self._network = network

    async def tend(self) -> dict[str, Finding] | None:
        """What was sent and not brought to its end, unless somebody is sending right now."""
        urgent = await self._tend_all()
        return None if urgent is None else {plan: _bare(words) for plan, words in urgent.items()}

    async def _tend_all(self) -> dict[str, str] | None:
        """By plan, what is urgent."""
        with suppress(sqlite3.Error), locked_if_free(self._home.trades_lock) as nobody_sends:
            unfinished = unfinished_venues(self._home)
            if unfinished and not nobody_sends:
                return taken_urgent(self._home) or None
            told = [await self._tend(name) for name in unfinished]
            urgent = taken_urgent(self._home)
            for words in told:
                urgent |= words or {}
            return urgent if urgent or None not in told else None
        return None

    async def _tend(self, name: str) -> dict[str, str] | None:
        """On one venue, which need not be the one that is set by now."""
        session = Session(self._home, self._settings, self._network, as_json=True)
        try:
            async with open_venue(session, name) as opened:
                notices = await tend_orders(opened.journal, opened.venue)
                await self._look_at_key(opened)
        except (ZunoError, sqlite3.Error) as error:
            bare = {
                notice.plan_id: notice.words
                for notice in trades_by_journal(self._home, name, str(error))
            }
            return bare or None
        return {notice.plan_id: notice.words for notice in notices if notice.is_urgent}

    async def look(self) -> AttachedHedges | None:
        """None where the venue or the journal cannot be read now."""
        session = Session(self._home, self._settings, self._network, as_json=True)
        with suppress(VenueUnreadError, *CLOSED_TO_LOOKERS):
            if not has_hedges(self._home):
                return AttachedHedges({})
            async with open_venue(session) as opened:
                await self._look_at_key(opened)
                found = await read_hedges(opened.journal, opened.venue)
                wanted = wanted_closings(session)
                held: dict[PositionRef, HeldHedge] = {}
                legs = hedges_by_position(found, self._network.chain_id)
                for ref, (first, *rest) in legs.items():
                    held[ref] = replace(
                        await _held(opened, first),
                        others=tuple([await _held(opened, hedge) for hedge in rest]),
                        wanted=wanted.get(str(ref), wanted.get("all")),
                    )
                return AttachedHedges(held)
        return None

    async def _look_at_key(self, opened: OpenVenue) -> None:
        """A few times a day: until when the venue takes what is signed here."""
        venue, now = opened.venue, time.time()
        if not isinstance(venue, KnowsKeyEnd):
            return
        known = opened.journal.key_ends().get(venue.name)
        if known is not None and 0 <= now - known.looked_at < _KEY_SECONDS:
            return
        with suppress(MarketError):  # asked again at the next look; what is held comes first
            ends_at, chain_id = await venue.key_ends_at(), self._network.chain_id
            opened.journal.keep_key_end(KeyEnd(venue.name, ends_at, now, chain_id))


def _bare(words: str) -> Finding:
    return Finding(
        TradeAlert.TRADE_UNPROTECTED,
        Severity.CRITICAL,
        words,
        "a trade without a stop",
        "zuno trade status",
        {},
    )


def key_news(home: Home, network: Network, now: float) -> tuple[FeatureNews, ...]:
    """Keys that end soon or have ended, by what venues said when they were asked last."""
    with suppress(sqlite3.Error), TradeJournal.open(home.trades) as journal:
        ends = journal.key_ends().values()
        return tuple(
            FeatureNews(_key_finding(end, end.ends_at - now), end.venue)
            for end in ends
            if end.chain_id == network.chain_id
            and end.ends_at is not None
            and end.ends_at - now < KEY_WARNED_DAYS * DAY
        )
    return ()


def _key_finding(end: KeyEnd, left: float) -> Finding:
    venue = end.venue.partition(":")[0]
    words, severity = f"The key for {venue} ends in {left / DAY:.0f} days.", Severity.WARNING
    if left <= 0:
        words = f"The key for {venue} has ended: nothing can be sent, cancelled or closed there."
        severity = Severity.CRITICAL
    return Finding(
        TradeAlert.VENUE_KEY_ENDS,
        severity,
        f"{words} Make a new one at the venue, never with an old address, and keep it here.",
        "what signs there ends",
        f"zuno venue {venue}",
        {"daysLeft": max(round(left / DAY, 2), 0.0)},
    )


async def watch_when_asked(chosen: SettingsSource, tell: Callable[[Note], None]) -> None:
    """The trade desk's watch, and beside it what venues tell of."""
    from zuno_tui.features.trade.watch import HomeDesk, TradeWatch

    def session() -> Session:
        settings = load_settings(chosen.home.settings, chosen.environment, chosen.flags)
        network = settings.chosen_network()
        return Session(chosen.home, settings, network, as_json=True, flags=chosen.flags)

    async def tend() -> None:
        while chosen.home.trade_watch.exists():
            if chosen.home.trades.exists():
                await tend_when_told(chosen, tell)
            await asyncio.sleep(_QUIET_SECONDS)

    with suppress(ZunoError):  # the rounds say so
        watch = TradeWatch(chosen.home, HomeDesk(session), lambda words: tell(Troubled(words)))
        await asyncio.gather(watch.run(), tend())


async def tend_when_told(chosen: SettingsSource, tell: Callable[[Note], None]) -> None:
    """What a venue's stream tells of is looked at and acted on at once, beside the rounds.

    It ends where nothing can change any more, or no venue has a stream: rounds suffice then.
    """
    with suppress(ZunoError, sqlite3.Error):  # the rounds say so
        settings = load_settings(chosen.home.settings, chosen.environment, chosen.flags)
        session = Session(chosen.home, settings, settings.chosen_network(), as_json=True)
        names = unfinished_venues(chosen.home)
        await asyncio.gather(*(_tend_when_told(session, name, tell) for name in names))


async def _tend_when_told(session: Session, name: str, tell: Callable[[Note], None]) -> None:
    home = session.home
    if not venue_entry(session, name).abilities.streams:
        return
    with suppress(ZunoError, sqlite3.Error):  # the rounds say so
        async with open_venue(session, name) as opened, order_bell(opened.venue) as rung:
            while name in unfinished_venues(home):
                with suppress(TimeoutError):
                    async with asyncio.timeout(_QUIET_SECONDS):
                        await rung.wait()
                with locked_if_free(home.trades_lock) as nobody_sends:
                    # Whoever sends may end before it is done: the bell stays rung.
                    if nobody_sends and rung.is_set():
                        rung.clear()
                        for notice in await tend_orders(opened.journal, opened.venue):
                            if notice.is_urgent:
                                tell(Troubled(notice.words))
                await asyncio.sleep(_BETWEEN_LOOKS)


async def _held(opened: OpenVenue, hedge: PositionHedge) -> HeldHedge:
    """With margin and funding where something is short."""
    short, start = standing_short(hedge), hedge.last
    # Without a band of its own it follows the threshold that is set for all.
    band = 0.0 if start.band == BAND else start.band
    held = HeldHedge(
        start.wallet,
        start.coin,
        start.token,
        start.ratio,
        short,
        start.rate,
        band,
        other_rate=start.other_rate,
    )
    if hedge.short <= 0:
        return held
    account = await opened.venue.account()
    funding = await opened.venue.contracts.funding(start.symbol)
    risk = await venue_risk(opened.venue, account, {start.symbol: hedge.short})
    return replace(
        held,
        to_liquidation=None if risk is None else risk.to_liquidation,
        funding_a_day=-funding.rate_a_day,
    )
