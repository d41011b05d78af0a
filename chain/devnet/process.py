"""The embedded chain as a process: a line on stdout when it is ready, then JSON-RPC.

Anvil answers at the port, the market's control and the demo exchange at the next one. With a
parent, how far the writing is goes to stdout, too, a line each: a desk shows it.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from threading import RLock
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from chain.base.errors import ZunoError
from chain.base.home import cache_folder, write_atomically
from chain.base.loopback_http import HOST, LoopbackHandler, LoopbackServer
from chain.base.units import DAY
from chain.contracts.networks import embedded_chain_id
from chain.devnet.anvil import AddressTakenError, AnvilError, PackageError
from chain.devnet.defaults import CHAIN_ID, DEMO_SEED, DEMO_SPEED, control_url, token_file
from chain.devnet.exchange import DemoExchange
from chain.devnet.json_rpc import Json, NodeClient, NodeError
from chain.devnet.launch import camel
from chain.devnet.live import Clock, LiveWorld
from chain.devnet.world.accounts import DEMO_WALLET, demo_keystore
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.market import MARKET_OPENS
from chain.devnet.world.v3_life import place_v3, v3_codes
from chain.devnet.world.worlds import Size, World, opened_world
from chain.devnet.world.writing import BASE_FEE_FLOOR, WorldError

# JSON-RPC by POST: `zuno_pause()`, `zuno_resume()`, `zuno_setSpeed(speed)`, `zuno_step(seconds)`,
# `zuno_hold(reason, until)`, `zuno_letGo(reason)` and `zuno_status()` answer with the status,
# `zuno_setHookFlag(refusing)` with a transaction. By GET: the pages of the demo exchange.
Method = Callable[[list[object]], Json]
"""What gives no answer of its own is answered with the status."""

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
            "zuno_setSpeed": lambda params: self._set_speed(_checked_speed(*params)),
            "zuno_step": lambda params: live.step(_step_seconds(*params)),
            "zuno_hold": lambda params: live.clock.hold(*_hold(*params)),
            "zuno_letGo": lambda params: live.clock.let_go(_reason(*params)),
            "zuno_status": lambda _: None,
            "zuno_setHookFlag": lambda params: live.refuse_exits(refusing=_flag(*params)),
        }

    def answer(self, name: str, params: list[object]) -> Json:
        method = self._methods.get(name)
        if method is None:
            raise ControlError(METHOD_NOT_FOUND, f"the method {name[:80]} does not exist")
        try:
            with self._lock:
                answer = method(params)
                return self._status() if answer is None else answer
        except TypeError:
            raise ControlError(INVALID_PARAMS, f"{name} takes other parameters") from None
        except NodeError as error:
            raise ControlError(FAILED, str(error)) from error
        finally:
            self._changed()

    def _set_speed(self, speed: float) -> None:
        self._live.clock.set_speed(speed)
        self._resumed_speed = speed or self._resumed_speed

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
        super().__init__(port, _ControlHandler)

    def start(
        self, controls: MarketControls, exchange: DemoExchange, now: Callable[[], int]
    ) -> None:
        self.controls, self.exchange, self.now = controls, exchange, now
        write_atomically(token_file(self.port, os.environ), self.token.encode())
        self.serve_in_thread("control")

    def server_close(self) -> None:
        # Before the port is anybody's again: the next one keeps its token in the same file.
        with suppress(OSError):
            if (file := token_file(self.port, os.environ)).read_text("ascii") == self.token:
                file.unlink()
        super().server_close()


class _ControlHandler(LoopbackHandler):
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


def _checked_speed(value: object) -> float:
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


if TYPE_CHECKING:
    from websockets.sync.connection import Connection

# Blocks of the embedded chain are nearly empty, and EIP-1559 alone would let the base fee decay
# to 7 wei within 150 of them: gas would be free and no plan could be too expensive. A node has no
# such floor, so whoever mines a block, the next one's fee is put right.
_SUBSCRIBE = '{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'


class _Notice(Struct, frozen=True):
    method: str | None = None
    """None for the answer to our own request."""


def hold_fee_floor(url: str) -> None:
    """Watch the node's blocks from a thread of its own, for as long as the node answers."""
    from websockets.sync.client import connect

    connection = connect(url.replace("http", "ws", 1), compression=None)
    connection.send(_SUBSCRIBE)
    watch = threading.Thread(target=_watch, args=(connection, url), name="fees", daemon=True)
    watch.start()


def _watch(connection: Connection, url: str) -> None:
    from websockets.exceptions import ConnectionClosed

    with suppress(ConnectionClosed, NodeError), connection, NodeClient(url) as node:
        for message in connection:
            if msgspec.json.decode(message, type=_Notice).method is not None:
                _raise_fee(node)


def _raise_fee(node: NodeClient) -> None:
    history = node.ask_fields("eth_feeHistory", "0x1", "latest", [])
    fees = msgspec.convert(history["baseFeePerGas"], list[str])
    if int(fees[-1], 16) < BASE_FEE_FLOOR:
        node.ask("anvil_setNextBlockBaseFeePerGas", hex(BASE_FEE_FLOOR))


_PROGRESS_STEPS = 20
_PORT_TRIES = 50
_END_SECONDS = 8.0


class PortError(ZunoError):
    """A port that somebody else listens at."""


