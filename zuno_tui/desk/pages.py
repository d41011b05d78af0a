"""Lists and pages the desk reads when they are asked for: answers, pools, records, the outbox."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from agents.lp.payloads import summarise
from agents.scorecard.pool_days import RankKey
from chain.base.home import Home, write_atomically
from chain.execution.outbox.outbox import Outbox
from chain.survey.discovery import SurveyPlan, survey_pools
from zuno_tui.app.outbox import dispatch_view, resolve_half_done
from zuno_tui.app.pools import pool_records, ranked_pools, read_surveyed
from zuno_tui.app.replay import record_path, run_replay
from zuno_tui.app.session import Session
from zuno_tui.desk.cleaning import clean_line
from zuno_tui.desk.context import DeskContext
from zuno_tui.desk.debates import turn_view
from zuno_tui.desk.events import (
    DebateChanged,
    OutboxReady,
    PageReady,
    PoolsReady,
    RecordsReady,
    Said,
    ViewAsked,
)
from zuno_tui.gate.drift import network_now
from zuno_tui.gate.results import UnsettledStep, look_at_outbox, remember_heard
from zuno_tui.intents.intent import Intent
from zuno_tui.intents.intents import ListPools, Replay
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.terminal import page_frame
from zuno_tui.present.views import DebateView, DispatchView, RecordRow

Answering = Callable[[Session, Intent], Awaitable[CommandAnswer]]

_CHAIN_PATIENCE = 180.0
"""Seconds for what asks the chain."""
_HOME_PATIENCE = 60.0
_MOST_LINES = 2_000
_FRAME_CELLS = 4
"""Of a page: its border, the cell before the text and the scrollbar."""


async def page_of(answering: Answering, session: Session, intent: Intent, now: float) -> PageReady:
    """A command's answer, line by line; one that is a file for programs is written as one."""
    with page_frame(_FRAME_CELLS):
        answer = await answering(session, intent)
    if answer.exact:
        answer = replace(answer, lines=(_written(session.home, intent, answer, now),))
    lines = (part for line in answer.page for part in line.splitlines() or ("",))
    cleaned = tuple(clean_line(line) for line in lines)
    return PageReady(intent.twin, cleaned[:_MOST_LINES], answer.whole_view)


_ENDINGS = {"history": "csv", "export": "json", "manual": "1"}


def _written(home: Home, intent: Intent, answer: CommandAnswer, now: float) -> str:
    ending = _ENDINGS.get(intent.command[0], "txt")
    name = f"{'-'.join(intent.command)}-{datetime.fromtimestamp(now, UTC):%Y-%m-%d-%H%M%S}.{ending}"
    path = home.exports / name
    write_atomically(path, "".join(f"{line}\n" for line in answer.lines).encode())
    return f"Saved {len(answer.lines):,} lines: {path}"


class Pages:
    def __init__(self, context: DeskContext) -> None:
        self._context = context

    def show(self, answering: Answering, intent: Intent) -> None:
        self._context.jobs.start(
            "page",
            intent.twin,
            lambda _: self._read(answering, intent),
            seconds=_CHAIN_PATIENCE,
            opens_page=True,
        )

    async def _read(self, answering: Answering, intent: Intent) -> None:
        context = self._context
        context.tell(await page_of(answering, context.session, intent, context.clock()))


class Pools:
    def __init__(self, context: DeskContext) -> None:
        self._context = context

    def show(self, asked: ListPools) -> None:
        self._context.jobs.start(
            "pools",
            "Looking for pools",
            lambda _: self._read(asked.token or ""),
            seconds=_CHAIN_PATIENCE,
            opens_page=True,
        )

    async def _read(self, token: str) -> None:
        sources = self._context.display_sources
        survey = await survey_pools(sources, SurveyPlan(every_protocol=True))
        weeks = await read_surveyed(sources, survey.pools, unread=False)
        pools = ranked_pools(survey.pools, weeks, RankKey.PAYS)
        self._context.tell(PoolsReady(pool_records(survey, pools, weeks), token))


