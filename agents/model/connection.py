"""The one place that loads the openai package: late, in a thread, with its defaults tamed."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from chain.base.http import ClosedAtEnd, is_secure, trusted_certificates

if TYPE_CHECKING:
    import openai

    from agents.model.interface import ModelSettings, RoleModels


class ModelConnections(ClosedAtEnd):
    """Connections to each endpoint, shared by all debates of one event loop."""

    def __init__(self) -> None:
        self._clients: dict[tuple[str, str], openai.AsyncOpenAI] = {}
        self._loading = asyncio.Lock()

    async def client(self, settings: ModelSettings) -> openai.AsyncOpenAI:
        endpoint = settings.base_url, settings.api_key
        async with self._loading:
            if endpoint not in self._clients:
                # A second of imports and certificates that may not stop the screen.
                self._clients[endpoint] = await asyncio.to_thread(_connect, settings)
            return self._clients[endpoint]

    async def load(self, models: RoleModels) -> None:
        """Before anything is asked: while this runs, nobody's deadline may."""
        for settings in models.each():
            await self.client(settings)

    async def close(self) -> None:
        while self._clients:
            _, client = self._clients.popitem()
            await client.close()


def _connect(settings: ModelSettings) -> openai.AsyncOpenAI:
    import httpx2
    import openai

    from agents.model.capped_transport import CappedTransport

    # At INFO they log whole URLs, at DEBUG headers and prompts.
    for name in ("openai", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    limits = settings.limits
    trusted = trusted_certificates(secure=is_secure([settings.base_url]))
    transport = httpx2.AsyncHTTPTransport(verify=trusted, trust_env=False)
    client = openai.AsyncOpenAI(
        api_key=settings.api_key,
        base_url=settings.base_url,
        max_retries=0,
        default_headers={"Accept-Encoding": "identity"},
        http_client=httpx2.AsyncClient(
            transport=CappedTransport(transport, limits.wire_bytes),
            # How long an answer may take each call says itself.
            timeout=httpx2.Timeout(None, connect=limits.connect_seconds),
            follow_redirects=False,
            trust_env=False,
        ),
    )
    # The package loads its parts when they are named first.
    _ = client.chat.completions.with_streaming_response
    return client
