"""An expert in a process of its own: `python -m tests.fakes.jury_agent ROLE CONDUCT`."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from agents.bus.envelope import Role
from agents.bus.host import AgentHost
from agents.bus.worker import Ambient
from tests.fakes.jury import JURY, JuryServices, Parrot
from tests.fakes.pipe_transport import MOST_LINE, AgentEnd

if TYPE_CHECKING:
    from agents.bus.envelope import FlowTerms

READY = b"ready\n"


async def main(role: Role, conduct: str) -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MOST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    out, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    writer = asyncio.StreamWriter(out, protocol, None, loop)

    def services(request_id: str, terms: FlowTerms) -> JuryServices:
        def fact(asker: Role) -> object:
            if conduct == "crash":
                raise ConnectionError("https://example.com/v2/secret")
            if conduct == "die":
                sys.exit(1)
            return f"{asker} may use {terms.tokens} tokens"

        return JuryServices(Parrot(), fact)

    transport = AgentEnd(JURY.registry, reader, writer)
    host = AgentHost(JURY, role, transport, services, ambient=Ambient(time.time, lambda: "unused"))
    writer.write(READY)
    with suppress(EOFError):
        await host.run()


if __name__ == "__main__":
    asyncio.run(main(Role(sys.argv[1]), sys.argv[2]))
