"""The embedded chain's clock, as the desk shows and turns it; no other network has one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from chain.rpc.errors import RpcError
from zuno_tui.desk.events import Said
from zuno_tui.session.market_clock import ask_market, turn_market

if TYPE_CHECKING:
    from chain.rpc.records import Json
    from zuno_tui.commands.market import SetMarketClock as Asked
    from zuno_tui.desk.context import DeskContext
    from zuno_tui.session.market_clock import MarketTrading

_BETWEEN_LOOKS = 3.0
_REAL_TIME = 1.0


class EmbeddedMarket:
    def __init__(self, desk_context: DeskContext) -> None:
        self._desk_context = desk_context
        self._set_aside: float | None = None
        """The speed to go back to when the person has decided."""

    async def run(self) -> None:
        """Until cancelled; a chain that does not answer is the positions' reader's to tell."""
        while True:
            try:
                self._show(await self._ask("zuno_status"))
            except RpcError:
                self._desk_context.status.trading(None, paused=False)
            await asyncio.sleep(_BETWEEN_LOOKS)

    async def turn(self, asked: Asked) -> None:
        self._set_aside = None
        trading = await turn_market(self._desk_context.sources.client, asked.action)
        self._show(trading)
        self._desk_context.tell(Said(f"{trading.words.capitalize()}.", twin=asked.twin))

    async def give_time(self) -> None:
        """Real time while a person decides: at sixty times it an approval would last seconds."""
        trading = await self._ask("zuno_status")
        if trading.speed > _REAL_TIME:
            self._set_aside = trading.speed
            self._show(await self._ask("zuno_setSpeed", _REAL_TIME))
            words = f"The market runs in real time while you decide, not ×{trading.speed:g}."
            self._desk_context.tell(Said(words))

    async def go_on(self) -> None:
        """Back to the speed before, unless the person has chosen another since."""
        speed, self._set_aside = self._set_aside, None
        if speed is not None:
            self._show(await self._ask("zuno_setSpeed", speed))
            self._desk_context.tell(Said(f"The market runs at ×{speed:g} again."))

    async def _ask(self, method: str, *params: Json) -> MarketTrading:
        return await ask_market(self._desk_context.sources.client, method, *params)

    def _show(self, trading: MarketTrading) -> None:
        self._desk_context.status.trading(trading.words, paused=not trading.speed)
