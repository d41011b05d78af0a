"""Every way an RPC endpoint was seen, or is feared, to go wrong, as behaviours of the server."""

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable

from tests.fakes.fault_server import Asked, Behaviour, Connection, honest
from tests.fakes.honest_node import HonestNode
from tests.virtual_time import pass_time

MEGABYTE = 1_000_000


async def silence(asked: Asked, connection: Connection, node: HonestNode) -> None:
    await asyncio.Event().wait()


async def slow_loris(asked: Asked, connection: Connection, node: HonestNode) -> None:
    await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        await connection.send(b" ")
        await pass_time(0.02)


async def slow_header(asked: Asked, connection: Connection, node: HonestNode) -> None:
    await connection.send(b"HTTP/1.1 200 OK\r\n")
    while True:
        await connection.send(b"X-More: 1\r\n")
        await pass_time(0.02)


async def reset(asked: Asked, connection: Connection, node: HonestNode) -> None:
    connection.reset()


async def reset_in_the_middle(asked: Asked, connection: Connection, node: HonestNode) -> None:
    await connection.send(b'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n[{"jsonrpc"')
    connection.reset()


async def hang_up(asked: Asked, connection: Connection, node: HonestNode) -> None:
    connection.writer.close()


async def not_http(asked: Asked, connection: Connection, node: HonestNode) -> None:
    await connection.send(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    connection.writer.close()


async def endless_body(asked: Asked, connection: Connection, node: HonestNode) -> None:
    """300 MB of well-formed beginning: `[{"jsonrpc":"2.0","id":1,"result":"0x0000…`."""
    total = 300 * MEGABYTE
    start = b'[{"jsonrpc":"2.0","id":1,"result":"0x'
    await connection.send(
        f"HTTP/1.1 200 OK\r\nContent-Length: {total + len(start)}\r\n\r\n".encode() + start
    )
    for _ in range(total // MEGABYTE):
        await connection.send(b"0" * MEGABYTE)


async def gzip_bomb(asked: Asked, connection: Connection, node: HonestNode) -> None:
    """300 MB that travel as one."""
    packer = zlib.compressobj(level=1, wbits=zlib.MAX_WBITS | 16)
    await connection.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
    for _ in range(300):
        await connection.send(packer.compress(b"0" * MEGABYTE))
    connection.writer.close()


def status(line: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Behaviour:
    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        await connection.respond(body, status=line, headers=headers)

    return behave


def body(content: bytes, headers: dict[str, str] | None = None) -> Behaviour:
    return status("200 OK", content, headers)


def cut(content: Callable[[bytes], bytes]) -> Behaviour:
    """The honest answer with its bytes changed, and a length that fits them."""

    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        replies = [node.answer(call) for call in asked.calls]
        await connection.respond(content(json.dumps(replies).encode()))

    return behave


def packed(times: int) -> Behaviour:
    """The honest answer in gzip, as often as asked for."""

    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        answer = json.dumps([node.answer(call) for call in asked.calls]).encode()
        for _ in range(times):
            answer = gzip.compress(answer)
        encoding = ", ".join(["gzip"] * times)
        await connection.respond(answer, headers={"Content-Encoding": encoding})

    return behave


def replies(change: Callable[[list[dict[str, object]]], object]) -> Behaviour:
    """The honest replies of a batch, changed as a whole."""

    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        changed = change([node.answer(call) for call in asked.calls])
        await connection.respond(json.dumps(changed).encode())

    return behave


def last_reply(**changes: object) -> Behaviour:
    """The honest replies, with fields of the last one changed; `...` removes one."""

    def change(honest_replies: list[dict[str, object]]) -> object:
        last = {**honest_replies[-1], **changes}
        kept = {name: value for name, value in last.items() if value is not ...}
        return [*honest_replies[:-1], kept]

    return replies(change)


def alone(**changes: object) -> Behaviour:
    """A reply of these fields to a question asked alone."""

    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        [call] = asked.calls
        changed = {"jsonrpc": "2.0", "id": call["id"], **changes}
        await connection.respond(json.dumps(changed).encode())

    return behave


def result(value: object) -> Behaviour:
    """The right answer about the chain's id, and this about everything else."""
    return last_reply(result=value)


def error(code: object, message: object, data: object = None) -> Behaviour:
    return last_reply(result=..., error={"code": code, "message": message, "data": data})


def raw_result(text: str) -> Behaviour:
    """A result that `json.dumps` would never write."""

    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        changed = [node.answer(call) for call in asked.calls]
        changed[-1]["result"] = "@"
        await connection.respond(json.dumps(changed).replace('"@"', text).encode())

    return behave


def wrong_chain(chain_id: int) -> Behaviour:
    async def behave(asked: Asked, connection: Connection, node: HonestNode) -> None:
        node.chain_id = chain_id
        await honest(asked, connection, node)

    return behave
