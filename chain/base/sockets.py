"""WebSockets to a server: straight, never redirected, bounded in time and size."""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

_CLOSING_SECONDS = 1.0


def web_socket(
    url: str, *, connect_seconds: float, most_bytes: int, authorization: str | None = None
) -> AbstractAsyncContextManager[ClientConnection]:
    from websockets.asyncio.client import connect

    class Direct(connect):
        """The library's own, but for redirects: they are never followed."""

        def process_redirect(self, exc: Exception) -> Exception:
            return exc

    # At DEBUG the library would log whole frames and headers.
    logger = logging.getLogger("websockets.zuno")
    logger.setLevel(logging.WARNING)
    return Direct(
        url,
        additional_headers=None if authorization is None else {"authorization": authorization},
        user_agent_header="zuno",
        proxy=None,
        compression=None,
        open_timeout=connect_seconds,
        close_timeout=_CLOSING_SECONDS,
        max_size=most_bytes,
        logger=logger,
    )
