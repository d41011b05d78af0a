"""Holding a debate from the command line: the record opened, the model found, the plan kept."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
import traceback
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from agents.bus import Ambient
from agents.debate import Listener, hold_debate
from agents.envelope import FailureCause
from agents.model.budget import Budget, DebateBudget
from agents.observing import ChainObserver
from agents.record import FileSink, RecordWriter
from agents.redaction import Redactor
from agents.shelf import PlanShelf, plan_document
from chain.overview import Sources
from zuno_tui.cli import FAILED, NETWORK
from zuno_tui.cli.plan_card import show_plan
from zuno_tui.cli.session import say
from zuno_tui.cli.transcript import LiveTranscript

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agents.debate import Ended
    from agents.envelope import Role
    from agents.model.interface import Model
    from agents.payloads import FlowCreateStart, FlowStart
    from chain.store import Store
    from zuno_tui.cli.session import Session
    from zuno_tui.debate_settings import DebateSettings


@dataclass(frozen=True, slots=True)
class Arguing:
    session: Session
    settings: DebateSettings
    stream: bool


async def argue(arguing: Arguing, start: FlowStart | FlowCreateStart) -> int:
    """Debate, keep the plan, print it; what failed is said with its stage and reason."""
    session = arguing.session
    request_id = f"req_{secrets.token_hex(8)}"
    with session.open_store() as store:
        ended, budget = await _debated(arguing, start, store, request_id)
        spent = None if budget is None else budget.report()
    if ended.plan is None:
        reason = "" if ended.failure is None else ended.failure.reason
        stage = "" if ended.failure is None else ended.failure.stage
        say(f"The debate ended at {stage}: {reason}")
        unread = ended.failure is not None and ended.failure.cause is FailureCause.UNREADABLE
        return NETWORK if unread else FAILED
    document = plan_document(ended, spent)
    PlanShelf(session.home.plans).keep(document)
    show_plan(session, document)
    return 0


async def _debated(
    arguing: Arguing, start: FlowStart | FlowCreateStart, store: Store, request_id: str
) -> tuple[Ended, DebateBudget | None]:
    session = arguing.session
    record = RecordWriter(
        FileSink(session.home.records / f"{request_id}.jsonl"),
        request_id,
        {"zuno": version("zuno-tui")},
        Redactor(_secrets(arguing)),
    )
    try:
        async with session.connect() as client, session.market() as coingecko:
            sources = Sources(client, session.network, store, coingecko, time.time)
            async with live_model(arguing.settings, store) as (model, budget):
                ended = await hold_debate(
                    start,
                    ChainObserver(sources),
                    model,
                    record,
                    ambient=Ambient(time.time, lambda: request_id),
                    request_id=request_id,
                    listener=_listener(arguing),
                    on_crash=_tell_crash,
                )
    finally:
        await asyncio.to_thread(record.close)
    return ended, budget


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


def _listener(arguing: Arguing) -> Listener:
    if not arguing.stream:
        return Listener()
    live = LiveTranscript()
    return Listener(on_turn=live.on_turn, on_prose=live.on_prose)


def _secrets(arguing: Arguing) -> tuple[str, ...]:
    """Everything known to be secret, so that none of it can reach the record."""
    settings, model = arguing.session.settings, arguing.settings.model
    urls = [url for chosen in settings.endpoints.values() for url in chosen]
    keys = [settings.coingecko_key, None if model is None else model.api_key]
    return tuple(secret for secret in (*urls, *keys) if secret)


def _tell_crash(role: Role, error: Exception) -> None:
    if os.environ.get("ZUNO_DEBUG"):
        traceback.print_exception(error)
    else:
        say(f"{role.value} stopped with {type(error).__name__}. ZUNO_DEBUG=1 shows where.")