_MOST_LISTED = 100


class Records:
    def __init__(self, context: DeskContext) -> None:
        self._context = context

    def show(self) -> None:
        self._context.jobs.start(
            "records",
            "Reading the records",
            lambda _: self._list(),
            seconds=_HOME_PATIENCE,
            opens_page=True,
        )

    def replay(self, intent: Replay) -> None:
        self._context.jobs.start(
            "replay", "Reading the record", lambda _: self._hear(intent), seconds=_HOME_PATIENCE
        )

    async def _list(self) -> None:
        rows = await asyncio.to_thread(record_rows, self._context.session.home.records)
        self._context.tell(RecordsReady(rows))

    async def _hear(self, intent: Replay) -> None:
        session = self._context.session
        path = record_path(session, intent.record)
        again = await run_replay(session.home, path)
        words = f"{again.words} Its last hash is {again.judged.last_hash}."
        turns = () if again.ended is None else again.ended.transcript
        ended = words if again.ended is None else f"{again.ended.ending} {words}"
        subject = f"{summarise(path).subject}, again"
        shown = tuple(turn_view(turn) for turn in turns)
        self._context.tell(
            DebateChanged(DebateView(again.record.request_id, subject, shown, ended))
        )
        self._context.tell(ViewAsked("debate"))
        self._context.tell(Said(again.words, "good" if again.judged.holds else "bad", intent.twin))


def record_rows(folder: Path) -> tuple[RecordRow, ...]:
    """The newest first, by their ends alone: whether one holds is told when it is replayed."""
    paths = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
    return tuple(_record_row(path) for path in paths[:_MOST_LISTED])


_OUTCOMES = {"hold": "keep", "exit": "close"}


def _record_row(path: Path) -> RecordRow:
    told = summarise(path)
    outcome = _OUTCOMES.get(told.outcome, told.outcome)
    return RecordRow(path.stem, path.stat().st_mtime, told.subject, outcome)


class OutboxRows:
    def __init__(self, context: DeskContext) -> None:
        self._context = context

    def begin(self) -> None:
        """At the start: look up whatever is unfinished, and say what is open."""
        self._context.jobs.start(
            "outbox",
            "Looking up what was sent",
            lambda _: self._say_open(),
            seconds=_CHAIN_PATIENCE,
            asked=False,
        )

    def show(self) -> None:
        self._context.jobs.start(
            "outbox",
            "Looking up what was sent",
            lambda _: self._show(),
            seconds=_CHAIN_PATIENCE,
            opens_page=True,
        )

    def resolve(self, plan_id: str | None) -> None:
        session = self._context.session
        with Outbox.open(session.home.outbox) as outbox:
            chain_id, now = session.network.chain_id, self._context.clock()
            for sentence in resolve_half_done(outbox, chain_id, plan_id, now=now):
                self._context.tell(Said(sentence))
        self.show()

    async def _say_open(self) -> None:
        _, findings = await self._read()
        for finding in findings:
            if finding.news:
                words = " ".join((finding.sentence, *finding.where))
                self._context.tell(Said(f"{words} See: outbox", "warn", "zuno outbox"))
        with Outbox.open(self._context.session.home.outbox) as outbox:
            remember_heard(outbox, findings, now=self._context.clock())

    async def _show(self) -> None:
        rows, _ = await self._read()
        self._context.tell(OutboxReady(rows))

    async def _read(self) -> tuple[tuple[DispatchView, ...], tuple[UnsettledStep, ...]]:
        context, session = self._context, self._context.session
        async with session.connections(context.sources) as connections:
            with Outbox.open(session.home.outbox) as outbox:
                findings = await look_at_outbox(context.sources, connections, outbox)
                mine = [
                    dispatch
                    for dispatch in outbox.dispatches()
                    if dispatch.chain_id == session.network.chain_id
                ]
                now = await network_now(context.sources)
                coin = session.network.native_symbol
                rows = tuple(
                    dispatch_view(outbox, dispatch, findings, now, coin)
                    for dispatch in reversed(mine)
                )
        return rows, findings
