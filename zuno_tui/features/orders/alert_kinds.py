"""Every kind of alert about standing orders, and what ends each."""

from collections.abc import Mapping
from enum import StrEnum

from agents.monitor.rules.features import FeatureAlert, Found


class OrderAlert(StrEnum):
    STANDING_ORDER = "standing_order"
    """A standing order was carried out, has ended, or cannot be carried out now."""
    WATCH_KEY_LOW = "watch_key_low"
    """The key that carries out orders has too little coin for gas."""


ALERTS: Mapping[str, FeatureAlert] = {
    OrderAlert.STANDING_ORDER: FeatureAlert(
        "the order is fine, or was reported for a day", Found.AS_NEWS
    ),
    OrderAlert.WATCH_KEY_LOW: FeatureAlert("it has coin for gas again", Found.AS_NEWS),
}
