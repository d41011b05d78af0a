"""What a contract said when it refused, taken out of the forms nodes wrap it in."""

from __future__ import annotations

from chain.rpc import values

_ERROR = bytes.fromhex("08c379a0")  # Error(string)
_PANIC = bytes.fromhex("4e487b71")  # Panic(uint256)
_MOST_TEXT = 1_000


def revert_data(data: object, *, nested: bool = False) -> bytes:
    """The returned bytes; empty where a node sends none, or none that can be read."""
    if isinstance(data, dict) and not nested:
        return revert_data(data.get("data"), nested=True)
    if not isinstance(data, str):
        return b""
    try:
        return values.data(data.removeprefix("Reverted "))
    except values.InvalidValueError:
        return b""


def revert_reason(data: bytes) -> str:
    """The words of Solidity's two built-in errors, uncleaned; empty for custom errors."""
    if data[:4] == _PANIC and len(data) == 36:
        return f"panic {int.from_bytes(data[4:]):#04x}"
    if data[:4] != _ERROR or int.from_bytes(data[4:36]) != 32:
        return ""
    length = int.from_bytes(data[36:68])
    return data[68 : 68 + min(length, _MOST_TEXT)].decode("utf-8", errors="replace")
