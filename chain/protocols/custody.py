"""Whose a position is, and who else can touch it, asked of the PositionManager."""

from functools import lru_cache
from sys import intern

from msgspec import Struct

from chain.contracts import abi
from chain.contracts.networks import Address
from chain.contracts.pool_key import POOL_KEY_TYPES, PoolKey
from chain.contracts.storage import PositionInfo, decode_position_info
from chain.rpc.requests import Call, CallOutcome

OWNER = abi.selector("ownerOf(uint256)")
APPROVED = abi.selector("getApproved(uint256)")
SUBSCRIBER = abi.selector("subscriber(uint256)")
INFO = abi.selector("positionInfo(uint256)")
POOL_AND_INFO = abi.selector("getPoolAndPositionInfo(uint256)")

_WORD = 32
_ADDRESSES_KEPT = 1_000
_KEY_LENGTH = _WORD * len(POOL_KEY_TYPES)


class Custody(Struct, frozen=True, gc=False):
    owner: Address
    approved: Address | None
    """The one address that may move this token besides its owner and the owner's operators."""
    subscriber: Address | None
    """A contract that is told of every change, and can refuse it."""
    holder: Address | None = None
    """A contract that keeps it for its owner and must give it back first: a gauge."""


def about(position_manager: Address, selector: bytes, token_id: int) -> Call:
    """One of the questions above, about one token."""
    words = 0 if selector == POOL_AND_INFO else 1
    return Call(position_manager, selector + token_id.to_bytes(_WORD, "big"), words)


def balance_call(position_manager: Address, owner: Address) -> Call:
    """How many positions the wallet has."""
    return Call(position_manager, abi.encode_call("balanceOf(address)", owner))


def operator_call(position_manager: Address, owner: Address, operator: Address) -> Call:
    """Whether the operator may move every position of the owner."""
    approval = "isApprovedForAll(address,address)"
    return Call(position_manager, abi.encode_call(approval, owner, operator))


def decode_owner(outcome: CallOutcome) -> Address | None:
    """None for a token that does not exist, of which the contract refuses to speak."""
    return decode_address(outcome) if outcome.success else None


def decode_address(outcome: CallOutcome) -> Address | None:
    return _address(_answer(outcome))


# One text for a wallet, however many tokens it has.
@lru_cache(maxsize=_ADDRESSES_KEPT)
def _address(data: bytes) -> Address | None:
    word = _integer(data)
    if word >> 160:
        raise abi.AbiError("The PositionManager answered with a word too large for an address.")
    return intern(f"0x{word:040x}") if word else None


def decode_info(outcome: CallOutcome) -> tuple[PoolKey | None, PositionInfo | None]:
    """The pool's key, where it was asked for, and the position; None once it is burned."""
    data = _answer(outcome)
    key, word = data[:-_WORD], _integer(data[-_WORD:])
    if len(key) not in (0, _KEY_LENGTH):
        raise abi.AbiError("The PositionManager does not tell a position's pool and range.")
    if word == 0:
        return None, None
    pool_key = PoolKey(*abi.decode(POOL_KEY_TYPES, key)) if key else None
    return pool_key, decode_position_info(word)


def decode_count(outcome: CallOutcome) -> int:
    return _integer(_answer(outcome))


def decode_flag(outcome: CallOutcome) -> bool:
    return _integer(_answer(outcome)) != 0


def _answer(outcome: CallOutcome) -> bytes:
    if not outcome.success:
        raise abi.AbiError("The PositionManager refused a question it answers for every token.")
    return outcome.data


def _integer(data: bytes) -> int:
    if len(data) != _WORD:
        raise abi.AbiError("The PositionManager did not answer with one word.")
    return int.from_bytes(data, "big")
