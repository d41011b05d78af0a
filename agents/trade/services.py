"""What the desk works with, live or from its record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from agents.bus.envelope import CLI, Kind
from agents.bus.payload import AgentFact, Payload
from agents.bus.worker import Outgoing
from agents.trade.facts import ContextSection, MarketSnapshot
from agents.trade.payloads import DESK

if TYPE_CHECKING:
    from agents.bus.replay import Record
    from agents.trade.facts import DeskQuestion

_OBSERVATION = "observation"


class DeskObservation(Payload):
    """Everything that was read for one question."""

    time: int
    market: MarketSnapshot | None
    unreadable: str
    """Why there is no market; empty where there is one."""
    sections: tuple[ContextSection, ...]


class DeskEyes(Protocol):
    """What the desk sees markets and the world with."""

    async def look(self, question: DeskQuestion) -> DeskObservation: ...


class TradeServices(Struct, frozen=True):
    eyes: DeskEyes


def observed(seen: DeskObservation) -> Outgoing:
    """What was seen, for the record: so that it can be seen again."""
    value = seen.model_dump(mode="json", by_alias=True)
    return Outgoing(Kind.AGENT_FACT, CLI, AgentFact(name=_OBSERVATION, value=value))


def recorded_trade_services(record: Record) -> TradeServices:
    return TradeServices(RecordedDesk(record))


class RecordedDesk:
    """Sees what was seen when the record was written."""

    def __init__(self, record: Record) -> None:
        self._record = record

    async def look(self, question: DeskQuestion) -> DeskObservation:
        seen = self._record.fact(DESK, _OBSERVATION)
        found = DeskObservation.model_validate(seen, strict=False)
        if found.market is not None and found.market.symbol != question.symbol:
            raise LookupError("The record is of another contract.")
        return found
