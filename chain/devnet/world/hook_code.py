"""The embedded chain's own hooks, written in assembly and placed at genesis.

A hook's permissions are the low 14 bits of its address, so genesis can grant any without mining.
"""

from collections.abc import Iterator

from msgspec import Struct

from chain.contracts.abi import selector
from chain.contracts.networks import Address

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


class _LabelReference(Struct, frozen=True):
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


EXIT_GUARD: Address = "0x6a7d00000000000000000000000000000000c200"
"""Bit 9 alone: PoolManager asks it before liquidity is removed, fees included."""

FEE_STEWARD: Address = "0xfee5000000000000000000000000000000004000"
"""No permission bit: all it may do is set the fee of its dynamic-fee pool."""

SUBSCRIBER: Address = "0x50b5c00000000000000000000000000000008000"
"""Told about every change of the positions subscribed to it; it does nothing with the news."""

SET_REFUSING = "setRefusing(bool)"
REFUSING = "refusing()"
EXITS_REFUSED = "ExitsRefused()"
UPDATE_FEE = "updateDynamicLPFee((address,address,uint24,int24,address),uint24)"

_BEFORE_REMOVE_LIQUIDITY = (
    "beforeRemoveLiquidity(address,(address,address,uint24,int24,address),"
    "(int24,int24,int256,bytes32),bytes)"
)

SUBSCRIBER_CODE = assemble("STOP")


def exit_guard_code(keeper: Address) -> bytes:
    """Allows every exit until its keeper calls `setRefusing(true)`, then none until it relents."""
    return assemble(f"""
        PUSH 0
        CALLDATALOAD
        PUSH 0xe0
        SHR                             ; the selector
        DUP1
        PUSH {_number(_BEFORE_REMOVE_LIQUIDITY)}
        EQ
        PUSH @removing
        JUMPI
        DUP1
        PUSH {_number(SET_REFUSING)}
        EQ
        PUSH @setting
        JUMPI
        PUSH {_number(REFUSING)}
        EQ
        PUSH @reading
        JUMPI
    unknown:
        PUSH 0
        PUSH 0
        REVERT
    removing:
        PUSH 0
        SLOAD                           ; slot 0 is not zero while exits are refused
        PUSH @refused
        JUMPI
        PUSH {_number(_BEFORE_REMOVE_LIQUIDITY)}
        PUSH 0xe0
        SHL
        PUSH 0
        MSTORE
        PUSH 0x20
        PUSH 0
        RETURN                          ; its own selector is the hook's consent
    refused:
        PUSH {_number(EXITS_REFUSED)}
        PUSH 0xe0
        SHL
        PUSH 0
        MSTORE
        PUSH 4
        PUSH 0
        REVERT
    setting:
        CALLER
        PUSH {keeper}
        EQ
        ISZERO
        PUSH @unknown
        JUMPI
        PUSH 4
        CALLDATALOAD
        PUSH 0
        SSTORE
        STOP
    reading:
        PUSH 0
        SLOAD
        PUSH 0
        MSTORE
        PUSH 0x20
        PUSH 0
        RETURN
    """)


def fee_steward_code(steward: Address, pool_manager: Address) -> bytes:
    """Passes what its steward sends on to the PoolManager, word for word, and nobody else's."""
    return assemble(f"""
        CALLER
        PUSH {steward}
        EQ
        ISZERO
        PUSH @refused
        JUMPI
        CALLDATASIZE
        PUSH 0
        PUSH 0
        CALLDATACOPY
        PUSH 0                          ; no output expected
        PUSH 0
        CALLDATASIZE
        PUSH 0
        PUSH 0                          ; no value
        PUSH {pool_manager}
        GAS
        CALL
        ISZERO
        PUSH @failed
        JUMPI
        STOP
    failed:
        RETURNDATASIZE
        PUSH 0
        PUSH 0
        RETURNDATACOPY
        RETURNDATASIZE
        PUSH 0
        REVERT
    refused:
        PUSH 0
        PUSH 0
        REVERT
    """)


def _number(signature: str) -> str:
    return "0x" + selector(signature).hex()
