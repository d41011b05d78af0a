"""Contracts that mean harm, written so that the harm can be read."""

from collections.abc import Callable

from chain.contracts.abi import selector
from chain.contracts.networks import Address
from chain.devnet.world.deployment import assemble

TOLL_PARTS = 100
"""A toll token keeps the hundredth part of what is moved."""

TOLL_COLLECTOR: Address = "0x" + "c0" * 20

_BALANCES = 3
"""The storage slot of the balances in the token the toll tokens are made from."""

_POOL = "(address,address,uint24,int24,address)"
_CHANGE = "(int24,int24,int256,bytes32)"
_BEFORE_REMOVE = f"beforeRemoveLiquidity(address,{_POOL},{_CHANGE},bytes)"
_AFTER_REMOVE = f"afterRemoveLiquidity(address,{_POOL},{_CHANGE},int256,int256,bytes)"
_IMPLEMENTATION_SLOT = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"

ALWAYS_REVERTS = assemble("PUSH 0\nPUSH 0\nREVERT")
BURNS_ALL_GAS = assemble("INVALID")


def exit_tax_code() -> bytes:
    """A hook that keeps so many basis points (slot 0) of currency 0 when liquidity is removed."""
    return assemble(f"""
        PUSH 10000
        PUSH 0x144
        CALLDATALOAD
        PUSH 0x80
        SHR                             ; what the provider is paid of currency 0
        PUSH 0
        SLOAD
        MUL
        DIV                             ; the tax, which stays on the stack
        PUSH {_number("take(address,address,uint256)")}
        PUSH 0xe0
        SHL
        PUSH 0
        MSTORE
        PUSH 0x24
        CALLDATALOAD                    ; currency 0
        PUSH 4
        MSTORE
        ADDRESS
        PUSH 0x24
        MSTORE
        DUP1
        PUSH 0x44
        MSTORE
        PUSH 0                          ; no output expected
        PUSH 0
        PUSH 0x64
        PUSH 0
        PUSH 0                          ; no value
        CALLER                          ; the PoolManager
        GAS
        CALL
        ISZERO
        PUSH @failed
        JUMPI
        {_selector_to_memory(_AFTER_REMOVE)}
        PUSH 0x80
        SHL
        PUSH 0x20
        MSTORE                          ; the tax, as the hook's own delta
        PUSH 0x40
        PUSH 0
        RETURN
    failed:
        PUSH 0
        PUSH 0
        REVERT
    """)


def consenting_code(mark: int) -> bytes:
    """A hook that lets liquidity go; codes of different marks differ in nothing else."""
    return assemble(f"""
        PUSH {mark}
        POP
        {_selector_to_memory(_BEFORE_REMOVE)}
        PUSH 0x20
        PUSH 0
        RETURN
    """)


def upgradeable_code() -> bytes:
    """A hook that runs whatever code its owner names in the slot of EIP-1967."""
    return assemble(f"""
        {_CALLDATA_TO_MEMORY}
        PUSH 0
        PUSH 0
        CALLDATASIZE
        PUSH 0
        PUSH {_IMPLEMENTATION_SLOT}
        SLOAD
        GAS
        DELEGATECALL
        {_ANSWER}
    """)


def toll_token_code(implementation: Address) -> bytes:
    """A token of which a part of every transfer goes to its collector, as its events say."""
    return _toll_code(
        implementation,
        lambda place, amount: (
            f"""
        {_CALLDATA_TO_MEMORY}
        PUSH {TOLL_PARTS}
        PUSH {amount}
        CALLDATALOAD
        DIV                             ; the toll
        DUP1
        PUSH {amount}
        CALLDATALOAD
        SUB
        PUSH {amount}
        MSTORE
        {_delegate(implementation)}
        POP
        PUSH {amount}
        MSTORE                          ; the toll itself
        PUSH {TOLL_COLLECTOR}
        PUSH {place}
        MSTORE
        {_delegate(implementation)}
        {_ANSWER.replace("answered", f"answered{amount}")}
        """
        ),
    )


def silent_toll_token_code(implementation: Address) -> bytes:
    """A token whose events tell of the whole amount, and whose books of a part less."""
    return _toll_code(
        implementation,
        lambda place, amount: (
            f"""
        {_CALLDATA_TO_MEMORY}
        {_delegate(implementation)}
        POP
        PUSH {place}
        CALLDATALOAD
        PUSH 0
        MSTORE
        PUSH {_BALANCES}
        PUSH 0x20
        MSTORE
        PUSH 0x40
        PUSH 0
        KECCAK256                       ; where the recipient's balance is written
        PUSH {TOLL_PARTS}
        PUSH {amount}
        CALLDATALOAD
        DIV
        DUP2
        SLOAD
        SUB
        SWAP1
        SSTORE
        PUSH 1
        PUSH 0
        MSTORE
        PUSH 0x20
        PUSH 0
        RETURN
        """
        ),
    )


_CALLDATA_TO_MEMORY = """
        CALLDATASIZE
        PUSH 0
        PUSH 0
        CALLDATACOPY
"""

_ANSWER = """
        RETURNDATASIZE
        PUSH 0
        PUSH 0
        RETURNDATACOPY
        PUSH @answered
        JUMPI
        RETURNDATASIZE
        PUSH 0
        REVERT
    answered:
        RETURNDATASIZE
        PUSH 0
        RETURN
"""


def _toll_code(implementation: Address, moving: Callable[[str, str], str]) -> bytes:
    """An honest token but for its two ways of moving, given where recipient and amount stand."""
    return assemble(f"""
        PUSH 0
        CALLDATALOAD
        PUSH 0xe0
        SHR
        DUP1
        PUSH {_number("transfer(address,uint256)")}
        EQ
        PUSH @transfer
        JUMPI
        PUSH {_number("transferFrom(address,address,uint256)")}
        EQ
        PUSH @transfer_from
        JUMPI
        {_CALLDATA_TO_MEMORY}
        {_delegate(implementation)}
        {_ANSWER}
    transfer:
        {moving("0x04", "0x24")}
    transfer_from:
        {moving("0x24", "0x44")}
    """)


def _delegate(implementation: Address) -> str:
    """Run the honest token's code on the message in memory, leaving whether it succeeded."""
    return f"""
        PUSH 0
        PUSH 0
        CALLDATASIZE
        PUSH 0
        PUSH {implementation}
        GAS
        DELEGATECALL
    """


def _selector_to_memory(signature: str) -> str:
    return f"""
        PUSH {_number(signature)}
        PUSH 0xe0
        SHL
        PUSH 0
        MSTORE
    """


def _number(signature: str) -> str:
    return "0x" + selector(signature).hex()
