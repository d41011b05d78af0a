"""Looking a host's name up without being held by it.

The event loop asks the system in a thread that it waits for when it ends, and a resolver that gets
no answer takes half a minute to say so: a command would fail in time and then not end. A first
look-up in a thread nobody waits for finds that out.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from ipaddress import ip_address


async def has_address(host: str) -> bool:
    """Whether the name leads anywhere; may take as long as the resolver does, so limit the time."""
    with suppress(ValueError):
        return bool(ip_address(host))
    loop = asyncio.get_running_loop()
    found: asyncio.Future[bool] = loop.create_future()

    def tell(answer: bool) -> None:
        if not found.done():
            found.set_result(answer)

    def look_up() -> None:
        try:
            answer = bool(socket.getaddrinfo(host, None))
        except OSError:
            answer = False
        with suppress(RuntimeError):  # the loop is closed when the answer came too late
            loop.call_soon_threadsafe(tell, answer)

    threading.Thread(target=look_up, name="name look-up", daemon=True).start()
    return await found
