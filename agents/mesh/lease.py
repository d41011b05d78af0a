"""Which of several machines tries first: a lease that one of them renews, on a NATS server.

Nothing rests on it but who waits: whoever loses it, forges it or plays it again makes others wait
for a moment, and what they do then is fenced elsewhere.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from agents.mesh.nats_engine import client_of, connect_client, trouble_words
from agents.mesh.peers import EngineError, Member
from chain.base.clean_text import clean_text
from chain.base.clock import loop_time

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js.kv import KeyValue

BUCKET = "ZUNO_WATCH"
LEASE_SECONDS = 30.0
"""How long it lasts without being renewed."""
_RENEW_SECONDS = 5.0
_PATIENCE = 4.0
_MOST_BYTES = 1_024
HOST_LIMIT = 64


class LeaseHolder(Struct, frozen=True):
    machine: Annotated[str, Meta(max_length=64)]
    """Tells machines apart, also two of one name."""
    host: Annotated[str, Meta(max_length=256)]
    since: Annotated[float, Meta(ge=0, lt=2**50)]


class _Signed(Struct, frozen=True, forbid_unknown_fields=True):
    holder: LeaseHolder
    tag: str


class LeaseView(NamedTuple):
    holder: LeaseHolder | None
    """None where nobody can tell."""
    trouble: str = ""


class NatsLease:
    """Whoever knows the secret may hold it; the server and its other clients cannot."""

    def __init__(
        self, member: Member, secret: bytes, me: LeaseHolder, clock: Callable[[], float]
    ) -> None:
        self._member = member
        self._secret = secret
        self._me = me
        self._clock = clock
        self._name = self._tag(b"name")[:32]
        self._client: Client | None = None
        self._bucket: KeyValue | None = None
        self._view = LeaseView(None)
        self._seen: float | None = None
        self._broken: Exception | None = None
        self._turn = asyncio.Lock()

    async def renew(self) -> LeaseView:
        """Whoever holds it now: this machine, where nobody else did."""
        async with self._turn:
            if self._seen is not None and loop_time() - self._seen < _RENEW_SECONDS:
                return self._view
            try:
                async with asyncio.timeout(_PATIENCE):
                    self._view = LeaseView(await self._renewed(await self._opened()))
            except EngineError as error:
                self._view = LeaseView(None, str(error))
            except ModuleNotFoundError:
                self._view = LeaseView(None, 'NATS needs: pip install "zuno-tui[mesh]"')
            except Exception as error:
                self._view = LeaseView(None, trouble_words(self._broken or error))
            if self._view.trouble:
                await self._disconnect()
            self._seen = loop_time()
            return self._view

    async def close(self) -> None:
        """Let the next one have it at once."""
        if self._bucket is not None and self._view.holder == self._me:
            with suppress(Exception):
                async with asyncio.timeout(_PATIENCE):
                    await self._bucket.delete(self._name)
        await self._disconnect()
        self._view, self._seen = LeaseView(None), None

    async def _renewed(self, bucket: KeyValue) -> LeaseHolder | None:
        from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError

        try:
            entry = await bucket.get(self._name)
        except KeyNotFoundError:
            entry = None
        holder = None if entry is None else self._read(entry.value or b"")
        if holder is not None and holder.machine != self._me.machine:
            return holder
        self._me = holder or msgspec.structs.replace(self._me, since=self._clock())
        content = msgspec.json.encode(_Signed(self._me, self._tag(_bytes(self._me))))
        try:
            if entry is None:
                await bucket.create(self._name, content)
            else:
                await bucket.update(self._name, content, last=entry.revision)
        except KeyWrongLastSequenceError:
            # Another one was quicker.
            return self._read((await bucket.get(self._name)).value or b"")
        return self._me

    async def _opened(self) -> KeyValue:
        if self._client is not None and self._bucket is not None and self._client.is_connected:
            return self._bucket
        from nats.js.api import KeyValueConfig

        await self._disconnect()
        self._broken = None
        client = self._client = client_of(self._member)
        options = {
            "name": "zuno orders",
            "connect_timeout": _PATIENCE,
            "allow_reconnect": False,
            "max_reconnect_attempts": 1,
            "reconnect_time_wait": 0.1,
            "error_cb": self._troubled,
        }
        await connect_client(client, self._member, options)
        config = KeyValueConfig(BUCKET, ttl=LEASE_SECONDS, max_value_size=_MOST_BYTES, history=1)
        self._bucket = await client.jetstream(timeout=_PATIENCE).create_key_value(config)
        return self._bucket

    async def _troubled(self, error: Exception) -> None:
        self._broken = error

    async def _disconnect(self) -> None:
        client, self._client, self._bucket = self._client, None, None
        if client is not None:
            with suppress(Exception):
                await client.close()

    def _read(self, content: bytes) -> LeaseHolder | None:
        """Only what somebody with the secret wrote; its words are cleaned all the same."""
        with suppress(msgspec.DecodeError):
            signed = msgspec.json.decode(content[:_MOST_BYTES], type=_Signed)
            if hmac.compare_digest(signed.tag.encode(), self._tag(_bytes(signed.holder)).encode()):
                host = clean_text(signed.holder.host, limit=HOST_LIMIT)
                return msgspec.structs.replace(signed.holder, host=host)
        return None

    def _tag(self, content: bytes) -> str:
        return hmac.new(self._secret, b"lease " + content, hashlib.sha256).hexdigest()


def _bytes(holder: LeaseHolder) -> bytes:
    return msgspec.json.encode(holder)
