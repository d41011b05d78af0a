"""A door on loopback to the endpoints of one network, for a node that copies their chain.

What is asked through it gets the client's pacing and failover, and no URL with a key stands on a
command line. It only reads: nothing that is sent to the copy ever leaves this machine.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chain.base.clean_text import clean_text
from chain.base.loopback_http import HOST, LoopbackHandler, LoopbackServer
from chain.rpc.errors import RpcError
from chain.rpc.records import Json
from chain.rpc.requests import Reader, Request

_READS = re.compile(
    r"eth_(get\w+|call|chainId|blockNumber|gasPrice|maxPriorityFeePerGas|feeHistory|blobBaseFee"
    r"|estimateGas|createAccessList|syncing)|net_version|web3_clientVersion"
)
_ANSWER_SECONDS = 60.0
_METHOD_NOT_FOUND, _INVALID_REQUEST, _FAILED = -32601, -32600, -32000


class Forwarder(LoopbackServer):
    """Every question is put to the client on the loop that it lives on."""

    fault: RpcError | None = None
    """The last thing that an endpoint could not answer: why a copy of it fails."""

    def __init__(self, reader: Reader, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(0, _ForwardHandler)
        self._reader = reader
        self._loop = loop

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/{self.token}"

    def answer(self, call: object) -> dict[str, Json]:
        match call:
            case {"id": identity, "method": str(method), **rest}:
                pass
            case _:
                return _refusal(None, _INVALID_REQUEST, "invalid request")
        params = rest.get("params", [])
        if not _READS.fullmatch(method) or not isinstance(params, list):
            return _refusal(identity, _METHOD_NOT_FOUND, "this copy of a chain only reads it")
        request: Request[Json] = Request(method, tuple(params), lambda value: value)  # type: ignore[arg-type, return-value]
        waiting = asyncio.run_coroutine_threadsafe(self._reader.ask(request), self._loop)
        try:
            result = waiting.result(_ANSWER_SECONDS)
        except RpcError as error:
            self.fault = error
            return _refusal(identity, _FAILED, clean_text(error.sentence, limit=200))
        except TimeoutError:
            waiting.cancel()
            return _refusal(identity, _FAILED, "the endpoint did not answer in time")
        return {"jsonrpc": "2.0", "id": identity, "result": result}


@asynccontextmanager
async def open_forwarder(reader: Reader) -> AsyncIterator[Forwarder]:
    """The door is open for as long as the block lasts."""
    forwarder = Forwarder(reader, asyncio.get_running_loop())
    forwarder.serve_in_thread("forwarder")
    try:
        yield forwarder
    finally:
        await asyncio.to_thread(forwarder.shutdown)
        forwarder.server_close()


class _ForwardHandler(LoopbackHandler):
    server: Forwarder

    def answer_post(self, asked: object) -> None:
        calls = asked if isinstance(asked, list) else [asked]
        answers = [self.server.answer(call) for call in calls]
        self.send_json(json.dumps(answers if isinstance(asked, list) else answers[0]).encode())


def _refusal(identity: Json, code: int, message: str) -> dict[str, Json]:
    return {"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}