def main(arguments: Sequence[str] | None = None) -> int:
    return run(**vars(_parser().parse_args(arguments)))


def run(
    *,
    port: int = 0,
    seed: int = DEMO_SEED,
    speed: float = DEMO_SPEED,
    world: Size = "week",
    build_only: bool = False,
    with_parent: bool = False,
    chain_id: int = CHAIN_ID,
    v3: bool = False,
) -> int:
    """Serve until a signal comes, or until stdin ends when living `with_parent`."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    progress = _Progress(to_parent=with_parent)
    stop = _Stop()
    if with_parent:
        threading.Thread(target=stop.when_stdin_ends, name="parent", daemon=True).start()
    failure: ZunoError
    for _ in range(1 if port else _PORT_TRIES):
        try:
            control = _control_beside(port)
            with opened_world(
                seed, world, chain_id=chain_id, port=control.port - 1, progress=progress, v3=v3
            ) as opened:
                if not v3:
                    # Who asks whether there are positions of v3 is told that there are none.
                    place_v3(opened.node, v3_codes())
                return 0 if build_only else _serve(opened, control, speed=speed, stop=stop)
        except AddressTakenError as error:
            # Somebody took the port between the look whether it is free and the node's start.
            control.server_close()
            failure = error
        except (AnvilError, NodeError, PackageError, PortError, WorldError) as error:
            failure = error
            break
    sys.stderr.write(f"{failure}\n")
    return 1


def _control_beside(port: int) -> ControlServer:
    """The control's listener, with the port before its own free for the node."""
    for _ in range(_PORT_TRIES):
        try:
            control = ControlServer(port + 1 if port else 0)
        except OSError as error:
            words = f"Port {port + 1} cannot be used: {error.strerror}. Try --port 0."
            raise PortError(words) from error
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((HOST, control.port - 1))
            except OSError as error:
                control.server_close()
                if port:
                    words = f"Port {port} cannot be used: {error.strerror}. Try --port 0."
                    raise PortError(words) from error
            else:
                return control
    raise PortError("No two neighbouring ports are free on this machine.")


def _serve(world: World, control: ControlServer, *, speed: float, stop: _Stop) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.now())
    world.anvil.when_ended(stop.now)
    hold_fee_floor(world.anvil.url)
    lock, changed = threading.RLock(), stop.changed
    with lock:
        clock = Clock(time.monotonic, 0, speed)
        live = LiveWorld(world, clock)
        clock.set_time(live.head_time)
    exchange = DemoExchange(world.market.path, MARKET_OPENS)

    def head_time() -> int:
        with lock:
            return live.head_time

    control.start(MarketControls(live, lock, changed.set), exchange, head_time)
    _write_line(_ready_line(world))
    try:
        while not stop.is_due:
            changed.clear()
            with lock:
                wait = live.tick()
            if wait and not stop.is_due:
                changed.wait(None if wait == float("inf") else wait)
    except NodeError:
        # Where the node is gone, how it ended says more than that it does not answer.
        if not world.anvil.has_ended_within(_END_SECONDS):
            raise
    control.server_close()
    if why := world.anvil.why_ended():
        sys.stderr.write(f"Anvil ended while the embedded chain ran. {why}\n")
        return 1
    return 0


class _Stop:
    def __init__(self) -> None:
        self.is_due = False
        self.changed = threading.Event()

    def now(self) -> None:
        self.is_due = True
        self.changed.set()

    def when_stdin_ends(self) -> None:
        """A parent that is gone needs no chain; one that is being written ends on the spot."""
        while os.read(sys.stdin.fileno(), 1024):
            pass
        self.now()
        time.sleep(_END_SECONDS)
        os._exit(1)


def _ready_line(world: World) -> dict[str, object]:
    return {
        "url": world.anvil.url,
        "control": control_url(world.anvil.url),
        "chainId": world.chain_id,
        "wallet": DEMO_WALLET.address,
        "keystore": str(demo_keystore(cache_folder(os.environ))),
        "seed": world.seed,
        "contracts": {camel(name): place for name, place in asdict(CONTRACTS).items()},
    }


def _write_line(content: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


class _Progress:
    """Says how far the writing of the world is: to the parent, or to whoever watches stderr."""

    def __init__(self, *, to_parent: bool) -> None:
        self._to_parent = to_parent
        self._last = -1

    def __call__(self, done: int, total: int) -> None:
        step = done * _PROGRESS_STEPS // total
        if step == self._last:
            return
        self._last = step
        if self._to_parent:
            _write_line({"progress": done, "of": total})
        elif sys.stderr.isatty():
            sys.stderr.write(f"\rWriting the market's history: {100 * done // total}% ")
            sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m chain.devnet", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    parser.add_argument("--seed", type=int, default=DEMO_SEED)
    parser.add_argument("--speed", type=_speed, default=DEMO_SPEED)
    parser.add_argument("--world", choices=("week", "small"), default="week")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--chain-id", type=embedded_chain_id, default=CHAIN_ID)
    parser.add_argument("--with-parent", action="store_true")
    parser.add_argument("--v3", action="store_true")
    return parser


def _speed(text: str) -> float:
    speed = float(text)
    if not 0 <= speed <= FASTEST:
        raise argparse.ArgumentTypeError(f"a speed is from 0 to {FASTEST}")
    return speed
