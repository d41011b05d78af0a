"""The engine over a NATS server: how it is reached, its subjects, the stream that keeps."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
import ssl
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agents.mesh.frame import MOST_FRAME
from agents.mesh.peers import EngineError, Member, Peer, PeerBook
from chain.base.clean_text import SecretStruct
from chain.base.errors import error_kind

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

_SEED_PREFIX = 18 << 3
_USER_PREFIX = 20 << 3
_SEED_BYTES = 2 + 32 + 2
_JWT = re.compile(rb"-+BEGIN NATS USER JWT-+\s*(\S+)\s*-+END NATS USER JWT-+")
_SEED = re.compile(rb"\bSU[A-Z2-7]{56}\b")
_MOST_BYTES = 1 << 16


class NatsIdentityError(Exception):
    """A file that says who a member is and cannot be used; the message names it."""


class NatsIdentity(SecretStruct, frozen=True):
    key: Ed25519PrivateKey
    jwt: bytes | None = None
    """By an account of the server; None where the server knows the key itself."""

    @property
    def public(self) -> str:
        """As a server's settings name a user."""
        raw = bytes([_USER_PREFIX]) + self.key.public_key().public_bytes_raw()
        return base64.b32encode(raw + _checksum(raw)).decode().rstrip("=")

    def sign(self, nonce: str) -> bytes:
        return base64.b64encode(self.key.sign(nonce.encode()))


def read_nkey(path: Path) -> NatsIdentity:
    """From a file with the seed of a user's nkey."""
    return NatsIdentity(_seed_in(_content(path), path))


def read_credentials(path: Path) -> NatsIdentity:
    """From a credentials file: a JWT and the seed of the key it is about."""
    content = _content(path)
    jwt = _JWT.search(content)
    if jwt is None:
        raise NatsIdentityError(f"{path} holds no NATS user JWT.")
    return NatsIdentity(_seed_in(content, path), jwt.group(1))


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise NatsIdentityError(f"{path} cannot be read: {error.strerror}.") from None


def _seed_in(content: bytes, path: Path) -> Ed25519PrivateKey:
    found = _SEED.search(content)
    if found is None:
        raise NatsIdentityError(f"{path} holds no seed of a NATS user's key, which begins with SU.")
    text = found.group()
    raw = base64.b32decode(text + b"=" * (-len(text) % 8))
    if len(raw) != _SEED_BYTES or raw[0] & 0xF8 != _SEED_PREFIX or _checksum(raw[:-2]) != raw[-2:]:
        raise NatsIdentityError(f"The seed in {path} was mistyped: its checksum does not hold.")
    return Ed25519PrivateKey.from_private_bytes(raw[2:-2])


def _checksum(data: bytes) -> bytes:
    return binascii.crc_hqx(data, 0).to_bytes(2, "little")


def wants_tls(member: Member) -> bool:
    named = member.authority is not None or member.certificate is not None
    return named or member.url.startswith("tls://")


def identity_of(member: Member) -> NatsIdentity | None:
    """Its credentials or its nkey, where it has one; a name and a password are in the URL."""
    try:
        if member.credentials is not None:
            return read_credentials(Path(member.credentials))
        return None if member.nkey is None else read_nkey(Path(member.nkey))
    except NatsIdentityError as error:
        raise EngineError(str(error)) from None


_WITHOUT_TLS = "the server speaks without TLS"


def client_of(member: Member) -> Client:
    """A client that says nothing, at the first connect or any later one, to whom lacks TLS."""
    from nats.aio.client import Client
    from nats.errors import Error

    if not wants_tls(member):
        return Client()

    class TlsClient(Client):
        def _connect_command(self) -> bytes:
            # What is made here is the first that is written, after whatever became of TLS. One of
            # the library's own errors is a failed attempt; any other would end its reconnecting.
            if not self._server_info.get("tls_required"):
                if self._transport is not None:
                    self._transport.close()  # type: ignore[no-untyped-call]
                raise Error(f"nats: {_WITHOUT_TLS}")
            command: bytes = super()._connect_command()
            return command

    return TlsClient()


