"""Every kind of alert about hedges, trades and venues, and what ends each."""

from collections.abc import Mapping
from enum import StrEnum

from agents.monitor.rules.features import FeatureAlert, Found


class TradeAlert(StrEnum):
    HEDGE_DRIFTED = "hedge_drifted"
    HEDGE_MARGIN = "hedge_margin"
    HEDGE_FUNDING = "hedge_funding"
    HEDGE_WANTED = "hedge_wanted"
    HEDGE_STALE = "hedge_stale"
    """Something is short for a position that is no more."""
    TRADE_UNPROTECTED = "trade_unprotected"
    """A trade without a stop on its venue, or one that was closed for want of it."""
    TRADE_WATCH = "trade_watch"
    """A plan of the trade desk's watch may be approved."""
    VENUE_KEY_ENDS = "venue_key_ends"
    """What signs on a venue ends soon, or has ended: then nothing can be sent or closed there."""


ALERTS: Mapping[str, FeatureAlert] = {
    TradeAlert.HEDGE_DRIFTED: FeatureAlert(
        "the hedge fits what the position holds again", Found.OF_POSITION
    ),
    TradeAlert.HEDGE_MARGIN: FeatureAlert("the hedge has margin enough again", Found.OF_POSITION),
    TradeAlert.HEDGE_FUNDING: FeatureAlert("being short costs little again", Found.OF_POSITION),
    TradeAlert.HEDGE_WANTED: FeatureAlert("it was asked for again, or closed", Found.OF_POSITION),
    TradeAlert.HEDGE_STALE: FeatureAlert("nothing is short for it any more", Found.OF_GONE),
    TradeAlert.TRADE_UNPROTECTED: FeatureAlert(
        "it has its stop again, or is closed", Found.IN_TENDING
    ),
    TradeAlert.TRADE_WATCH: FeatureAlert("the plan is over", Found.AS_NEWS),
    TradeAlert.VENUE_KEY_ENDS: FeatureAlert("the venue has a key that lasts", Found.AS_NEWS),
}
