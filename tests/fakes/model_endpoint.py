"""A real HTTP server that speaks OpenAI's chat API, streams, and misbehaves on demand."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.virtual_time import pass_time

Conduct = Callable[["ChatRequest", "Wire"], Awaitable[None]]


@dataclass(frozen=True)
class ChatRequest:
    headers: Mapping[str, str]
    body: Mapping[str, object]

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def messages(self) -> list[dict[str, str]]:
        messages = self.body["messages"]
        assert isinstance(messages, list)
        return messages

    @property
    def prompt(self) -> str:
        """What the agent asks, wherever the instructions stand."""
        return next(one["content"] for one in self.messages if one["role"] == "user")

    @property
    def form(self) -> str:
        """How the reply's form was asked for."""
        response_format = self.body.get("response_format")
        return str(response_format["type"]) if isinstance(response_format, dict) else "text"

    @property
    def told_schema(self) -> dict[str, object] | None:
        """The schema as the prompt has it, for a model that is held to nothing."""
        _, mark, after = self.messages[0]["content"].partition("JSON schema")
        if not mark:
            return None
        schema, _ = json.JSONDecoder().raw_decode(after, after.index("{"))
        assert isinstance(schema, dict)
        return schema

    @property
    def reply_name(self) -> str:
        """Which reply is asked for, by the schema that was sent or told."""
        if self.form == "json_schema":
            return str(self.schema["name"])
        told = self.told_schema
        assert told is not None, "nobody told which reply is wanted"
        properties = told["properties"]
        assert isinstance(properties, dict)
        named = {"shapes": "StrategistReply", "judgments": "CriticReply"}
        named |= {"chosenIndex": "ArbiterReply", "summary": "ScoutReply"}
        return next(name for field, name in named.items() if field in properties)

    @property
    def schema(self) -> dict[str, object]:
        response_format = self.body["response_format"]
        assert isinstance(response_format, dict)
        schema = response_format["json_schema"]
        assert isinstance(schema, dict)
        return schema


class Wire:
    """What a conduct writes to."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def status(self, code: int, body: object, headers: Mapping[str, str] = {}) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"HTTP/1.1 {code} Told", f"Content-Length: {len(data)}"]
        lines += ["Content-Type: application/json", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + data)

    async def begin(self, headers: Mapping[str, str] = {}) -> None:
        lines = ["HTTP/1.1 200 OK", "Content-Type: text/event-stream"]
        lines += ["Transfer-Encoding: chunked", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def piece(self, data: bytes) -> None:
        await self.raw(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def event(self, value: object) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        await self.piece(f"data: {text}\n\n".encode())

    async def delta(
        self,
        *,
        content: object = None,
        refusal: str | None = None,
        finish: str | None = None,
        **fields: object,
    ) -> None:
        delta = {"role": "assistant", "content": content, "refusal": refusal, **fields}
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        await self.event(_chunk(choices=[choice]))

    async def usage(self, tokens_in: object = 120, tokens_out: object = 45) -> None:
        usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": 165}
        await self.event(_chunk(choices=[], usage=usage))

    async def end(self) -> None:
        await self.event("[DONE]")
        await self.raw(b"0\r\n\r\n")

    def vanish(self) -> None:
        self._writer.transport.abort()


def _chunk(**fields: object) -> dict[str, object]:
    known = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
    return {**known, **fields}


def says(
    content: str | Callable[[ChatRequest], object],
    *,
    finish: str = "stop",
    size: int = 7,
    pause: float = 0.0,
    tokens: tuple[object, object] | None = (120, 45),
) -> Conduct:
    """Streams a text in pieces; a callable may answer to the request."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        given = content(request) if callable(content) else content
        text = given if isinstance(given, str) else json.dumps(given)
        await wire.begin()
        for start in range(0, len(text), size):
            await wire.delta(content=text[start : start + size])
            if pause:
                await asyncio.sleep(pause)
        await wire.delta(finish=finish)
        if tokens is not None:
            await wire.usage(*tokens)
        await wire.end()

    return conduct