async def connect_client(client: Client, member: Member, options: dict[str, Any]) -> None:
    identity = identity_of(member)
    if identity is not None and identity.jwt is None:
        # `connect` would take a seed only with another package, to find out just this.
        client._public_nkey = identity.public
    await client.connect(**access_options(member, identity), **options)


def access_options(member: Member, identity: NatsIdentity | None) -> dict[str, Any]:
    """What `Client.connect` takes."""
    place = urlsplit(member.url)
    host = f"[{place.hostname}]" if ":" in (place.hostname or "") else place.hostname
    port = "" if place.port is None else f":{place.port}"
    options: dict[str, Any] = {"servers": [f"{place.scheme}://{host}{port}"]}
    if identity is not None:
        options["signature_cb"] = identity.sign
        if (jwt := identity.jwt) is not None:
            options["user_jwt_cb"] = lambda: jwt
    elif place.username is not None:
        options |= {"user": unquote(place.username), "password": unquote(place.password or "")}
    if wants_tls(member):
        options["tls"] = _tls_context(member)
    return options


def _tls_context(member: Member) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=member.authority)
        if member.certificate is not None:
            context.load_cert_chain(member.certificate, member.certificate_key)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(filter(None, (member.authority, member.certificate)))
        why = getattr(error, "strerror", None) or error_kind(error)
        raise EngineError(f"The certificates for NATS cannot be read ({files}): {why}.") from None
    return context


def is_final(error: BaseException, *, says_who: bool) -> bool:
    """Whether trying again would end the same way."""
    plain = isinstance(error, ssl.SSLError) or _WITHOUT_TLS in str(error)
    return plain or _is_refusal(error, says_who=says_who)


def _is_refusal(error: BaseException, *, says_who: bool) -> bool:
    """Said by the server, or shown by hanging up on a member that says who it is."""
    hung_up = says_who and isinstance(error, BrokenPipeError | ConnectionResetError)
    return hung_up or "authorization violation" in str(error).lower()


def trouble_words(error: BaseException, *, says_who: bool = False) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            "The NATS server's certificate is not by an authority this member trusts, or for "
            f"another name ({error.verify_message}). Name its authority's file in member.json."
        )
    if isinstance(error, ssl.SSLError):
        return (
            f"The NATS server ends the TLS connection ({error.reason or 'no reason given'}). Where "
            "it asks for a certificate, name certificate and certificate_key in member.json."
        )
    if _WITHOUT_TLS in str(error):
        return (
            "The NATS server speaks without TLS, and this member's settings ask for it. "
            "Nothing was sent."
        )
    if _is_refusal(error, says_who=says_who):
        return (
            "The NATS server does not let this member in: its name and password, nkey, credentials "
            "or certificate are not what the server knows. Correct them in member.json."
        )
    if isinstance(error, ConnectionRefusedError):
        return "The NATS server cannot be reached: nothing listens there."
    late = isinstance(error, asyncio.TimeoutError)
    what = "does not answer in time" if late else f"cannot be used ({error_kind(error)})"
    return f"The NATS server {what}."


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
            client = self._client = client_of(self._member)
        except ModuleNotFoundError:
            raise EngineError(
                'NATS needs a package that is not installed: pip install "zuno-tui[mesh]"'
            ) from None
        try:
            async with asyncio.timeout(self._patience):
                await self._connect(client)
                await client.subscribe(live_subject(self._mesh, self._me), cb=self._take)
                self._stream = await self._subscribe_kept(client)
        except EngineError:
            await self.close()
            raise
        except Exception as error:
            # Before it is closed: that would be told as a connection that broke.
            words = self.broken or trouble_words(error)
            await self.close()
            raise EngineError(words) from None

    async def _connect(self, client: Client) -> None:
        """Until it is connected, or the server said what no further try would change."""
        connecting = asyncio.ensure_future(connect_client(client, self._member, self._options()))
        refused = asyncio.ensure_future(self._refused.wait())
        try:
            await asyncio.wait((connecting, refused), return_when=asyncio.FIRST_COMPLETED)
            if not connecting.done():
                raise EngineError(self.broken)
            await connecting
        finally:
            for task in (connecting, refused):
                task.cancel()
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
            reason = error_kind(error)
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
