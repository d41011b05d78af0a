"""`zuno devnet`: the embedded chain as a JSON-RPC server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.devnet.defaults import DEMO_SEED, DEMO_SPEED
from chain.devnet.launch import require_demo_packages

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    require_demo_packages()
    from chain.devnet import process

    return process.run(
        port=arguments.port,
        seed=DEMO_SEED if arguments.seed is None else arguments.seed,
        speed=DEMO_SPEED if arguments.speed is None else arguments.speed,
        world=arguments.world,
        build_only=arguments.build_only,
    )
