"""What a JSON-RPC answer says when there is no result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.contracts import abi
from chain.devnet.node.records import to_hex

if TYPE_CHECKING:
    from chain.devnet.node.messages import Outcome

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_ERROR = -32000
REVERTED = 3

PANICS = {
    0x00: "generic panic",
    0x01: "assert(false)",
    0x11: "arithmetic underflow or overflow",
    0x12: "division or modulo by zero",
    0x21: "enum overflow",
    0x22: "invalid encoded storage byte array accessed",
    0x31: "out-of-bounds array access; popping on an empty array",
    0x32: "out-of-bounds access of an array or bytesN",
    0x41: "out of memory",
    0x51: "uninitialized function",
}


class RpcFaultError(Exception):
    """An error object on its way to the caller."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def to_json(self) -> Json:
        error: dict[str, Json] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


def invalid(message: str) -> RpcFaultError:
    return RpcFaultError(INVALID_PARAMS, message)


def failed(message: str) -> RpcFaultError:
    return RpcFaultError(SERVER_ERROR, message)


def stopped(outcome: Outcome) -> RpcFaultError:
    """The fault a failed execution is reported as; reverts carry their data."""
    if not outcome.reverted:
        return failed(outcome.failure or "execution failed")
    reason = revert_reason(outcome.output)
    message = f"{outcome.failure}: {reason}" if reason else str(outcome.failure)
    return RpcFaultError(REVERTED, message, to_hex(outcome.output))


def revert_reason(data: bytes) -> str | None:
    """The text of `Error(string)` or `Panic(uint256)`; custom errors have none."""
    kind, body = data[:4], data[4:]
    try:
        if kind == abi.selector("Error(string)"):
            (text,) = abi.decode(["string"], body)
            return bytes(text).decode("utf-8", "replace")
        if kind == abi.selector("Panic(uint256)"):
            (code,) = abi.decode(["uint256"], body)
            return PANICS.get(code, f"unknown panic code: {code:#x}")
    except abi.AbiError:
        return None
    return None
