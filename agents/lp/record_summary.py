"""What a recorded debate was about and what came of it, by a look at the record's ends."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from agents.bus.envelope import Kind
from agents.bus.record import read_ends
from agents.lp.payloads import DebateKind
from chain.base.clean_text import clean_text

UNKNOWN, UNFINISHED, A_NEW_POSITION = "unknown", "unfinished", "a new position"


class RecordSummary(Struct, frozen=True):
    subject: str
    outcome: str


def summarise(path: Path) -> RecordSummary:
    ends = read_ends(path)
    subject, outcome = UNKNOWN, UNFINISHED
    match ends.first:
        case {"payload": {"tokenId": str(token_id)}} if token_id.isdigit():
            subject = f"position #{token_id}"
        case {"payload": {"goal": _}}:
            subject = A_NEW_POSITION
        case {"payload": {"question": {"symbol": str(symbol)}}}:
            subject = clean_text(symbol)
    match ends.last:
        case {"kind": DebateKind.PLAN_READY, "payload": {"plan": {"choice": {"kind": str(kind)}}}}:
            outcome = clean_text(kind)
        case {"kind": "trade_plan_ready", "payload": {"plan": {"decision": str(decision)}}}:
            outcome = clean_text(decision)
        case {"kind": Kind.FLOW_FAILED, "payload": {"reason": str(reason)}}:
            outcome = f"failed: {clean_text(reason)}"
    return RecordSummary(subject, outcome)
