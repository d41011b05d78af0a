"""Run alone in a fresh process: ask an endpoint whose name the system's resolver never answers."""

from __future__ import annotations

import asyncio
import socket
import sys
import time

from chain.contracts.networks import network_named
from chain.rpc import requests
from chain.rpc.client import RpcClient
from chain.rpc.errors import RpcError
from chain.rpc.requests import RequestLimits


def never_answer(*_: object, **__: object) -> list[object]:
    time.sleep(60)
    return []


async def main() -> None:
    limits = RequestLimits(connect_seconds=0.3, rounds=1)
    async with RpcClient(network_named("base"), ["http://rpc.invalid"], limits=limits) as client:
        try:
            await client.ask(requests.gas_price())
        except RpcError as error:
            sys.stdout.write(error.kind.value)


if __name__ == "__main__":
    socket.getaddrinfo = never_answer  # type: ignore[assignment]
    asyncio.run(main())
