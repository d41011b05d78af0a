"""Holding a debate: the record opened, the model found, the plan kept, whoever listens."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from agents.bus.ambient import Ambient
from agents.bus.plan_store import PlanStore
from agents.bus.record import FileSink, RecordWriter, running_versions
from agents.lp.debate import LP_FLOW, hold_debate
from agents.lp.observe import ChainObserver
from agents.lp.plan_document import plan_document
from agents.model.budget import Budget, DebateBudget
from chain.base.redaction import Redactor
from zuno_tui.session.desk_knowledge import with_desk_knowledge
from zuno_tui.session.retention import let_go_when_due

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from agents.bus.envelope import Role
    from agents.bus.plan_store import PlanDocument
    from agents.bus.run import Listener
    from agents.lp.debate import DebateEnd
    from agents.lp.payloads import FlowCreateStart, FlowStart
    from agents.model.budget import BudgetReport
    from agents.model.interface import Model
    from chain.base.store import Store
    from chain.positions.overview import Sources
    from zuno_tui.session.session import Session
    from zuno_tui.settings.debates import DebateSettings


class Debating(Struct, frozen=True):
    """What a debate is held with."""

    session: Session
    settings: DebateSettings
    request_id: str
    listener: Listener
    on_crash: Callable[[Role, Exception], None]


class Debated(Struct, frozen=True):
    ended: DebateEnd
    document: PlanDocument | None
    """The plan as it was put on the shelf; None when the debate ended without one."""
    spent: BudgetReport | None
    """None when no model was asked."""


async def debate(
    debating: Debating, sources: Sources, start: FlowStart | FlowCreateStart
) -> Debated:
    """Argue on the record and keep the plan that comes of it."""
    session, request_id = debating.session, debating.request_id
    retention = session.settings.retention
    record = RecordWriter(
        FileSink(session.home.records / f"{request_id}.jsonl"),
        request_id,
        running_versions(LP_FLOW.package),
        Redactor(_secrets(debating)),
        flow=LP_FLOW.name,
    )
    try:
        async with live_model(debating.settings, sources.store) as (model, budget):
            ended = await hold_debate(
                await with_desk_knowledge(session, sources, start),
                ChainObserver(sources),
                model,
                record,
                ambient=Ambient(sources.clock, lambda: request_id),
                request_id=request_id,
                listener=debating.listener,
                on_crash=debating.on_crash,
            )
            spent = None if budget is None else budget.report()
    finally:
        await asyncio.to_thread(record.close)
    if ended.plan is None:
        return Debated(ended, None, spent)
    document = plan_document(ended, spent, record.last_hash)
    PlanStore(session.home.plans).keep(document)
    told = let_go_when_due(session.home, sources.store, retention, now=sources.clock())
    if told is not None:
        session.narrate(told)
    return Debated(ended, document, spent)


@asynccontextmanager
async def live_model(
    settings: DebateSettings, store: Store
) -> AsyncIterator[tuple[Model | None, DebateBudget | None]]:
    """The person's model with this debate's own budget, or nobody."""
    if settings.model is None:
        yield None, None
        return
    from agents.model.client import OpenAIModel
    from agents.model.connection import Connection

    budget = Budget(settings.limits, settings.prices, store, clock=time.time).debate()
    async with Connection(settings.model) as connection:
        yield OpenAIModel(settings.model, connection, budget, clock=time.time), budget


def _secrets(debating: Debating) -> tuple[str, ...]:
    """Everything known to be secret, so that none of it can reach the record."""
    settings, model = debating.session.settings, debating.settings.model
    urls = [url for chosen in settings.endpoints.values() for url in chosen]
    keys = [settings.coingecko_key, None if model is None else model.api_key]
    return tuple(secret for secret in (*urls, *keys) if secret)
