"""A CoinGecko of our own: the paths zuno asks, over real HTTP, with every way to fail."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Asked:
    path: str
    parameters: dict[str, str]
    headers: dict[str, str]


@dataclass(frozen=True)
class Answer:
    """Bytes to send as they are, for the answers no honest server gives."""

    status: int = 200
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = ()
    stall: bool = False
    """Send the head and nothing more."""


@dataclass
class CoinGeckoDouble:
    coins: dict[str, object] = field(default_factory=dict)
    """What `/simple/price` says of a coin, as JSON: usually `{"usd": …, "last_updated_at": …}`."""
    contracts: dict[tuple[str, str], object] = field(default_factory=dict)
    """The same by platform and address."""
    charts: dict[str, object] = field(default_factory=dict)
    """The `prices` rows of `/coins/{id}/market_chart`, and of its ranges by coin or contract."""
    fault: Answer | None = None
    asked: list[Asked] = field(default_factory=list)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Serve until the block ends; gives the base URL."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            yield f"http://127.0.0.1:{port}/api/v3"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            target = head[0].split(" ")[1]
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            parts = urlsplit(target)
            parameters = {name: values[0] for name, values in parse_qs(parts.query).items()}
            asked = Asked(parts.path.removeprefix("/api/v3"), parameters, headers)
            self.asked.append(asked)
            answer = self.fault or self._answer(asked)
            await self._send(writer, answer)
            if answer.stall:
                await reader.read()  # until who asked gives up and hangs up
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        head = [f"HTTP/1.1 {answer.status} Said", f"content-length: {len(answer.body)}"]
        head += [f"{name}: {value}" for name, value in answer.headers]
        head += ["content-type: application/json", "connection: close", "", ""]
        writer.write("\r\n".join(head).encode())
        await writer.drain()
        if not answer.stall:
            writer.write(answer.body)
            await writer.drain()

    def _answer(self, asked: Asked) -> Answer:
        match asked.path.split("/")[1:]:
            case ["simple", "price"]:
                ids = asked.parameters["ids"].split(",")
                return _json({coin: self.coins[coin] for coin in ids if coin in self.coins})
            case ["simple", "token_price", platform]:
                wanted = asked.parameters["contract_addresses"].split(",")
                known = ((one, self.contracts.get((platform, one))) for one in wanted)
                return _json({one: entry for one, entry in known if entry is not None})
            case ["coins", coin, "market_chart"] if coin in self.charts:
                return _json({"prices": self.charts[coin], "market_caps": [], "total_volumes": []})
            case ["coins", *name, "market_chart", "range"] if "/".join(name) in self.charts:
                first, last = (float(asked.parameters[end]) for end in ("from", "to"))
                rows = self.charts["/".join(name)]
                assert isinstance(rows, list)
                return _json({"prices": [row for row in rows if first <= row[0] / 1000 <= last]})
            case _:
                return Answer(404, b'{"error":"coin not found"}')


def _json(value: object) -> Answer:
    return Answer(body=json.dumps(value).encode())
