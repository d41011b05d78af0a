"""Code run in one loop ends as py-evm alone ends it: stack, memory, gas, output, logs and error."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest
from eth.constants import BLANK_ROOT_HASH, ZERO_HASH32
from eth.db.atomic import AtomicDB
from eth.db.backends.memory import MemoryDB
from eth.vm import opcode_values as op
from eth.vm.execution_context import ExecutionContext
from eth.vm.forks.cancun.transaction_context import CancunTransactionContext
from eth.vm.forks.prague.state import PragueState
from eth.vm.message import Message
from eth_typing import Address, BlockNumber

from chain.devnet.node.machine import MachineState

if TYPE_CHECKING:
    from eth.vm.computation import BaseComputation
    from eth.vm.memory import Memory
    from eth.vm.stack import Stack

HERE, SENDER = Address(b"\x11" * 20), Address(b"\x22" * 20)
WORDS = (0, 1, 2, 31, 32, 33, 64, 255, 256, 2**24, 2**64, 2**160, 2**255 - 1, 2**255, 2**256 - 1)
ARITHMETIC = (
    *range(op.ADD, op.SIGNEXTEND + 1),
    *range(op.LT, op.SAR + 1),
    *(op.POP, op.MLOAD, op.MSTORE, op.MSTORE8, op.CALLDATALOAD, op.CALLDATASIZE, op.GAS, op.PC),
    *(op.MSIZE, op.SHA3, op.ADDRESS, op.CALLER, op.JUMPDEST, op.MCOPY, op.CALLDATACOPY),
    *(op.SLOAD, op.SSTORE, op.TLOAD, op.TSTORE, op.LOG0, op.LOG1, op.RETURN, op.REVERT, op.STOP),
)


PROGRAMS = 200


class Ending(NamedTuple):
    """Everything that is left of a run."""

    stack: tuple[int, ...]
    memory: bytes
    gas: int
    output: bytes
    logs: tuple[object, ...]
    error: str


def run(state_class: type[PragueState], code: bytes, data: bytes, gas: int) -> Ending:
    context = ExecutionContext(
        coinbase=HERE,
        timestamp=1,
        block_number=BlockNumber(1),
        difficulty=0,
        mix_hash=ZERO_HASH32,
        gas_limit=30_000_000,
        prev_hashes=(),
        chain_id=31337,
        base_fee_per_gas=1,
        excess_blob_gas=0,
    )
    state = state_class(AtomicDB(MemoryDB()), context, BLANK_ROOT_HASH)
    state.lock_changes()
    message = Message(gas, HERE, SENDER, 0, data, code)
    asked = CancunTransactionContext(gas_price=1, origin=SENDER, blob_versioned_hashes=())
    applied = state.computation_class.apply_computation(state, message, asked)
    ended = cast("BaseComputation", applied)
    stack, memory = cast("Stack", ended._stack), cast("Memory", ended._memory)
    numbers = (
        value if isinstance(value, int) else int.from_bytes(value, "big") for value in stack.values
    )
    return Ending(
        # Nobody can look at the stack of a run that failed.
        () if ended.is_error else tuple(numbers),
        b"" if ended.is_error else bytes(memory._bytes),
        ended.get_gas_remaining(),
        ended.output,
        ended.get_raw_log_entries(),
        type(ended._error).__name__,
    )


def drawn_program(draw: random.Random) -> bytes:
    """Instructions with something to work on, jumps that mostly land, and now and then nonsense."""
    code = bytearray()
    landings = [0]
    for _ in range(draw.randrange(1, 60)):
        kind = draw.random()
        if kind < 0.45:
            word = draw.choice((draw.choice(WORDS), draw.randrange(300), draw.getrandbits(256)))
            size = max(1, (word.bit_length() + 7) // 8)
            code += bytes([op.PUSH0]) if not word else bytes([op.PUSH0 + size])
            code += word.to_bytes(size, "big") if word else b""
        elif kind < 0.6:
            code.append(draw.choice((op.DUP1, op.SWAP1)) + draw.choice((0, 0, 1, 2, 15)))
        elif kind < 0.66:
            landings.append(len(code))
            code.append(op.JUMPDEST)
        elif kind < 0.72:
            target = draw.choice((*landings, len(code) + 4, draw.randrange(200)))
            code += bytes([op.PUSH0 + 2]) + target.to_bytes(2, "big")
            code.append(draw.choice((op.JUMP, op.JUMPI)))
            landings.append(len(code))
            code.append(op.JUMPDEST)
        elif kind < 0.99:
            code.append(draw.choice(ARITHMETIC))
        else:
            code.append(draw.randrange(256))
    return bytes(code)


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 42))]
)
def test_it_ends_as_py_evm_ends_it(seed: int) -> None:
    draw = random.Random(seed)
    errors: set[str] = set()
    for _ in range(PROGRAMS):
        code, data = drawn_program(draw), draw.randbytes(draw.randrange(70))
        gas = draw.choice((draw.randrange(200), 3_000, 60_000))

        ending = run(MachineState, code, data, gas)

        assert ending == run(PragueState, code, data, gas), code.hex()
        errors.add(ending.error)
    assert {"NoneType", "OutOfGas", "InsufficientStack", "Revert"} <= errors


PUSH_ONE = bytes([op.PUSH0 + 1, 1])


@pytest.mark.parametrize(
    ("code", "error"),
    [
        pytest.param(PUSH_ONE * 1024, "NoneType", id="full"),
        pytest.param(PUSH_ONE * 1025, "FullStack", id="push onto a full one"),
        pytest.param(PUSH_ONE * 1024 + bytes([op.DUP1]), "FullStack", id="dup onto a full one"),
        pytest.param(PUSH_ONE * 1024 + bytes([op.PUSH0]), "FullStack", id="zero onto a full one"),
        pytest.param(bytes([op.PUSH32, 1, 2]), "NoneType", id="push cut short"),
        pytest.param(
            bytes([op.PUSH0 + 1, 3, op.JUMP, op.PUSH0 + 1, op.JUMPDEST]),
            "InvalidJumpDestination",
            id="jump to a push",
        ),
        pytest.param(
            bytes([op.PUSH0 + 1, 4, op.JUMP, op.PUSH0 + 1, op.JUMPDEST]),
            "InvalidInstruction",
            id="jump into a push",
        ),
        pytest.param(
            bytes([op.PUSH32, *b"\xff" * 32, op.JUMP]), "InvalidJumpDestination", id="jump far away"
        ),
        pytest.param(bytes([op.PUSH32, *b"\xff" * 32, op.MLOAD]), "OutOfGas", id="memory far away"),
        pytest.param(
            bytes([op.PUSH32, *b"\xff" * 32, op.CALLDATALOAD]), "NoneType", id="data far away"
        ),
        pytest.param(b"", "NoneType", id="no code"),
    ],
)
def test_its_edges_are_py_evms(code: bytes, error: str) -> None:
    ending = run(MachineState, code, b"", 100_000)

    assert ending.error == error
    assert ending == run(PragueState, code, b"", 100_000)
