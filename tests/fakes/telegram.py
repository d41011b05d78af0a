"""A Telegram of our own: the Bot API over real HTTP, with every way to fail."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum

TOKEN = "123456789:AAsecretCANARYsecretCANARYsecretCA"
CHAT = "4242"


class Conduct(StrEnum):
    """What the server does with one message."""

    TAKES = "200"
    BUSY = "429"
    CONFLICT = "409"
    BROKEN = "500"
    UNAUTHORISED = "401"
    BLOCKED = "403"
    NO_CHAT = "400"
    SILENT_AFTER_TAKING = "taken, then silence"
    HANGS_UP = "hangs up"
    ODD = "200 that is no answer"


@dataclass(frozen=True)
class Heard:
    """One request: when it came by the test's clock, what it carried, what was done with it."""

    at: float
    path: str
    headers: dict[str, str]
    body: dict[str, object]
    conduct: Conduct

    photo: bytes | None = None

    @property
    def method(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def text(self) -> str:
        return str(self.body["text" if self.photo is None else "caption"])

    @property
    def taken(self) -> bool:
        return self.conduct in (Conduct.TAKES, Conduct.SILENT_AFTER_TAKING)


@dataclass
class TelegramDouble:
    clock: Callable[[], float]
    conduct: Callable[[], Conduct] = lambda: Conduct.TAKES
    """Asked once for every message."""
    retry_after: int = 7
    heard: list[Heard] = field(default_factory=list)
    look_conduct: Callable[[], Conduct] = lambda: Conduct.TAKES
    """Asked once for every getUpdates."""
    looked: list[Heard] = field(default_factory=list)
    updates: list[dict[str, object]] = field(default_factory=list)
    """What was written to the bot; Telegram keeps it until a higher offset is asked for."""
    last_update: int = 700
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def taken(self) -> list[Heard]:
        """What a person's telephone showed."""
        return [one for one in self.heard if one.taken]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Serve until the block ends; gives the base URL."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.close()
            for one in self._serving:
                one.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            while True:
                await self._answer(await self._hear(reader), writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._serving.discard(task)
            writer.close()

    async def _hear(self, reader: asyncio.StreamReader) -> Heard:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:])
        }
        content = await reader.readexactly(int(headers["content-length"]))
        path = head[0].split(" ")[1]
        looks = path.endswith("/getUpdates")
        kind, _, boundary = headers["content-type"].partition("; boundary=")
        photo: bytes | None = None
        if kind == "multipart/form-data":
            parts = _parts(content, boundary.encode())
            photo = parts.pop("photo")
            body: dict[str, object] = {name: part.decode() for name, part in parts.items()}
        else:
            body = json.loads(content)
        conduct = (self.look_conduct if looks else self.conduct)()
        heard = Heard(self.clock(), path, headers, body, conduct, photo)
        (self.looked if looks else self.heard).append(heard)
        return heard

    def write(self, text: str, chat: int = int(CHAT), **more: object) -> None:
        """Somebody writes to the bot, as Telegram tells it."""
        number = self.last_update = self.last_update + 1
        message = {
            "message_id": number,
            "from": {"id": chat, "is_bot": False, "first_name": "Ada", "language_code": "en"},
            "chat": {"id": chat, "first_name": "Ada", "type": "private"},
            "date": int(self.clock()),
            "text": text,
            **more,
        }
        self.updates.append({"update_id": number, "message": message})

    async def _answer(self, heard: Heard, writer: asyncio.StreamWriter) -> None:
        match heard.conduct:
            case Conduct.SILENT_AFTER_TAKING:
                await asyncio.sleep(60)
            case Conduct.HANGS_UP:
                writer.transport.abort()
            case Conduct.ODD:
                await _respond(writer, 200, b"<html>a hotel's login page</html>")
            case Conduct.TAKES if heard.method == "getUpdates":
                offset = int(str(heard.body["offset"]))
                self.updates = [one for one in self.updates if int(str(one["update_id"])) >= offset]
                await _respond(writer, 200, {"ok": True, "result": self.updates})
            case Conduct.TAKES if heard.photo is not None:
                await _respond(writer, 200, {"ok": True, "result": {"message_id": 1, "photo": []}})
            case Conduct.TAKES:
                result = {"message_id": len(self.heard), "text": heard.body["text"]}
                await _respond(writer, 200, {"ok": True, "result": result})
            case _:
                await _respond(writer, int(heard.conduct), self._error(heard))

    def _error(self, heard: Heard) -> dict[str, object]:
        said = {
            Conduct.BUSY: f"Too Many Requests: retry after {self.retry_after}",
            Conduct.CONFLICT: "Conflict: terminated by other getUpdates request; make sure that"
            " only one bot instance is running",
            Conduct.BROKEN: "Internal Server Error",
            Conduct.UNAUTHORISED: "Unauthorized",
            Conduct.BLOCKED: "Forbidden: bot was blocked by the user",
            Conduct.NO_CHAT: "Bad Request: chat not found",
        }[heard.conduct]
        # Not what Telegram does, but what a server in its place might: repeat what it was sent.
        error = {"ok": False, "error_code": int(heard.conduct), "description": f"{said} {TOKEN}"}
        if heard.conduct is Conduct.BUSY:
            return {**error, "parameters": {"retry_after": self.retry_after}}
        return dict(error)


def _parts(content: bytes, boundary: bytes) -> dict[str, bytes]:
    """The fields of a form, by name."""
    parts = {}
    for part in content.split(b"--" + boundary)[1:-1]:
        head, _, value = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = head.split(b'name="')[1].split(b'"')[0].decode()
        parts[name] = value.removesuffix(b"\r\n")
    return parts


async def _respond(writer: asyncio.StreamWriter, status: int, body: object) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    writer.write(f"HTTP/1.1 {status} Said\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    await writer.drain()
