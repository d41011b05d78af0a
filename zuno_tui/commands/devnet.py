"""`zuno devnet`: the embedded chain as a JSON-RPC server."""

from argparse import Namespace
from typing import ClassVar

from zuno_tui.catalog.command import Command, Group
from zuno_tui.intents.intent import Argument, Intent


def _chain_id(text: str) -> int:
    from chain.contracts.networks import embedded_chain_id

    return embedded_chain_id(text)


class RunDevnet(Intent, frozen=True):
    command: ClassVar = ("devnet",)
    arguments: ClassVar = (
        Argument(
            "--port",
            "0 picks a free one (default 8545); the market's control is at the next",
            read=int,
        ),
        Argument("--seed", "which market history", read=int),
        Argument("--speed", "market time per real time; 0 pauses", read=float),
        Argument("--world", choices=("week", "small")),
        Argument("--chain-id", "a chain id other than 31337, for a second chain", read=_chain_id),
        Argument("--v3", "with four positions of Uniswap v3 beside those of v4", switch=True),
        Argument("--build-only", "build the world and stop", switch=True),
    )

    port: int = 8545
    seed: int | None = None
    speed: float | None = None
    world: str = "week"
    chain_id: int | None = None
    v3: bool = False
    build_only: bool = False


def _run(arguments: Namespace) -> int:
    import os

    from chain.base.home import Home
    from chain.devnet import process
    from zuno_tui.app.session import name_anvil
    from zuno_tui.settings import Flags, load_settings

    name_anvil(load_settings(Home.locate(os.environ).settings, os.environ, Flags()), os.environ)
    from chain.devnet.defaults import CHAIN_ID, DEMO_SEED, DEMO_SPEED

    return process.run(
        port=arguments.port,
        seed=DEMO_SEED if arguments.seed is None else arguments.seed,
        speed=DEMO_SPEED if arguments.speed is None else arguments.speed,
        world=arguments.world,
        build_only=arguments.build_only,
        chain_id=CHAIN_ID if arguments.chain_id is None else arguments.chain_id,
        v3=arguments.v3,
    )


COMMAND = Command(
    does="run the demo's chain as a JSON-RPC server",
    group=Group.SETUP,
    reaches_network=False,
    intent=RunDevnet,
    takes_shared_flags=False,
    run=_run,
)