def refuses() -> Conduct:
    async def conduct(request: ChatRequest, wire: Wire) -> None:
        await wire.begin()
        await wire.delta(refusal="I cannot ")
        await wire.delta(refusal="help with that.", finish="stop")
        await wire.end()

    return conduct


def fails(code: int, headers: Mapping[str, str] = {}, body: object = None) -> Conduct:
    """An HTTP error; like the real ones its text repeats a part of the key."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        told = {"error": {"message": f"trouble with {request.headers['authorization']}"}}
        await wire.status(code, told if body is None else body, headers)

    return conduct


def stalls(after: str = '{"prose": "I was about') -> Conduct:
    async def conduct(request: ChatRequest, wire: Wire) -> None:
        await wire.begin()
        if after:
            await wire.delta(content=after)
        await asyncio.Event().wait()

    return conduct


def never_answers() -> Conduct:
    async def conduct(request: ChatRequest, wire: Wire) -> None:
        await asyncio.Event().wait()

    return conduct


def keeps_alive_for_ever() -> Conduct:
    """Bytes, but never a word: comments that keep the connection busy."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        await wire.begin()
        while True:
            await wire.piece(b": still here\n\n")
            await pass_time(0.01)

    return conduct


def drips(text: str, pause: float) -> Conduct:
    """One letter at a time, for ever."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        await wire.begin()
        await wire.delta(content='{"prose": "')
        while True:
            for letter in text:
                await wire.delta(content=letter)
                await asyncio.sleep(pause)

    return conduct


def disconnects(after: str = '{"prose": "I was') -> Conduct:
    async def conduct(request: ChatRequest, wire: Wire) -> None:
        await wire.begin()
        await wire.delta(content=after)
        await pass_time(0.01)
        wire.vanish()

    return conduct


def ends_early(after: str = '{"prose": "I was') -> Conduct:
    """Closes politely, as if that were all."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        await wire.begin()
        await wire.delta(content=after)
        await wire.raw(b"0\r\n\r\n")

    return conduct


def sends(*pieces: bytes, headers: Mapping[str, str] = {}) -> Conduct:
    """Whatever these bytes are, as the body of a stream."""

    async def conduct(request: ChatRequest, wire: Wire) -> None:
        await wire.begin(headers)
        for piece in pieces:
            await wire.piece(piece)
        await wire.raw(b"0\r\n\r\n")

    return conduct


@dataclass
class ModelEndpoint:
    """Conducts are taken in order; the last one goes on for all that follow."""

    url: str = ""
    requests: list[ChatRequest] = field(default_factory=list)
    _script: list[Conduct] = field(default_factory=list)

    def script(self, conducts: Iterable[Conduct]) -> None:
        self._script = list(conducts)

    def take(self) -> Conduct:
        return self._script.pop(0) if len(self._script) > 1 else self._script[0]


@asynccontextmanager
async def model_endpoint(*conducts: Conduct, port: int = 0) -> AsyncIterator[ModelEndpoint]:
    endpoint = ModelEndpoint()
    endpoint.script(conducts)
    open_connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_connections.add(task)
        try:
            request = await _request(reader)
            endpoint.requests.append(request)
            await endpoint.take()(request, Wire(writer))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            open_connections.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    endpoint.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield endpoint
    finally:
        server.close()
        for task in tuple(open_connections):
            task.cancel()
        await asyncio.gather(*open_connections, return_exceptions=True)


async def _request(reader: asyncio.StreamReader) -> ChatRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    assert head[0] == "POST /v1/chat/completions HTTP/1.1", head[0]
    pairs = (line.split(": ", 1) for line in head[1:] if line)
    headers = {name.lower(): value for name, value in pairs}
    body = json.loads(await reader.readexactly(int(headers["content-length"])))
    return ChatRequest(headers, body)
