"""When a token's price is beyond a level that a person set, and when it is back."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from agents.monitor.alerts.alert import (
    Alert,
    AlertKind,
    AlertSubject,
    Change,
    Cleared,
    Finding,
    Raised,
    Severity,
)
from agents.monitor.alerts.state import PriceAlert
from agents.monitor.alerts.store_page import WatchPlace
from chain.contracts.networks import Address, Network
from chain.rpc.records import Block

COOLDOWN_SECONDS = 900
"""A price that trembles around a level is told of once in so long."""
_BACK_BY = Fraction(1, 200)
"""It counts as back when it is half a percent on the other side."""


def price_crossings(
    network: Network,
    place: WatchPlace,
    wanted: Sequence[PriceAlert],
    prices: Mapping[Address, Fraction | None],
    *,
    alerts: Sequence[Alert],
    block: Block,
) -> Iterator[Change]:
    """Each crossing opens an alert once; an unknown price changes nothing."""
    known = {
        alert.subject.label: alert for alert in alerts if alert.kind is AlertKind.PRICE_CROSSED
    }
    at, time = block.number, float(block.timestamp)
    for each in wanted:
        alert, price = known.pop(each.words, None), prices.get(each.token)
        if price is None:
            continue
        standing = alert is not None and alert.active
        subject = AlertSubject(
            network.chain_id, place.wallet_address, None, AlertKind.PRICE_CROSSED, each.words
        )
        if _beyond(each, price, standing=standing):
            if standing or alert is None or not _just_over(alert, time):
                yield Raised(subject, network.name, _finding(network, each, price), at, time)
        elif standing:
            yield Cleared(subject, at, time, "the price is on the other side again")
    for alert in known.values():
        if alert.active:
            yield Cleared(alert.subject, at, time, "the price alert was removed")


def _beyond(wanted: PriceAlert, price: Fraction, *, standing: bool) -> bool:
    slack = _BACK_BY if standing else Fraction(0)
    if wanted.side == "below":
        return price < wanted.dollars * (1 + slack)
    return price > wanted.dollars * (1 - slack)


def _just_over(alert: Alert, time: float) -> bool:
    return alert.resolved_at is not None and 0 <= time - alert.resolved_at < COOLDOWN_SECONDS


def _finding(network: Network, wanted: PriceAlert, price: Fraction) -> Finding:
    return Finding(
        AlertKind.PRICE_CROSSED,
        Severity.WARNING,
        f"{wanted.symbol} is ${float(price):,.6g}, {wanted.side} ${float(wanted.dollars):,.6g},"
        " the price you set.",
        f"{wanted.symbol} is {wanted.side} the price you set",
        f"zuno --network {network.name} positions",
        {"price": f"{float(price):.6g}", "level": wanted.level},
    )
