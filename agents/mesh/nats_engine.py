"""The engine over a NATS server: subjects by role and key, and a stream for what is kept."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from agents.mesh.engine import EngineError
from agents.mesh.frame import MOST_FRAME
from agents.mesh.nats_access import access_options, identity_of, is_final, trouble_words, wants_tls

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

    from agents.mesh.peers import Member, Peer, PeerBook

OPENING_SECONDS = 5.0
"""Within which a server must have answered, where nobody says otherwise."""
_CONNECT_SECONDS = 2.0
_PUBLISH_SECONDS = 2.0
_KEPT_SECONDS = 600.0
_KEPT_MESSAGES = 20_000
_MOST_WAITING = 4_096
_RECONNECT_SECONDS = 0.5


def live_subject(mesh: str, peer: Peer) -> str:
    return f"zuno.{mesh}.live.{peer.role}.{peer.key}"


def kept_subject(mesh: str, peer: Peer) -> str:
    return f"zuno.{mesh}.kept.{peer.role}.{peer.key}"


def stream_name(mesh: str) -> str:
    return f"ZUNO_{mesh.replace('-', '_').upper()}"


class NatsEngine:
    def __init__(
        self, member: Member, book: PeerBook, me: Peer, *, patience: float = OPENING_SECONDS
    ) -> None:
        self._patience = patience
        self._member = member
        self._mesh = book.mesh
        self._me = me
        self._inbox: asyncio.Queue[bytes] = asyncio.Queue(_MOST_WAITING)
        self._client: Client | None = None
        self._stream: JetStreamContext | None = None
        self._refused = asyncio.Event()
        self.broken = ""

    async def open(self) -> None:
        try:
            from nats.aio.client import Client
        except ModuleNotFoundError:
            raise EngineError(
                'NATS needs a package that is not installed: pip install "zuno-tui[mesh]"'
            ) from None
        client = self._client = Client()
        try:
            async with asyncio.timeout(self._patience):
                await self._connect(client)
                await client.subscribe(live_subject(self._mesh, self._me), cb=self._take)
                self._stream = await self._subscribe_kept(client)
        except EngineError:
            await self.close()
            raise
        except Exception as error:
            await self.close()
            raise EngineError(self.broken or trouble_words(error)) from None

    async def _connect(self, client: Client) -> None:
        """Until it is connected, or the server said what no further try would change."""
        identity = identity_of(self._member)
        if identity is not None and identity.jwt is None:
            # `connect` would take a seed only with another package, to find out just this.
            client._public_nkey = identity.public

        def is_over_tls() -> bool:
            return bool(client._server_info.get("tls_required"))

        connecting = asyncio.ensure_future(
            client.connect(**access_options(self._member, identity, is_over_tls), **self._options())
        )
        refused = asyncio.ensure_future(self._refused.wait())
        try:
            await asyncio.wait((connecting, refused), return_when=asyncio.FIRST_COMPLETED)
            if not connecting.done():
                raise EngineError(self.broken)
            await connecting
        finally:
            for task in (connecting, refused):
                task.cancel()
        if wants_tls(self._member) and not is_over_tls():
            raise EngineError(
                "The NATS server speaks without TLS, and this member's settings ask for it."
            )
        self.broken = ""

    async def send(self, peer: Peer, data: bytes, *, keep: bool) -> None:
        if self._client is None or self._stream is None:
            raise EngineError("The NATS server is not connected.")
        if not self._client.is_connected:
            raise EngineError("The connection to the NATS server is broken.")
        try:
            if keep:
                subject = kept_subject(self._mesh, peer)
                await self._stream.publish(subject, data, timeout=_PUBLISH_SECONDS)
            else:
                await self._client.publish(live_subject(self._mesh, peer), data)
        except Exception as error:
            reason = type(error).__name__
            raise EngineError(f"The NATS server did not take a message ({reason}).") from None

    async def receive(self) -> tuple[bytes, ...]:
        found = [await self._inbox.get()]
        while not self._inbox.empty():
            found.append(self._inbox.get_nowait())
        return tuple(found)

    async def close(self) -> None:
        client, self._client, self._stream = self._client, None, None
        if client is not None:
            with suppress(Exception):
                await client.close()

    async def _subscribe_kept(self, client: Client) -> JetStreamContext:
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, StreamConfig

        stream = client.jetstream(timeout=_PUBLISH_SECONDS)
        await stream.add_stream(
            StreamConfig(
                name=stream_name(self._mesh),
                subjects=[f"zuno.{self._mesh}.kept.>"],
                max_age=_KEPT_SECONDS,
                max_msgs=_KEPT_MESSAGES,
                max_msg_size=MOST_FRAME,
            )
        )
        # Whoever starts anew greets everybody first: what was meant for an earlier process of
        # this peer is sealed for that one alone, so only what comes from now on is wanted.
        await stream.subscribe(
            kept_subject(self._mesh, self._me),
            stream=stream_name(self._mesh),
            durable=f"{self._me.key[:16]}-{token_hex(8)}",
            cb=self._take_kept,
            manual_ack=True,
            config=ConsumerConfig(
                deliver_policy=DeliverPolicy.NEW,
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=5.0,
                max_ack_pending=1_000,
                inactive_threshold=120.0,
            ),
        )
        return stream

    async def _take(self, message: Msg) -> None:
        # What is more than a queue's worth is lost, as on the way; it is sent again.
        with suppress(asyncio.QueueFull):
            self._inbox.put_nowait(message.data)

    async def _take_kept(self, message: Msg) -> None:
        try:
            self._inbox.put_nowait(message.data)
        except asyncio.QueueFull:
            return
        with suppress(Exception):
            await message.ack()

    async def _troubled(self, error: Exception) -> None:
        asked = {} if self._client is None else self._client._server_info
        proves = any(asked.get(name) for name in ("auth_required", "tls_required"))
        says_who = proves and self._stream is None
        self.broken = trouble_words(error, says_who=says_who)
        if is_final(error, says_who=says_who):
            self._refused.set()

    async def _lost(self) -> None:
        self.broken = "The connection to the NATS server is broken."

    async def _back(self) -> None:
        self.broken = ""

    def _options(self) -> dict[str, Any]:
        return {
            "name": f"zuno {self._me.name}",
            "connect_timeout": _CONNECT_SECONDS,
            "allow_reconnect": True,
            "max_reconnect_attempts": -1,
            "reconnect_time_wait": _RECONNECT_SECONDS,
            "ping_interval": 10,
            "error_cb": self._troubled,
            "disconnected_cb": self._lost,
            "reconnected_cb": self._back,
        }
