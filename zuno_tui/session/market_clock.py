"""The embedded chain's clock: asked for, and turned; no other network has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from chain.base.clean_text import clean_text, without_own_marks
from chain.rpc.requests import Request
from chain.rpc.values import InvalidValueError

if TYPE_CHECKING:
    from chain.rpc.client import RpcClient
    from chain.rpc.records import Json

MarketAction: TypeAlias = Literal["pause", "resume", "step", "faster", "slower"]

_STEP_SECONDS = 600
_SPEEDS = (1.0, 10.0, 60.0, 300.0, 1200.0)


class MarketTrading(Struct, frozen=True):
    speed: float
    phase: str

    @property
    def words(self) -> str:
        if not self.speed:
            return f"market paused · {self.phase}"
        return f"market ×{self.speed:g} · {self.phase}"


async def ask_market(client: RpcClient, method: str, *params: Json) -> MarketTrading:
    return await client.ask(Request(method, params, _trading))


async def turn_market(client: RpcClient, action: MarketAction) -> MarketTrading:
    match action:
        case "pause":
            return await ask_market(client, "zuno_pause")
        case "resume":
            return await ask_market(client, "zuno_resume")
        case "step":
            return await ask_market(client, "zuno_step", _STEP_SECONDS)
        case "faster" | "slower":
            now = await ask_market(client, "zuno_status")
            return await ask_market(client, "zuno_setSpeed", next_speed(now.speed, action))


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
