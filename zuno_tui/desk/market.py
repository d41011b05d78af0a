"""The embedded chain's clock, as the desk shows and turns it; no other network has one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from zuno_tui.app.market_clock import MarketClock, MarketClockError, open_approvals
from zuno_tui.desk.events import Said

if TYPE_CHECKING:
    from zuno_tui.app.market_clock import MarketTrading
    from zuno_tui.commands.market import SetMarketClock as Asked
    from zuno_tui.desk.context import DeskContext

_BETWEEN_LOOKS = 3.0
_REAL_TIME = 1.0
_DECIDING = "deciding at the desk"
_DECIDING_SECONDS = 600


class EmbeddedMarket:
    def __init__(self, desk_context: DeskContext) -> None:
        self._desk_context = desk_context
        self._clock = MarketClock(desk_context.session.endpoints[0])
        self._held: set[str] = set()

    async def run(self) -> None:
        """Until cancelled; a chain that does not answer is the positions' reader's to report."""
        try:
            while True:
                try:
                    self._show(await self._hold_for_approvals())
                except MarketClockError:
                    self._desk_context.status.trading(None, paused=False)
                await asyncio.sleep(_BETWEEN_LOOKS)
        finally:
            await self._clock.close()

    async def turn(self, asked: Asked) -> None:
        trading = await self._clock.turn(asked.action)
        self._show(trading)
        self._desk_context.tell(Said(f"{trading.words.capitalize()}.", twin=asked.twin))

    async def give_time(self) -> None:
        """Real time while a person decides: at sixty times it an approval would last seconds."""
        trading = await self._clock.status()
        if _DECIDING not in self._held and not trading.held and trading.speed > _REAL_TIME:
            words = f"The market runs in real time while you decide, not ×{trading.speed:g}."
            self._desk_context.tell(Said(words))
        self._held.add(_DECIDING)
        self._show(await self._clock.hold(_DECIDING, trading.time + _DECIDING_SECONDS))

    async def go_on(self) -> None:
        """Back to the chosen speed, unless another approval is open."""
        if _DECIDING in self._held:
            self._held.discard(_DECIDING)
            await self._clock.let_go(_DECIDING)
        trading = await self._hold_for_approvals()
        self._show(trading)
        if not trading.held and trading.speed > _REAL_TIME:
            self._desk_context.tell(Said(f"The market runs at ×{trading.speed:g} again."))

    async def _hold_for_approvals(self) -> MarketTrading:
        """Hold the market for every approval that is open, whoever gave it, and for none other."""
        trading = await self._clock.status()
        journal = self._desk_context.session.home.outbox
        approvals = await asyncio.to_thread(open_approvals, journal)
        wanted = {name: until for name, until in approvals.items() if until > trading.time}
        for name, until in wanted.items():
            if name not in self._held:
                self._held.add(name)
                trading = await self._clock.hold(name, until)
        for name in self._held - wanted.keys() - {_DECIDING}:
            self._held.discard(name)
            trading = await self._clock.let_go(name)
        return trading

    def _show(self, trading: MarketTrading) -> None:
        self._desk_context.status.trading(trading.words, paused=not trading.speed)
