"""The JSON-RPC envelope: one request or a batch of them in, as many answers out."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from chain.devnet.node.fast_code import CallTimedOutError
from chain.devnet.node.ledger import UnknownBlockError
from chain.devnet.node.node import ControlRefusedError
from chain.devnet.node.rpc import calls, controls, gas, reads, sends, simulate
from chain.devnet.node.rpc.faults import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Json,
    RpcFaultError,
    failed,
)
from chain.devnet.node.rpc.fields import Params
from chain.devnet.node.transactions import TransactionRefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chain.devnet.node.node import Node

MAX_BATCH = 1000

Method = Callable[["Node", Params], Json]

METHODS: Mapping[str, Method] = {
    **reads.METHODS,
    **gas.METHODS,
    **calls.METHODS,
    **simulate.METHODS,
    **sends.METHODS,
    **controls.METHODS,
}

logger = logging.getLogger(__name__)


def parse(body: bytes) -> list[Json] | dict[str, Json]:
    """A request object, or a batch of what should be request objects."""
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RpcFaultError(PARSE_ERROR, "parse error") from error
    if isinstance(value, list):
        if not value:
            raise RpcFaultError(INVALID_REQUEST, "empty batch")
        if len(value) > MAX_BATCH:
            raise RpcFaultError(INVALID_REQUEST, f"batch too large, want at most {MAX_BATCH}")
        return value
    if isinstance(value, dict):
        return value
    raise RpcFaultError(INVALID_REQUEST, "invalid request")


def answer(node: Node, methods: Mapping[str, Method], request: Json) -> Json:
    """The response object to one request; None for a notification, which gets none."""
    if not isinstance(request, dict):
        return fault_to_json(None, RpcFaultError(INVALID_REQUEST, "invalid request"))
    identity = request.get("id")
    try:
        result = _invoke(node, methods, request)
    except RpcFaultError as fault:
        response = fault_to_json(identity, fault)
    else:
        response = {"jsonrpc": "2.0", "id": identity, "result": result}
    return response if "id" in request or "error" in response else None


def fault_to_json(identity: Json, fault: RpcFaultError) -> dict[str, Json]:
    return {"jsonrpc": "2.0", "id": identity, "error": fault.to_json()}


def _invoke(node: Node, methods: Mapping[str, Method], request: Mapping[str, Json]) -> Json:
    name, values = request.get("method"), request.get("params")
    if request.get("jsonrpc") != "2.0" or not isinstance(name, str):
        raise RpcFaultError(INVALID_REQUEST, "invalid request")
    if isinstance(request.get("id"), bool | list | dict):
        raise RpcFaultError(INVALID_REQUEST, "invalid request: id must be a string or a number")
    method = methods.get(name)
    if method is None:
        raise RpcFaultError(
            METHOD_NOT_FOUND, f"the method {name[:80]} does not exist/is not available"
        )
    if values is not None and not isinstance(values, list):
        raise RpcFaultError(INVALID_PARAMS, "non-array args")
    try:
        return method(node, Params(values or []))
    except (TransactionRefusedError, ControlRefusedError, UnknownBlockError) as error:
        raise failed(str(error)) from error
    except CallTimedOutError as error:
        raise failed(str(error)) from error
    except RpcFaultError:
        raise
    except Exception as error:
        logger.exception("%s failed", name)
        raise RpcFaultError(INTERNAL_ERROR, f"internal error: {type(error).__name__}") from error
