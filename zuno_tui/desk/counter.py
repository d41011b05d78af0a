"""Where requests are taken once the desk is open: each goes to the part that does it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from chain.rpc.errors import RpcError
from zuno_tui.desk.approvals import Approvals
from zuno_tui.desk.card import Card
from zuno_tui.desk.debates import Debates
from zuno_tui.desk.details import Details
from zuno_tui.desk.events import Said, ViewAsked
from zuno_tui.desk.intents import (
    AboutPlan,
    Acknowledge,
    Apply,
    Approve,
    Change,
    Create,
    Inspect,
    Market,
    Mute,
    Outbox,
    Page,
    Recommend,
    Replay,
    Show,
)
from zuno_tui.desk.market import Market as MarketClock
from zuno_tui.desk.outbox_rows import OutboxRows
from zuno_tui.desk.pages import Pages
from zuno_tui.desk.pool_rows import Pools
from zuno_tui.desk.records import Records
from zuno_tui.desk.signing import Signing
from zuno_tui.desk.watching import Watching
from zuno_tui.retention import let_go_when_due
from zuno_tui.settings import SettingsError
from zuno_tui.settings.retention import retention_settings

if TYPE_CHECKING:
    from chain.rpc.records import Block
    from chain.wallet.concealed import Passphrase
    from zuno_tui.desk.bench import Bench
    from zuno_tui.desk.intents import Intent
    from zuno_tui.desk.reading import PositionReader

_QUIET_AFTER = 60.0
"""Seconds from the opening until old files are looked through."""


class Counter:
    def __init__(self, bench: Bench, positions: PositionReader) -> None:
        self._bench = bench
        self._positions = positions
        self.card = Card(bench.tell, bench.clock)
        embedded = bench.session.network.clock == "head"
        self._market = MarketClock(bench) if embedded else None
        deciding = self._market if bench.opening.demo else None
        self._debates = Debates(bench, self.card)
        self._approvals = Approvals(bench, self.card, deciding)
        self._signing = Signing(bench, self.card, self._happened)
        self._outbox = OutboxRows(bench)
        self._pages = Pages(bench)
        self._pools = Pools(bench)
        self._records = Records(bench)
        self._details = Details(bench)
        self._watching = Watching(bench)
        self._loops: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        self._outbox.begin()
        try:
            self._debates.introduce()
        except SettingsError as error:
            self._bench.tell(Said(str(error), "warn"))
        self._loops.append(asyncio.create_task(self._watching.run(), name="zuno watching"))
        self._loops.append(asyncio.create_task(self._let_go(), name="zuno retention"))
        if self._market is not None:
            self._loops.append(asyncio.create_task(self._market.run(), name="zuno market"))

    async def _let_go(self) -> None:
        """When the rush of the opening is over; a desk that is closed sooner leaves it be."""
        await asyncio.sleep(_QUIET_AFTER)
        bench = self._bench
        try:
            settings = retention_settings(bench.session.settings.retention)
        except SettingsError as error:
            bench.tell(Said(str(error), "warn"))
            return
        store, now = bench.sources.store, bench.clock()
        told = let_go_when_due(bench.session.home, store, settings, now=now)
        if told is not None:
            bench.tell(Said(told))

    async def close(self) -> None:
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)

    def noticed(self, head: Block) -> None:
        """What is approved ends by the network's clock, whether anybody looks or not."""
        view = self.card.view
        approval = None if view is None else view.approval
        network = self._bench.session.network
        now = head.timestamp if network.clock == "head" else self._bench.clock()
        if approval is not None and now >= approval.expires_at and not self._signing.busy:
            self.card.unapproved()
            self._signing.expire(approval)
            self._loops.append(asyncio.create_task(self._happened(), name="zuno after expiry"))

    def confirm(self, approval_hash: str, word: str, passphrase: Passphrase | None) -> None:
        self._signing.confirm(approval_hash, word, passphrase)

    async def take(self, intent: Intent) -> None:
        match intent:
            case Show():
                self._show(intent)
            case Inspect():
                self._details.inspect(intent)
            case Recommend():
                self._debates.recommend(intent)
            case Create():
                self._debates.create(intent)
            case Replay():
                self._records.replay(intent)
            case Page(name="pools"):
                self._pools.show()
            case Page(name=name):
                self._pages.show((name,))
            case Market():
                await self._turn_market(intent)
            case Acknowledge():
                self._watching.acknowledge(intent)
            case Mute():
                self._watching.mute(intent)
            case _:
                self._take_deed(intent)

    def _take_deed(self, intent: Intent) -> None:
        """What leads to a transaction, or away from one."""
        match intent:
            case AboutPlan(verb="diff" | "export"):
                self._pages.show(_words(intent))
            case AboutPlan():
                self._approvals.show(intent)
            case Approve():
                self._approvals.approve(intent)
            case Change():
                self._approvals.change(intent)
            case Apply():
                self._signing.ask(intent)
            case Outbox(action="look"):
                self._outbox.show()
            case Outbox(action="resume"):
                self._signing.ask_resume(intent)
            case Outbox(action="resolve"):
                self._outbox.resolve(intent.plan_id)
            case Outbox():
                self._signing.ask_replacement(intent)

    def _show(self, asked: Show) -> None:
        match asked.view:
            case "outbox":
                self._outbox.show()
            case "records":
                self._records.show()
            case "positions":
                self._positions.soon()
        self._bench.tell(ViewAsked(asked.view))

    async def _turn_market(self, asked: Market) -> None:
        if self._market is None:
            self._bench.tell(Said("Only the embedded chain's market can be paused.", "warn"))
            return
        await self._market.turn(asked)
        self._positions.soon()

    async def _happened(self) -> None:
        """Something may have changed on the chain by our own hand."""
        self._positions.soon()
        if self._market is not None:
            # A chain that does not answer now is the positions' reader's to tell.
            with suppress(RpcError):
                await self._market.go_on()


def _words(asked: AboutPlan) -> tuple[str, ...]:
    words = (asked.verb, *(() if asked.plan_id is None else (asked.plan_id,)))
    return words if asked.candidate is None else (*words, "--candidate", asked.candidate)
