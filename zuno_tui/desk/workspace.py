"""The desk at one network and wallet: opened, read from, and left again for another."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chain.contracts.addresses import shortened
from chain.contracts.networks import Address
from chain.positions.overview import Overview
from chain.rpc.errors import RpcError
from chain.wallet.address_book import read_book
from zuno_tui.app.session import Session
from zuno_tui.desk.context import DeskContext, DeskOpening, StatusBoard, Tell
from zuno_tui.desk.events import Said
from zuno_tui.desk.jobs import Jobs
from zuno_tui.desk.reading import EMBEDDED, LIVE, PositionReader
from zuno_tui.present.views import StatusView
from zuno_tui.present.words import subscription_words

if TYPE_CHECKING:
    from zuno_tui.desk.dispatcher import Dispatcher

_HEAD_START = 2.0
"""Seconds the first read gets before the heavy parts are loaded."""


class Workspace:
    def __init__(self, desk_context: DeskContext, held: AsyncExitStack) -> None:
        self.desk_context = desk_context
        self._held = held
        rhythm = EMBEDDED if desk_context.session.network.clock == "head" else LIVE
        self._rhythm = rhythm
        self.positions = PositionReader(desk_context, rhythm, self._noticed)
        self.positions.show_remembered()
        self._reading = asyncio.create_task(self.positions.run(), name="zuno positions")
        self._loading = asyncio.create_task(self._load(), name="zuno loading")
        self._following = asyncio.create_task(self._follow_heads(), name="zuno heads")

    @classmethod
    async def open(cls, opening: DeskOpening, session: Session, tell: Tell) -> Workspace:
        wallet = session.address
        # Whoever is current may change elsewhere; this post stays with whom it was opened for.
        session = replace(session, settings=replace(session.settings, address=wallet))
        view = StatusView(network=session.network.title, wallet=_named(session, wallet))
        async with AsyncExitStack() as stack:
            sources = await stack.enter_async_context(session.sources())
            status = StatusBoard(view, tell)
            jobs = Jobs(tell, status.working)
            desk_context = DeskContext(opening, session, wallet, sources, tell, jobs, status)
            return cls(desk_context, stack.pop_all())

    async def counter(self) -> Dispatcher:
        """Where everything but reading is asked for; its parts are heavy and come second."""
        return await asyncio.shield(self._loading)

    async def close(self) -> None:
        tasks = (self._reading, self._loading, self._following)
        for task in tasks:
            task.cancel()
        _, counter, _ = await asyncio.gather(*tasks, return_exceptions=True)
        if not isinstance(counter, BaseException) and counter is not None:
            await counter.close()
        await self.desk_context.jobs.close()
        self.positions.note()
        await self._held.aclose()

    async def _load(self) -> Dispatcher:
        with suppress(TimeoutError):
            async with asyncio.timeout(_HEAD_START):
                await self.positions.tried.wait()
        await asyncio.to_thread(import_module, "zuno_tui.desk.dispatcher")
        from zuno_tui.desk.dispatcher import Dispatcher

        counter = Dispatcher(self.desk_context, self.positions)
        counter.begin()
        return counter

    async def _follow_heads(self) -> None:
        session = self.desk_context.session
        if session.sockets:
            from chain.rpc.new_heads import HeadListener, follow_heads

            listener = HeadListener(
                self.positions.head_announced, self._line_changed, self._rhythm.between_heads
            )
            await follow_heads(session.network, session.sockets, listener)

    def _line_changed(self, fault: RpcError | None) -> None:
        status, tell = self.desk_context.status, self.desk_context.tell
        before = status.view.subscription
        if fault is None:
            status.subscribed("live")
            if before == "lost":
                tell(Said(subscription_words(None), "good"))
        elif before != "lost":
            status.subscribed("lost")
            tell(Said(subscription_words(fault.sentence), "warn"))

    def _noticed(self, overview: Overview) -> None:
        loading = self._loading
        if loading.done() and not loading.cancelled() and loading.exception() is None:
            loading.result().noticed(overview.wallet.block)


def _named(session: Session, wallet: Address) -> str:
    """By the name the person gave it, where there is one."""
    known = read_book(session.home.keystore).at(wallet)
    return shortened(wallet) if known is None else f"{known.name} {shortened(wallet)}"
