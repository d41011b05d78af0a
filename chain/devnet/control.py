"""The control port beside the node: its market's clock, its guard hook, and the demo exchange.

JSON-RPC by POST: `zuno_pause()`, `zuno_resume()`, `zuno_setSpeed(speed)`, `zuno_step(seconds)`,
`zuno_hold(reason, until)`, `zuno_letGo(reason)` and `zuno_status()` answer with the status,
`zuno_setHookFlag(refusing)` with a transaction. By GET: the pages of the demo exchange.
"""

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from threading import RLock

from chain.base.loopback_http import LoopbackHandler, LoopbackServer
from chain.base.units import DAY
from chain.devnet.exchange import DemoExchange
from chain.devnet.json_rpc import Json, NodeError
from chain.devnet.live import LiveWorld

Method = Callable[[list[object]], Json]

FASTEST = 100_000
LONGEST_STEP = 7 * DAY
LONGEST_REASON = 80
INVALID_PARAMS, METHOD_NOT_FOUND, INVALID_REQUEST, FAILED = -32602, -32601, -32600, -32000


class ControlError(Exception):
    """A request that cannot be granted, with its JSON-RPC code."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


class MarketControls:
    """The methods for one world; `changed` is called whenever the clock runs differently."""

    def __init__(self, live: LiveWorld, lock: RLock, changed: Callable[[], object]) -> None:
        self._live = live
        self._lock = lock
        self._changed = changed
        self._resumed_speed = live.clock.chosen_speed or 1.0
        self._methods: Mapping[str, Method] = {
            "zuno_pause": lambda _: self._set_speed(0),
            "zuno_resume": lambda _: self._set_speed(self._resumed_speed),
            "zuno_setSpeed": lambda params: self._set_speed(_speed(*params)),
            "zuno_step": lambda params: self._step(_step_seconds(*params)),
            "zuno_hold": lambda params: self._hold(*_hold(*params)),
            "zuno_letGo": lambda params: self._let_go(_reason(*params)),
            "zuno_status": lambda _: self._status(),
            "zuno_setHookFlag": lambda params: live.refuse_exits(refusing=_flag(*params)),
        }

    def answer(self, name: str, params: list[object]) -> Json:
        method = self._methods.get(name)
        if method is None:
            raise ControlError(METHOD_NOT_FOUND, f"the method {name[:80]} does not exist")
        try:
            with self._lock:
                return method(params)
        except TypeError:
            raise ControlError(INVALID_PARAMS, f"{name} takes other parameters") from None
        except NodeError as error:
            raise ControlError(FAILED, str(error)) from error
        finally:
            self._changed()

    def _set_speed(self, speed: float) -> Json:
        self._live.clock.set_speed(speed)
        self._resumed_speed = speed or self._resumed_speed
        return self._status()

    def _step(self, seconds: int) -> Json:
        self._live.step(seconds)
        return self._status()

    def _hold(self, reason: str, until: int) -> Json:
        self._live.clock.hold(reason, until)
        return self._status()

    def _let_go(self, reason: str) -> Json:
        self._live.clock.let_go(reason)
        return self._status()

    def _status(self) -> Json:
        live, head_time = self._live, self._live.head_time
        return {
            "time": head_time,
            "speed": live.clock.speed,
            "chosenSpeed": live.clock.chosen_speed,
            "held": bool(live.clock.holds),
            "holds": list(live.clock.holds),
            "phase": str(live.world.market.phase(head_time).mood),
            "seed": live.world.seed,
            "world": live.world.size,
            "positions": dict(live.world.positions),
        }


class ControlServer(LoopbackServer):
    controls: MarketControls
    exchange: DemoExchange
    now: Callable[[], int]

    def __init__(self, port: int) -> None:
        super().__init__(port, _Handler)

    def start(
        self, controls: MarketControls, exchange: DemoExchange, now: Callable[[], int]
    ) -> None:
        self.controls, self.exchange, self.now = controls, exchange, now
        self.serve_in_thread("control")


class _Handler(LoopbackHandler):
    server: ControlServer

    def answer_post(self, asked: object) -> None:
        match asked:
            case {"method": str(method), **rest}:
                answer: dict[str, object] = {"jsonrpc": "2.0", "id": rest.get("id")}
                params = rest.get("params", [])
                try:
                    if not isinstance(params, list):
                        raise ControlError(INVALID_PARAMS, "params must be a list")
                    answer["result"] = self.server.controls.answer(method, params)
                except ControlError as error:
                    answer["error"] = {"code": error.code, "message": str(error)}
            case _:
                error_words = {"code": INVALID_REQUEST, "message": "invalid request"}
                answer = {"jsonrpc": "2.0", "id": None, "error": error_words}
        self.send_json(json.dumps(answer).encode())

    def answer_get(self, path: str) -> None:
        page = self.server.exchange.answer(path, self.server.now())
        if page is None:
            self.send_json(b"{}", HTTPStatus.NOT_FOUND)
        else:
            self.send_json(page.content, HTTPStatus(page.status))


def _quoted(value: object) -> str:
    return repr(value)[:80]


def _speed(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= FASTEST:
        raise ControlError(INVALID_PARAMS, f"{_quoted(value)} is not a speed from 0 to {FASTEST}")
    return float(value)


def _step_seconds(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LONGEST_STEP:
        words = f"{_quoted(value)} is not a step from 1 to {LONGEST_STEP} seconds"
        raise ControlError(INVALID_PARAMS, words)
    return value


def _reason(value: object) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_REASON:
        raise ControlError(INVALID_PARAMS, f"{_quoted(value)} is not the name of a hold")
    return value


def _hold(reason: object, until: object) -> tuple[str, int]:
    if isinstance(until, bool) or not isinstance(until, int):
        raise ControlError(INVALID_PARAMS, f"{_quoted(until)} is not a time")
    return _reason(reason), until


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ControlError(INVALID_PARAMS, f"{_quoted(value)} is neither true nor false")
    return value
