"""The embedded chain as a process: a line on stdout when it is ready, then JSON-RPC."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from chain.base.home import cache_folder
from chain.contracts.networks import embedded_chain_id
from chain.devnet.clock import Clock
from chain.devnet.defaults import DEMO_SEED, DEMO_SPEED
from chain.devnet.exchange.pages import DemoExchange
from chain.devnet.live import LiveWorld
from chain.devnet.market_controls import FASTEST, market_controls
from chain.devnet.node.node import Node
from chain.devnet.node.records import CHAIN_ID
from chain.devnet.node.server import Server
from chain.devnet.world.accounts import DEMO_WALLET
from chain.devnet.world.contracts import ContractsError
from chain.devnet.world.deployment import CONTRACTS
from chain.devnet.world.keystore import demo_keystore
from chain.devnet.world.market import MARKET_OPENS
from chain.devnet.world.worlds import open_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.devnet.world.worlds import Size, World

_PROGRESS_STEPS = 20


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    return run(
        port=options.port,
        seed=options.seed,
        speed=options.speed,
        world=options.world,
        build_only=options.build_only,
        with_parent=options.with_parent,
        chain_id=options.chain_id,
    )


def run(
    *,
    port: int = 0,
    seed: int = DEMO_SEED,
    speed: float = DEMO_SPEED,
    world: Size = "week",
    build_only: bool = False,
    with_parent: bool = False,
    chain_id: int = CHAIN_ID,
) -> int:
    """Serve until a signal comes, or until stdin ends when living `with_parent`."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    try:
        opened = open_world(seed, world, chain_id=chain_id, progress=_Progress(world, seed))
    except ContractsError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if not build_only:
        try:
            asyncio.run(_serve(opened, port=port, speed=speed, with_parent=with_parent))
        except OSError as error:
            sys.stderr.write(f"Port {port} cannot be used: {error.strerror}. Try --port 0.\n")
            return 1
    return 0


async def _serve(world: World, *, port: int, speed: float, with_parent: bool) -> None:
    loop = asyncio.get_running_loop()
    stopping, changed = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    clock = Clock(time.monotonic, world.ledger.head.timestamp, speed)
    node = Node(world.ledger, block_time=clock.next_block)
    live = LiveWorld(world, node, clock)
    controls = market_controls(live, lambda: loop.call_soon_threadsafe(changed.set))
    exchange = DemoExchange(world.market.path, MARKET_OPENS)
    server = Server(
        node, methods=controls, page=lambda target: exchange.answer(target, live.head_time)
    )
    url = await server.start(port=port)
    sys.stdout.write(json.dumps(_ready_line(world, url)) + "\n")
    sys.stdout.flush()
    market = asyncio.create_task(_trade(server, live, changed))
    market.add_done_callback(lambda _task: stopping.set())
    orphaned = asyncio.create_task(_stdin_ended(stopping)) if with_parent else None
    await stopping.wait()
    market.cancel()
    if orphaned is not None:
        orphaned.cancel()
    with suppress(asyncio.CancelledError):
        await market
    await server.close()


async def _trade(server: Server, live: LiveWorld, changed: asyncio.Event) -> None:
    """Let the market run: what is due at once, then rest until the next is or the clock changes."""
    while True:
        changed.clear()
        wait = await server.run(live.tick)
        if wait:
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), None if wait == float("inf") else wait)


async def _stdin_ended(stopping: asyncio.Event) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(1024):
        pass
    stopping.set()


def _ready_line(world: World, url: str) -> dict[str, object]:
    return {
        "url": url,
        "chainId": world.ledger.chain_id,
        "wallet": DEMO_WALLET.address,
        "keystore": str(demo_keystore(cache_folder(os.environ))),
        "seed": world.seed,
        "contracts": {
            "poolManager": CONTRACTS.pool_manager,
            "positionManager": CONTRACTS.position_manager,
            "stateView": CONTRACTS.state_view,
            "quoter": CONTRACTS.quoter,
            "universalRouter": CONTRACTS.universal_router,
            "permit2": CONTRACTS.permit2,
            "multicall3": CONTRACTS.multicall3,
        },
    }


class _Progress:
    """Tells on stderr how far the building is, where there is any to be done."""

    def __init__(self, world: Size, seed: int) -> None:
        self._what = f"the {world} world of seed {seed}"
        self._told = -1

    def __call__(self, done: int, total: int) -> None:
        step = done * _PROGRESS_STEPS // total
        if step != self._told:
            self._told = step
            percent = step * 100 // _PROGRESS_STEPS
            sys.stderr.write(f"Building {self._what}: {percent} %\n")
            sys.stderr.flush()


def _speed(text: str) -> float:
    speed = float(text)
    if not 0 <= speed <= FASTEST:
        raise argparse.ArgumentTypeError(f"{text} is not a speed from 0 to {FASTEST}")
    return speed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chain.devnet", description="Uniswap v4 on an embedded chain."
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    parser.add_argument("--seed", type=int, default=DEMO_SEED, help="which market happens")
    parser.add_argument(
        "--speed", type=_speed, default=DEMO_SPEED, help="simulated seconds a second; 0 is a pause"
    )
    parser.add_argument("--world", choices=("week", "small"), default="week")
    parser.add_argument("--chain-id", type=embedded_chain_id, default=CHAIN_ID)
    parser.add_argument("--build-only", action="store_true", help="build the world and stop")
    parser.add_argument("--with-parent", action="store_true", help="stop when stdin ends")
    return parser
