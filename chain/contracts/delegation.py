"""An account that is lent to a contract's code (EIP-7702), and the batches it then carries out.

The code is a delegate's; `execute` of it runs several calls as the account, all or none of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from chain.contracts import abi
from chain.contracts.networks import NATIVE, SAME_EVERYWHERE, Address

NOBODY = NATIVE
"""To delegate to it is to take a delegation back."""
DELEGATION_MANAGER = SAME_EVERYWHERE["delegation_manager"]
ENTRY_POINT = "0x0000000071727de22e5e9d8baf0edac6f37da032"
"""Whom the delegate's code lets act, beside the account itself, on what its key has signed."""
EXACT_EXECUTION = SAME_EVERYWHERE["exact_execution"]
LIMITED_CALLS = SAME_EVERYWHERE["limited_calls"]
TIMESTAMPS = SAME_EVERYWHERE["timestamps"]
NONCES = SAME_EVERYWHERE["nonces"]
"""What holds a delegated call to its bytes, its number, its time, and the owner's nonce."""
BATCH_MODE = bytes([1]) + bytes(31)
"""Several calls, and nothing of them where one fails."""
_CALLS = "(address,uint256,bytes)[]"

_DESIGNATOR = bytes.fromhex("ef0100")
_ADDRESS_BYTES = 20


class BatchCall(NamedTuple):
    to: Address
    value: int
    data: bytes


def execute_batch(calls: Sequence[BatchCall]) -> bytes:
    """What an account sends to itself to carry out these calls in one transaction."""
    return abi.encode_call("execute(bytes32,bytes)", BATCH_MODE, abi.encode((_CALLS,), (calls,)))


def delegate_in(code: bytes) -> Address | None:
    """Whose code an account runs, by the code that a node shows for it."""
    if len(code) != len(_DESIGNATOR) + _ADDRESS_BYTES or not code.startswith(_DESIGNATOR):
        return None
    return "0x" + code[len(_DESIGNATOR) :].hex()


def delegated_code(delegate: Address) -> bytes:
    """What a node shows as the code of an account that is delegated."""
    return _DESIGNATOR + abi.address_bytes(delegate)
