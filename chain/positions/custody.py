"""Whose a position is, and who else can touch it, asked of the PositionManager."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from chain import abi
from chain.multicall import Call
from chain.networks import NATIVE
from chain.pool_key import POOL_KEY_TYPES, PoolKey
from chain.storage import PositionInfo, decode_position_info

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chain.multicall import CallOutcome
    from chain.networks import Address

CALLS_PER_TOKEN = 4

_OWNER_OF = abi.selector("ownerOf(uint256)")
_GET_APPROVED = abi.selector("getApproved(uint256)")
_SUBSCRIBER = abi.selector("subscriber(uint256)")
_POSITION_INFO = abi.selector("positionInfo(uint256)")
_POOL_AND_POSITION_INFO = abi.selector("getPoolAndPositionInfo(uint256)")

_WORD = 32
_KEY_LENGTH = _WORD * len(POOL_KEY_TYPES)


@dataclass(frozen=True, slots=True)
class Custody:
    owner: Address | None
    """None: burned, or never minted."""
    approved: Address | None
    """The one address that may move this token besides its owner and the owner's operators."""
    subscriber: Address | None
    """A contract that is told of every change, and can refuse it."""
    info: PositionInfo
    pool_key: PoolKey | None
    """Only where it was asked for."""


def custody_calls(
    position_manager: Address, token_id: int, *, with_pool_key: bool
) -> tuple[Call, ...]:
    token = token_id.to_bytes(_WORD, "big")
    info = _POOL_AND_POSITION_INFO if with_pool_key else _POSITION_INFO
    return (
        Call(position_manager, _OWNER_OF + token),
        Call(position_manager, _GET_APPROVED + token),
        Call(position_manager, _SUBSCRIBER + token),
        Call(position_manager, info + token),
    )


def decode_custody(outcomes: Sequence[CallOutcome]) -> Custody:
    owner, approved, subscriber, info = outcomes
    key = info.data[:-_WORD]
    if len(key) not in (0, _KEY_LENGTH):
        raise abi.AbiError("The PositionManager does not tell a position's pool and range.")
    return Custody(
        # The contract reverts for a token that does not exist.
        owner=_address(owner.data) if owner.success else None,
        approved=_address(_answer(approved)),
        subscriber=_address(_answer(subscriber)),
        info=decode_position_info(_integer(_answer(info)[-_WORD:])),
        pool_key=PoolKey(*abi.decode(POOL_KEY_TYPES, key)) if key else None,
    )


def balance_call(position_manager: Address, owner: Address) -> Call:
    """How many positions the wallet has."""
    return Call(position_manager, abi.encode_call("balanceOf(address)", owner))


def operator_call(position_manager: Address, owner: Address, operator: Address) -> Call:
    """Whether the operator may move every position of the owner."""
    approval = "isApprovedForAll(address,address)"
    return Call(position_manager, abi.encode_call(approval, owner, operator))


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


def _address(data: bytes) -> Address | None:
    word = _integer(data)
    if word >> 160:
        raise abi.AbiError("The PositionManager answered with a word too large for an address.")
    address = f"0x{word:040x}"
    return None if address == NATIVE else address
