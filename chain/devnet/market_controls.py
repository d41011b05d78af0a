"""JSON-RPC methods of this chain alone: its clock, its market, its guard hook.

`zuno_pause()`, `zuno_resume()`, `zuno_setSpeed(speed)`, `zuno_step(seconds)`, `zuno_status()` and
`zuno_setHookFlag(refusing)`. All but the last answer with the status.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.base.units import DAY
from chain.devnet.node.rpc.faults import invalid
from chain.devnet.node.rpc.fields import flag, number, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chain.devnet.live import LiveWorld
    from chain.devnet.node.rpc.dispatch import Method
    from chain.devnet.node.rpc.faults import Json

FASTEST = 100_000
LONGEST_STEP = 7 * DAY


def market_controls(live: LiveWorld, changed: Callable[[], object]) -> Mapping[str, Method]:
    """The methods for one world; `changed` is told whenever the clock runs differently."""
    resumed_speed = live.clock.speed or 1.0

    def set_speed(speed: float) -> Json:
        nonlocal resumed_speed
        live.clock.set_speed(speed)
        resumed_speed = speed or resumed_speed
        changed()
        return _status(live)

    def step(seconds: int) -> Json:
        live.step(seconds)
        changed()
        return _status(live)

    return {
        "zuno_pause": lambda _node, _params: set_speed(0),
        "zuno_resume": lambda _node, _params: set_speed(resumed_speed),
        "zuno_setSpeed": lambda _node, params: set_speed(params.take(_speed)),
        "zuno_step": lambda _node, params: step(params.take(_step_seconds)),
        "zuno_status": lambda _node, _params: _status(live),
        "zuno_setHookFlag": lambda _node, params: live.refuse_exits(refusing=params.take(flag)),
    }


def _status(live: LiveWorld) -> Json:
    return {
        "time": live.head_time,
        "speed": live.clock.speed,
        "phase": str(live.world.market.phase(live.head_time).mood),
        "swaps": live.swaps(),
        "seed": live.world.seed,
        "world": live.world.size,
        "positions": dict(live.world.positions),
    }


def _speed(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= FASTEST:
        raise invalid(f"{shown(value)} is not a speed from 0 to {FASTEST}")
    return float(value)


def _step_seconds(value: Json) -> int:
    seconds = number(value)
    if not 0 < seconds <= LONGEST_STEP:
        raise invalid(f"{seconds} is not a step from 1 to {LONGEST_STEP} seconds")
    return seconds
