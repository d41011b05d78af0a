"""py-evm, Prague rules: faster, with a wall-clock limit and a trace of ether transfers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from eth.exceptions import Halt
from eth.vm import mnemonics, opcode_values
from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.forks.prague.opcodes import PRAGUE_OPCODES
from eth.vm.forks.prague.state import PragueState
from eth.vm.opcode import as_opcode
from eth_typing import Address

from chain.contracts.keccak import keccak
from chain.devnet.node.fast_code import CallTimedOutError, FastCode
from chain.devnet.node.recursion_limit import limit_recursion

if TYPE_CHECKING:
    from eth.abc import (
        ComputationAPI,
        MessageAPI,
        OpcodeAPI,
        StateAPI,
        TransactionContextAPI,
    )
    from eth.vm.gas_meter import GasMeter
    from eth.vm.memory import Memory
    from eth.vm.stack import Stack

limit_recursion()

TRANSFER_TOPIC = int.from_bytes(keccak(b"Transfer(address,address,uint256)"), "big")
TRACED_ETHER = Address(b"\xee" * 20)
"""`eth_simulateV1` reports ether moves as ERC-20 transfers of this address."""


def _traced_selfdestruct(computation: ComputationAPI) -> None:
    balance = computation.state.get_balance(computation.msg.storage_address)
    try:
        PRAGUE_OPCODES[opcode_values.SELFDESTRUCT](computation)
    except Halt:
        beneficiary = computation.beneficiaries[-1]
        _trace_transfer(computation, computation.msg.storage_address, beneficiary, balance)
        raise


class Computation(PragueComputation):
    """Every loop lands on a JUMPDEST and every call opens a frame: both look at the clock."""

    opcodes: dict[int, OpcodeAPI] = {  # noqa: RUF012 - py-evm declares it so
        **PRAGUE_OPCODES,
        opcode_values.SELFDESTRUCT: as_opcode(_traced_selfdestruct, mnemonics.SELFDESTRUCT, 0),
    }

    def __init__(
        self,
        state: StateAPI,
        message: MessageAPI,
        transaction_context: TransactionContextAPI,
    ) -> None:
        super().__init__(state, message, transaction_context)
        deadline = cast("MachineState", state).deadline
        if deadline is not None and time.monotonic() > deadline:
            raise CallTimedOutError
        self.code = FastCode(
            message.code,
            data=message.data_as_bytes,
            stack=cast("Stack", self._stack).values,
            memory=cast("Memory", self._memory),
            meter=cast("GasMeter", self._gas_meter),
            deadline=deadline,
        )
        if message.should_transfer_value:
            _trace_transfer(self, message.sender, message.storage_address, message.value)


class MachineState(PragueState):
    computation_class = Computation

    deadline: float | None = None
    """When to give up, on the monotonic clock; blocks being mined have none."""
    traces_transfers: bool = False


def _trace_transfer(
    computation: ComputationAPI, sender: bytes, recipient: bytes, value: int
) -> None:
    if not value or not cast("MachineState", computation.state).traces_transfers:
        return
    parties = (int.from_bytes(sender, "big"), int.from_bytes(recipient, "big"))
    computation.add_log_entry(TRACED_ETHER, (TRANSFER_TOPIC, *parties), value.to_bytes(32, "big"))
