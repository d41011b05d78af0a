"""The embedded chain's own hooks, written in assembly and placed at genesis.

A hook's permissions are the low 14 bits of its address, so genesis can grant any without mining.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chain.abi import selector
from chain.devnet.world.assembly import assemble

if TYPE_CHECKING:
    from chain.networks import Address

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
