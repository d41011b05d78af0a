"""The trade desk, as the rest of the app finds it."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING

from zuno_tui.app.feature import PlanFlow, RunAgain
from zuno_tui.desk.feature import DeskFeature, DeskPart
from zuno_tui.features.trade.intents import Hedge, Trade, Unhedge
from zuno_tui.present.attachment import Attachment

if TYPE_CHECKING:
    from textual.screen import Screen

    from agents.bus.replay import Record
    from agents.monitor.heartbeat import Note
    from agents.monitor.rules.features import AttachedWatch, FeatureAlert, FeatureNews
    from chain.base.home import Home
    from chain.contracts.networks import Network
    from chain.positions.overview import Overview, Sources
    from chain.protocols.reference import PositionRef
    from zuno_tui.app.session import Session, SettingsSource
    from zuno_tui.desk.approvals import EmbeddedMarket
    from zuno_tui.desk.card import Card
    from zuno_tui.desk.context import DeskContext
    from zuno_tui.desk.events import Event
    from zuno_tui.desk.link import DeskLink
    from zuno_tui.desk.questions import Questions
    from zuno_tui.settings import Settings

_HEDGES = "hedges"


def _plan_flow() -> PlanFlow:
    from zuno_tui.features.trade.trade import apply_run, approve_stored_trade, show_trade

    return PlanFlow("agents.trade", show_trade, approve_stored_trade, apply_run, _run_again)


async def _run_again(record: Record) -> RunAgain:
    from agents.trade.flow import replay_desk

    report, ended = await replay_desk(record)
    plan = ended.plan
    words = (
        "It ended without a plan."
        if plan is None
        else f"{plan.plan_id} says {plan.decision.value}."
    )
    return RunAgain(report, ended.transcript, None if plan is None else plan.plan_id, words)


def _desk_part(
    context: DeskContext, market: EmbeddedMarket | None, questions: Questions, card: Card
) -> DeskPart:
    from zuno_tui.features.trade.desk_part import Trades

    return Trades(context, market, questions, card)


def _screen_for(event: Event, link: DeskLink, _clock: Callable[[], float]) -> Screen[None] | None:
    from zuno_tui.features.trade.events import TradeOpened

    if not isinstance(event, TradeOpened):
        return None
    from zuno_tui.features.trade.screen import TradeScreen

    return TradeScreen(link, event.view)


async def _attached(
    session: Session, sources: Sources, overviews: Sequence[Overview]
) -> Attachment:
    if not session.home.trades.exists():
        return Attachment(_HEDGES, (), [])
    from zuno_tui.features.trade.hedges import (
        hedge_result_lines,
        hedge_results_document,
        read_hedge_results,
    )

    found = await read_hedge_results(session, sources, overviews)
    return Attachment(_HEDGES, hedge_result_lines(found), hedge_results_document(found))


def _outlives(session: Session, ref: PositionRef) -> tuple[str, ...]:
    if not session.home.trades.exists():
        return ()
    from zuno_tui.features.trade.hedges import outliving_words

    return outliving_words(session.home, session.network.chain_id, ref)


def _notes(session: Session) -> Mapping[PositionRef, str]:
    if not session.home.trades.exists():
        return {}
    from zuno_tui.features.trade.hedges import short_notes

    return short_notes(session.home, session.network.chain_id)


def _watched(home: Home, settings: Settings, network: Network) -> AttachedWatch | None:
    """Nothing of trading is loaded for a home that never traded."""
    if not home.trades.exists():
        return None
    from zuno_tui.features.trade.watched_hedges import HomeHedges

    return HomeHedges(home, settings, network)


def _tending(
    chosen: SettingsSource, tell: Callable[[Note], None]
) -> Coroutine[None, None, None] | None:
    """Nothing of trading is loaded for a home that never traded and watches no coin."""
    home = chosen.home
    if not home.trades.exists() and not home.trade_watch.exists():
        return None
    from zuno_tui.features.trade.watched_hedges import tend_when_told, watch_when_asked

    if not home.trade_watch.exists():
        return tend_when_told(chosen, tell)
    return watch_when_asked(chosen, tell)


def _alerts() -> Mapping[str, FeatureAlert]:
    from zuno_tui.features.trade.alert_kinds import ALERTS

    return ALERTS


def _news(home: Home, network: Network) -> Sequence[FeatureNews]:
    now = time.time()
    news: tuple[FeatureNews, ...] = ()
    if home.trades.exists():
        from zuno_tui.features.trade.watched_hedges import key_news

        news = key_news(home, network, now)
    if home.trade_watch.exists():
        from zuno_tui.features.trade.watch import watch_news

        news = (*news, *watch_news(home, network, now))
    return news


async def _headlines(session: Session) -> tuple[str, ...]:
    from zuno_tui.features.trade.settings import TradeTable

    feeds = session.settings.table(TradeTable).news
    if not feeds:
        return ()
    from zuno_tui.features.trade.trading import recent_headlines

    return await recent_headlines(feeds)


FEATURE = DeskFeature(
    name="trade",
    flow="trade",
    plan_flow=_plan_flow,
    intents=(Trade, Hedge, Unhedge),
    desk_part=_desk_part,
    screen_for=_screen_for,
    attachment=_HEDGES,
    attached=_attached,
    outlives=_outlives,
    notes=_notes,
    alerts=_alerts,
    watched=_watched,
    beside_watch=_tending,
    news=_news,
    headlines=_headlines,
)
