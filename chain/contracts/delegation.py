"""An account that is lent to a contract's code (EIP-7702), and the batches it then carries out.

The code is a delegate's; it runs several calls as the account, all or none of them. Each delegate
has its own call for that, and may take another's without doing anything.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from chain.contracts import abi
from chain.contracts.networks import NATIVE, SAME_EVERYWHERE, Address, Network

NOBODY = NATIVE
"""To delegate to it is to take a delegation back."""
DELEGATION_MANAGER = SAME_EVERYWHERE["delegation_manager"]
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


BatchForm = Literal["execute", "executeBatch"]


class Delegate(NamedTuple):
    """What an account's code can do once it is this one's."""

    address: Address
    name: str
    form: BatchForm
    orders: bool
    """Whether another key can carry out what the account's has signed."""
    entry_point: Address
    """Whom it lets act, beside the account itself, on what its key has signed."""


SIMPLE_ACCOUNT = Delegate(
    SAME_EVERYWHERE["simple_account"],
    "Simple7702Account",
    "executeBatch",
    orders=False,
    entry_point="0x4337084d9e255ff0702461cf8895ce9e3b5ff108",
)
"""The only one that Ledgers delegate to."""
ENTRY_POINT = "0x0000000071727de22e5e9d8baf0edac6f37da032"
"""Of the one that can do more."""


def delegates_on(network: Network) -> tuple[Delegate, ...]:
    """Those known there, the one that can do more first."""
    most = network.contracts.delegate
    if most is None:
        return ()
    return Delegate(most, "the batch executor", "execute", True, ENTRY_POINT), SIMPLE_ACCOUNT


def delegate_named(network: Network, address: Address | None) -> Delegate | None:
    return next((each for each in delegates_on(network) if each.address == address), None)


class BatchCall(NamedTuple):
    to: Address
    value: int
    data: bytes


def execute_batch(calls: Sequence[BatchCall], form: BatchForm) -> bytes:
    """What an account sends to itself to carry out these calls in one transaction."""
    if form == "executeBatch":
        return abi.encode_call(f"executeBatch({_CALLS})", calls)
    return abi.encode_call("execute(bytes32,bytes)", BATCH_MODE, abi.encode((_CALLS,), (calls,)))


def delegate_in(code: bytes) -> Address | None:
    """Whose code an account runs, by the code that a node shows for it."""
    if len(code) != len(_DESIGNATOR) + _ADDRESS_BYTES or not code.startswith(_DESIGNATOR):
        return None
    return "0x" + code[len(_DESIGNATOR) :].hex()


def delegated_code(delegate: Address) -> bytes:
    """What a node shows as the code of an account that is delegated."""
    return _DESIGNATOR + abi.address_bytes(delegate)
