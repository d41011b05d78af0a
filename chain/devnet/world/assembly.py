"""A small EVM assembler: one instruction or label a line, so that our hooks can be read.

`name:` marks a place to jump to, `PUSH @name` pushes it, `PUSH 0x2a` pushes a number in as few
bytes as it needs, and everything after `;` is for the reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPCODES = {
    "STOP": 0x00,
    "ADD": 0x01,
    "MUL": 0x02,
    "SUB": 0x03,
    "DIV": 0x04,
    "EQ": 0x14,
    "ISZERO": 0x15,
    "OR": 0x17,
    "SHL": 0x1B,
    "SHR": 0x1C,
    "KECCAK256": 0x20,
    "ADDRESS": 0x30,
    "CALLER": 0x33,
    "CALLDATALOAD": 0x35,
    "CALLDATASIZE": 0x36,
    "CALLDATACOPY": 0x37,
    "RETURNDATASIZE": 0x3D,
    "RETURNDATACOPY": 0x3E,
    "POP": 0x50,
    "MLOAD": 0x51,
    "MSTORE": 0x52,
    "SLOAD": 0x54,
    "SSTORE": 0x55,
    "JUMP": 0x56,
    "JUMPI": 0x57,
    "GAS": 0x5A,
    "DUP1": 0x80,
    "DUP2": 0x81,
    "SWAP1": 0x90,
    "CALL": 0xF1,
    "RETURN": 0xF3,
    "DELEGATECALL": 0xF4,
    "REVERT": 0xFD,
    "INVALID": 0xFE,
}
_JUMPDEST = 0x5B
_PUSH0 = 0x5F
_LABEL_BYTES = 2


class AssemblyError(ValueError):
    """A line that is no instruction, or a label that is missing or defined twice."""


@dataclass(frozen=True, slots=True)
class _LabelReference:
    name: str


def assemble(source: str) -> bytes:
    """The bytecode of a program."""
    labels: dict[str, int] = {}
    pieces: list[bytes | _LabelReference] = []
    size = 0
    for line in _lines(source):
        if line.endswith(":"):
            name = line[:-1]
            if name in labels:
                raise AssemblyError(f"The label {name!r} is defined twice.")
            labels[name] = size
        piece = _piece(line)
        pieces.append(piece)
        size += len(piece) if isinstance(piece, bytes) else 1 + _LABEL_BYTES
    return b"".join(
        piece if isinstance(piece, bytes) else _label_push(piece.name, labels) for piece in pieces
    )


def _lines(source: str) -> Iterator[str]:
    for raw in source.splitlines():
        line = raw.partition(";")[0].strip()
        if line:
            yield line


def _piece(line: str) -> bytes | _LabelReference:
    if line.endswith(":"):
        return bytes([_JUMPDEST])
    name, _, operand = line.partition(" ")
    if name == "PUSH":
        return _LabelReference(operand[1:]) if operand.startswith("@") else _push(int(operand, 0))
    if operand or name not in _OPCODES:
        raise AssemblyError(f"{line!r} is not an instruction of this assembler.")
    return bytes([_OPCODES[name]])


def _push(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes([_PUSH0 + size]) + value.to_bytes(size, "big")


def _label_push(name: str, labels: dict[str, int]) -> bytes:
    if name not in labels:
        raise AssemblyError(f"The label {name!r} is not defined.")
    return bytes([_PUSH0 + _LABEL_BYTES]) + labels[name].to_bytes(_LABEL_BYTES, "big")
