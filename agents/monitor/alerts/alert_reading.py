"""An alert back from its document; the file may have been edited, so nothing in it is trusted."""

from __future__ import annotations

from datetime import datetime

from agents.monitor.alerts.alert import Alert, AlertKind, AlertState, AlertSubject, Number, Severity
from agents.monitor.alerts.lifecycle import clean_line


class AlertDocumentError(ValueError):
    """A document that is not an alert of ours."""


def read_alert(document: object) -> Alert:
    """The alert this document tells; raises `AlertDocumentError` when it tells none."""
    if not isinstance(document, dict):
        raise AlertDocumentError("An alert is an object.")
    try:
        position = document["positionId"]
        return Alert(
            id=_integer(document["id"]),
            subject=AlertSubject(
                chain_id=_integer(document["chainId"]),
                wallet_address=_line(document["walletAddress"]),
                position_id=None if position is None else int(_line(position)),
                kind=AlertKind(document["kind"]),
                label=_line(document.get("label", "")),
            ),
            network=_line(document["network"]),
            state=AlertState(document["state"]),
            severity=Severity(document["severity"]),
            message=_line(document["message"]),
            reason=_line(document["reason"]),
            next_command=_line(document["nextCommand"]),
            numbers=_numbers(document["numbers"]),
            episode=_integer(document["episode"]),
            block=None if document["block"] is None else _integer(document["block"]),
            since=_time(document["since"]),
            created_at=_time(document["createdAt"]),
            updated_at=_time(document["updatedAt"]),
            acked_at=_optional_time(document["ackedAt"]),
            muted_until=_optional_time(document["mutedUntil"]),
            # What an earlier zuno wrote does not say.
            rose_muted=document.get("roseMuted") is True,
            resolved_at=_optional_time(document["resolvedAt"]),
            resolution=None if document["resolution"] is None else _line(document["resolution"]),
        )
    except (KeyError, ValueError) as error:
        raise AlertDocumentError(f"Not an alert: {error}") from error


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise AlertDocumentError(f"{value!r} is not a whole number.")
    return value


def _line(value: object) -> str:
    if not isinstance(value, str):
        raise AlertDocumentError(f"{value!r} is not a text.")
    return clean_line(value)


def _numbers(value: object) -> dict[str, Number]:
    if not isinstance(value, dict):
        raise AlertDocumentError("The numbers of an alert are an object.")
    return {_line(name): _number(one) for name, one in value.items()}


def _number(value: object) -> Number:
    if value is None or isinstance(value, int | float):
        return value
    return _line(value)


def _time(value: object) -> float:
    return datetime.fromisoformat(_line(value)).timestamp()


def _optional_time(value: object) -> float | None:
    return None if value is None else _time(value)
