"""The one place that loads the openai package: late, in a thread, with its defaults tamed."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from chain.base.http import is_secure, open_transport

if TYPE_CHECKING:
    from types import TracebackType

    import openai

    from agents.model.settings import ModelSettings


class Connection:
    """Connections to one endpoint, shared by all debates of one event loop."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._client: openai.AsyncOpenAI | None = None
        self._loading = asyncio.Lock()

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def client(self) -> openai.AsyncOpenAI:
        async with self._loading:
            if self._client is None:
                # A second of imports and certificates that may not stop the screen.
                self._client = await asyncio.to_thread(_connect, self._settings)
            return self._client

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None


def _connect(settings: ModelSettings) -> openai.AsyncOpenAI:
    import httpx2
    import openai

    from agents.model.capped_transport import CappedTransport

    # At DEBUG it logs headers and prompts.
    logging.getLogger("openai").setLevel(logging.WARNING)
    limits = settings.limits
    transport = open_transport(secure=is_secure([settings.base_url]))
    return openai.AsyncOpenAI(
        api_key=settings.api_key,
        base_url=settings.base_url,
        max_retries=0,
        default_headers={"Accept-Encoding": "identity"},
        http_client=httpx2.AsyncClient(
            transport=CappedTransport(transport, limits.wire_bytes),
            timeout=httpx2.Timeout(limits.total_seconds, connect=limits.connect_seconds),
            follow_redirects=False,
            trust_env=False,
        ),
    )
