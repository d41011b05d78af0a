"""The embedded chain's clock, as the desk shows and turns it; no other network has one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct

from chain.base.clean_text import clean_text, without_own_marks
from chain.rpc.errors import RpcError
from chain.rpc.requests import Request
from chain.rpc.values import InvalidValueError
from zuno_tui.desk.events import Said

if TYPE_CHECKING:
    from chain.rpc.records import Json
    from zuno_tui.commands.market import SetMarketClock as Asked
    from zuno_tui.desk.context import DeskContext

_BETWEEN_LOOKS = 3.0
_STEP_SECONDS = 600
_SPEEDS = (1.0, 10.0, 60.0, 300.0, 1200.0)
_REAL_TIME = 1.0


class MarketTrading(Struct, frozen=True):
    speed: float
    phase: str

    @property
    def words(self) -> str:
        if not self.speed:
            return f"market paused · {self.phase}"
        return f"market ×{self.speed:g} · {self.phase}"


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
        match asked.action:
            case "pause":
                trading = await self._ask("zuno_pause")
            case "resume":
                trading = await self._ask("zuno_resume")
            case "step":
                trading = await self._ask("zuno_step", _STEP_SECONDS)
            case "faster" | "slower":
                now = await self._ask("zuno_status")
                trading = await self._ask("zuno_setSpeed", next_speed(now.speed, asked.action))
        self._show(trading)
        self._desk_context.tell(Said(f"{trading.words.capitalize()}.", twin=asked.twin))

    async def give_time(self) -> None:
        """Real time while a person decides: at sixty times it an approval would last seconds."""
        trading = await self._ask("zuno_status")
        if trading.speed > _REAL_TIME:
            self._set_aside = trading.speed
            self._show(await self._ask("zuno_setSpeed", _REAL_TIME))

    async def go_on(self) -> None:
        """Back to the speed before, unless the person has chosen another since."""
        speed, self._set_aside = self._set_aside, None
        if speed is not None:
            self._show(await self._ask("zuno_setSpeed", speed))

    async def _ask(self, method: str, *params: Json) -> MarketTrading:
        return await self._desk_context.sources.client.ask(Request(method, params, _trading))

    def _show(self, trading: MarketTrading) -> None:
        self._desk_context.status.trading(trading.words, paused=not trading.speed)


def next_speed(speed: float, towards: str) -> float:
    """The next of a few speeds, the last of them again at either end."""
    if towards == "faster":
        return next((one for one in _SPEEDS if one > speed), _SPEEDS[-1])
    return next((one for one in reversed(_SPEEDS) if one < speed), _SPEEDS[0])


def _trading(value: object) -> MarketTrading:
    match value:
        case {"speed": int() | float() as speed, "phase": str(phase)}:
            return MarketTrading(float(speed), without_own_marks(clean_text(phase, limit=24)))
    raise InvalidValueError("the status of a market was expected")
