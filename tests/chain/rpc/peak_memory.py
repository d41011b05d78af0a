"""Run alone in a fresh process: how much memory answers of 300 MB cost the client at most."""

from __future__ import annotations

import asyncio
import resource
import sys

from chain.contracts.networks import network_named
from chain.rpc import requests
from chain.rpc.errors import RpcError
from chain.rpc.records import LogFilter
from chain.rpc.requests import RequestLimits
from tests.chain.rpc.conftest import client_of

PATIENT = RequestLimits().answering_within(600)
QUESTIONS = (
    requests.gas_price(),
    requests.logs(LogFilter("0x" + "cc" * 20, (), 0, 1)),
)


def peak_bytes() -> int:
    kilobytes = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * kilobytes


async def main(honest: str, *faulty: str) -> None:
    base = network_named("base")
    async with client_of(base, [honest], PATIENT) as client:
        await client.ask(requests.gas_price())
    before = peak_bytes()
    kinds = []
    for url in faulty:
        async with client_of(base, [url], PATIENT) as client:
            for question in QUESTIONS:
                try:
                    await client.ask(question)
                except RpcError as error:
                    kinds.append(error.kind.value)
    sys.stdout.write(",".join((str(peak_bytes() - before), *kinds)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
