"""The instructions that only touch stack, memory and program counter, run in one loop.

py-evm calls seven functions for an ADD. What it does for each of these instructions is done here
in its own words, to the unit of gas; every other one is handed to py-evm, which finds stack,
memory, gas and program counter as it would have left them.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

from eth.exceptions import (
    FullStack,
    InsufficientStack,
    InvalidInstruction,
    InvalidJumpDestination,
    OutOfGas,
    VMError,
)
from eth.vm.code_stream import CodeStream
from eth.vm.opcode_values import (
    ADD,
    AND,
    CALLDATALOAD,
    DIV,
    DUP16,
    EQ,
    GT,
    ISZERO,
    JUMP,
    JUMPDEST,
    JUMPI,
    LT,
    MLOAD,
    MSTORE,
    MUL,
    MULMOD,
    NOT,
    OR,
    POP,
    PUSH0,
    PUSH1,
    PUSH32,
    SGT,
    SHL,
    SHR,
    SIGNEXTEND,
    SLT,
    STOP,
    SUB,
    SWAP16,
    XOR,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth.vm.gas_meter import GasMeter
    from eth.vm.memory import Memory

_WORD = 2**256
_MOST = _WORD - 1
_SIGN = 2**255
_BITS = 256
_DEEPEST = 1024
_LONGEST = 33
"""Bytes of an instruction with what it pushes."""
_DECODED_CODES = 64

_VERY_LOW, _LOW, _MIDDLE, _HIGH, _BASE, _JUMPDEST = 3, 5, 8, 10, 2, 1


class CallTimedOutError(Exception):
    """The wall-clock limit passed while the EVM was still running."""

    def __init__(self) -> None:
        super().__init__("execution aborted (timeout)")


class _Decoded(NamedTuple):
    instructions: bytes
    """The code, and STOPs for as far as a PUSH that is cut short can lead behind its end."""
    pushed: dict[int, int]
    """The number that the PUSH at a place puts on the stack."""
    destinations: frozenset[int]
    """Where a jump may land: not within what is pushed."""


@lru_cache(_DECODED_CODES)
def _decoded(code: bytes) -> _Decoded:
    pushed, destinations, place = {}, set(), 0
    while place < len(code):
        instruction, here = code[place], place
        place += 1
        if instruction == JUMPDEST:
            destinations.add(here)
        elif PUSH0 <= instruction <= PUSH32:
            size = instruction - PUSH0
            pushed[here] = int.from_bytes(code[place : place + size].ljust(size, b"\0"), "big")
            place += size
    return _Decoded(code + bytes([STOP]) * _LONGEST, pushed, frozenset(destinations))


class FastCode(CodeStream):
    """Runs what it can by itself, and gives py-evm the instructions that it must run."""

    __slots__ = ["_data", "_deadline", "_memory", "_meter", "_stack"]

    def __init__(
        self,
        code: bytes,
        *,
        data: bytes,
        stack: list[int | bytes],
        memory: Memory,
        meter: GasMeter,
        deadline: float | None,
    ) -> None:
        super().__init__(code)
        self._data = data
        self._stack = stack
        self._memory = memory
        self._meter = meter
        self._deadline = deadline

    def __iter__(self) -> Iterator[int]:  # noqa: PLR0912, PLR0915 - one loop is the point
        instructions, pushed, destinations = _decoded(self._raw_code_bytes)
        # Whatever py-evm leaves on top is made a number below; nothing else is ever there.
        stack = cast("list[int]", self._stack)
        meter, memory, data, deadline = self._meter, self._memory, self._data, self._deadline
        gas, pc = meter.gas_remaining, self.program_counter
        try:
            while True:
                code = instructions[pc]
                if PUSH1 <= code <= SWAP16:
                    gas -= _VERY_LOW
                    if code > DUP16:
                        other = DUP16 - code - 1
                        stack[-1], stack[other] = stack[other], stack[-1]
                    else:
                        if code <= PUSH32:
                            stack.append(pushed[pc])
                            pc += code - PUSH0
                        else:
                            stack.append(stack[PUSH32 - code])
                        if len(stack) > _DEEPEST:
                            raise FullStack("stack limit reached")
                elif code == JUMPDEST:
                    gas -= _JUMPDEST
                    if deadline is not None and time.monotonic() > deadline:
                        raise CallTimedOutError
                elif code == JUMPI:
                    gas -= _HIGH
                    target = stack.pop()
                    if stack.pop():
                        if target not in destinations:
                            raise _no_destination(instructions, target)
                        pc = target - 1
                elif code == JUMP:
                    gas -= _MIDDLE
                    target = stack.pop()
                    if target not in destinations:
                        raise _no_destination(instructions, target)
                    pc = target - 1
                elif code == PUSH0:
                    gas -= _BASE
                    stack.append(0)
                    if len(stack) > _DEEPEST:
                        raise FullStack("stack limit reached")
                elif code == ADD:
                    gas -= _VERY_LOW
                    stack[-1] = (stack.pop() + stack[-1]) & _MOST
                elif code == POP:
                    gas -= _BASE
                    stack.pop()
                elif code == AND:
                    gas -= _VERY_LOW
                    stack[-1] = stack.pop() & stack[-1]
                elif code == ISZERO:
                    gas -= _VERY_LOW
                    stack[-1] = 0 if stack[-1] else 1
                elif code == MSTORE:
                    gas -= _VERY_LOW
                    start, value = stack.pop(), stack.pop()
                    if start + 32 > len(memory._bytes):
                        gas -= _growing(memory, start, gas)
                    memory._bytes[start : start + 32] = value.to_bytes(32, "big")
                elif code == MLOAD:
                    gas -= _VERY_LOW
                    start = stack[-1]
                    if start + 32 > len(memory._bytes):
                        gas -= _growing(memory, start, gas)
                    stack[-1] = int.from_bytes(memory._bytes[start : start + 32], "big")
                elif code == SUB:
                    gas -= _VERY_LOW
                    stack[-1] = (stack.pop() - stack[-1]) & _MOST
                elif code == SHL:
                    gas -= _VERY_LOW
                    shift = stack.pop()
                    stack[-1] = (stack[-1] << shift) & _MOST if shift < _BITS else 0
                elif code == SHR:
                    gas -= _VERY_LOW
                    shift = stack.pop()
                    stack[-1] = stack[-1] >> shift if shift < _BITS else 0
                elif code == EQ:
                    gas -= _VERY_LOW
                    stack[-1] = 1 if stack.pop() == stack[-1] else 0
                elif code == LT:
                    gas -= _VERY_LOW
                    stack[-1] = 1 if stack.pop() < stack[-1] else 0
                elif code == GT:
                    gas -= _VERY_LOW
                    stack[-1] = 1 if stack.pop() > stack[-1] else 0
                elif code == OR:
                    gas -= _VERY_LOW
                    stack[-1] = stack.pop() | stack[-1]
                elif code == MUL:
                    gas -= _LOW
                    stack[-1] = (stack.pop() * stack[-1]) & _MOST
                elif code == CALLDATALOAD:
                    gas -= _VERY_LOW
                    start = stack[-1]
                    word = data[start : start + 32]
                    stack[-1] = int.from_bytes(word, "big") << 8 * (32 - len(word))
                elif code == DIV:
                    gas -= _LOW
                    number = stack.pop()
                    stack[-1] = number // stack[-1] if stack[-1] else 0
                elif code == SIGNEXTEND:
                    gas -= _LOW
                    size, value = stack.pop(), stack[-1]
                    if size < 31:
                        sign = 1 << size * 8 + 7
                        stack[-1] = value | _WORD - sign if value & sign else value & sign - 1
                elif code == NOT:
                    gas -= _VERY_LOW
                    stack[-1] = _MOST - stack[-1]
                elif code == XOR:
                    gas -= _VERY_LOW
                    stack[-1] = stack.pop() ^ stack[-1]
                elif code == SLT:
                    gas -= _VERY_LOW
                    stack[-1] = 1 if stack.pop() ^ _SIGN < stack[-1] ^ _SIGN else 0
                elif code == SGT:
                    gas -= _VERY_LOW
                    stack[-1] = 1 if stack.pop() ^ _SIGN > stack[-1] ^ _SIGN else 0
                elif code == MULMOD:
                    gas -= _MIDDLE
                    product = stack.pop() * stack.pop()
                    stack[-1] = product % stack[-1] if stack[-1] else 0
                else:
                    meter.gas_remaining, self.program_counter = gas, pc + 1
                    yield code
                    gas, pc = meter.gas_remaining, self.program_counter
                    if stack and stack[-1].__class__ is not int:
                        stack[-1] = int.from_bytes(cast("bytes", stack[-1]), "big")
                    continue
                if gas < 0:
                    raise OutOfGas("out of gas")
                pc += 1
        except (IndexError, VMError) as error:
            if gas < 0:
                raise OutOfGas("out of gas") from None
            if isinstance(error, IndexError):
                raise InsufficientStack("too little is on the stack") from None
            raise


def _growing(memory: Memory, start: int, gas: int) -> int:
    """Make room for a word, and what that costs: 3 a word and its square through 512."""
    before, after = len(memory) // 32, (start + 63) // 32
    cost = 3 * (after - before) + after * after // 512 - before * before // 512
    if cost > gas:
        raise OutOfGas("out of gas")
    memory.extend(start, 32)
    return cost


def _no_destination(instructions: bytes, target: int) -> VMError:
    if target < len(instructions) and instructions[target] == JUMPDEST:
        return InvalidInstruction("a jump into what is pushed")
    return InvalidJumpDestination("a jump to where nothing lands")
