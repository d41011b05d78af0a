"""Findings and polls for tests of the book."""

from agents.monitor.alerts.alert import AlertKind, AlertSubject, Cleared, Finding, Raised, Severity
from agents.monitor.alerts.store_page import Poll, WatchCursor, WatchPlace
from chain.protocols.reference import v4_position

WALLET = "0x" + "ab" * 20
CHAIN_ID = 8453
HERE = WatchPlace(CHAIN_ID, WALLET)
NOW = 1_800_000_000.0


def subject(position: int | None, kind: AlertKind = AlertKind.OUT_OF_RANGE) -> AlertSubject:
    ref = None if position is None else v4_position(position)
    return AlertSubject(CHAIN_ID, WALLET, ref, kind)


def finding(
    kind: AlertKind = AlertKind.OUT_OF_RANGE,
    severity: Severity = Severity.WARNING,
    message: str = "#7 is out of its range.",
    reason: str = "the price is above the range",
) -> Finding:
    return Finding(kind, severity, message, reason, "zuno recommend 7", {"tick": 7})


def raised(
    position: int | None,
    block: int,
    *,
    severity: Severity = Severity.WARNING,
    kind: AlertKind = AlertKind.OUT_OF_RANGE,
    message: str = "#7 is out of its range.",
) -> Raised:
    found = finding(kind, severity, message)
    return Raised(subject(position, kind), "base", found, block, NOW + block)


def cleared(position: int | None, block: int) -> Cleared:
    return Cleared(subject(position), block, NOW + block, "back inside")


def polls(*changes: Raised | Cleared, block: int = 1) -> tuple[Poll]:
    return (Poll(HERE, changes, WatchCursor(block, f"0x{block:064x}", int(NOW) + block)),)
