"""JSON-RPC on the wire: questions written, answers matched to them one to one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from chain.base import strict_json

if TYPE_CHECKING:
    from chain.rpc.requests import Request


class RpcResult(Struct, frozen=True):
    value: object


class ServerError(Struct, frozen=True):
    code: int
    message: str
    """As the server wrote it: to be cleaned before anyone sees it."""
    data: object = None


Reply: TypeAlias = RpcResult | ServerError


class InvalidRpcReplyError(ValueError):
    """A reply that does not answer the questions asked."""


class BatchRefusedError(Exception):
    """A server that answered a whole batch with one error."""

    def __init__(self, error: ServerError) -> None:
        super().__init__("the batch was refused")
        self.error = error


def written(requests: Sequence[Request[object]], first_id: int) -> bytes:
    """One question as an object, several as a batch, numbered from `first_id`."""
    calls = [
        {"jsonrpc": "2.0", "id": first_id + place, "method": asked.method, "params": asked.params}
        for place, asked in enumerate(requests)
    ]
    return json.dumps(calls[0] if len(calls) == 1 else calls, separators=(",", ":")).encode()


def read(body: bytes, first_id: int, count: int) -> list[Reply]:
    """The answers in the order of the questions, each id exactly once."""
    try:
        reply = strict_json.loads(body)
    except strict_json.InvalidJsonError as error:
        reason = str(error)
    else:
        return [_reply(reply, first_id)] if count == 1 else _replies(reply, first_id, count)
    raise InvalidRpcReplyError(reason)


def _replies(reply: object, first_id: int, count: int) -> list[Reply]:
    refusal = _whole_refusal(reply)
    if refusal is not None:
        raise BatchRefusedError(refusal)
    if not isinstance(reply, list):
        raise InvalidRpcReplyError("a batch was not answered with a list")
    found: dict[int, Reply] = {}
    for entry in reply:
        number = _id(entry)
        if number in found:
            raise InvalidRpcReplyError("an id was answered twice")
        if not first_id <= number < first_id + count:
            raise InvalidRpcReplyError("an id was answered that was not asked")
        found[number] = _reply(entry, number)
    if len(found) != count:
        raise InvalidRpcReplyError("an id was left unanswered")
    return [found[first_id + place] for place in range(count)]


def _whole_refusal(reply: object) -> ServerError | None:
    """Some refuse a batch with one error object, some with a list of one that has no id."""
    if isinstance(reply, list) and len(reply) == 1 and _id_is_missing(reply[0]):
        reply = reply[0]
    if not isinstance(reply, dict) or reply.get("error") is None:
        return None
    return _server_error(reply["error"])


def _id_is_missing(entry: object) -> bool:
    return isinstance(entry, dict) and entry.get("id") is None


def _reply(entry: object, expected_id: int) -> Reply:
    if not isinstance(entry, dict):
        raise InvalidRpcReplyError("it is not a JSON-RPC object")
    if entry.get("jsonrpc") != "2.0":
        raise InvalidRpcReplyError("it is not JSON-RPC 2.0")
    error = entry.get("error")
    if error is not None and entry.get("id", expected_id) is None:
        return _server_error(error)
    if _id(entry) != expected_id:
        raise InvalidRpcReplyError("another id was answered than was asked")
    if error is not None:
        return _server_error(error)
    if "result" not in entry:
        raise InvalidRpcReplyError("it has neither a result nor an error")
    return RpcResult(entry["result"])


def _id(entry: object) -> int:
    number = entry.get("id") if isinstance(entry, Mapping) else None
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidRpcReplyError("an answer has no proper id")
    return number


def _server_error(error: object) -> ServerError:
    if not isinstance(error, dict):
        raise InvalidRpcReplyError("its error is not an object")
    code, message = error.get("code"), error.get("message")
    if isinstance(code, bool) or not isinstance(code, int) or not isinstance(message, str):
        raise InvalidRpcReplyError("its error has no proper code and message")
    return ServerError(code, message, error.get("data"))
