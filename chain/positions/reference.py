"""How a position is named, since two protocols number theirs alike.

Inside, a position is a `PositionRef`, from which its protocol, its manager and the token id that
manager knows it by can be asked. How the three are one whole number, as files and tables keep it,
is known here alone: v4's token id as it is, v3's below zero. So the two never meet in a table, a
file or an alert, and of a position of v3 nobody gets a token id for a call of v4.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NewType

if TYPE_CHECKING:
    from chain.contracts.networks import Address, Network

PositionRef = NewType("PositionRef", int)

_WRITTEN = re.compile(r"(?:(?P<v3>3:)|#)?(?P<digits>[0-9]{1,78})", re.ASCII)
_IDS_END = 2**256
_V3_IDS_END = 2**176
"""The v3 position manager counts in 176 bits."""


def stored_position(number: int) -> PositionRef:
    """The one that a file or a table keeps as this number."""
    return PositionRef(number)


def v4_position(token_id: int) -> PositionRef:
    if token_id < 0:
        raise ValueError(f"No contract knows a token by {token_id}.")
    return PositionRef(token_id)


def v3_position(token_id: int) -> PositionRef:
    if token_id <= 0:
        raise ValueError(f"The v3 position manager knows no token by {token_id}.")
    return PositionRef(-token_id)


def is_v3(ref: PositionRef) -> bool:
    return ref < 0


def token_id_of(ref: PositionRef) -> int:
    """As the contract of its protocol knows it."""
    return abs(ref)


def v4_token_id(ref: PositionRef) -> int:
    """The same for a call of v4, which is never about a position of v3."""
    if is_v3(ref):
        raise ValueError(f"Position {position_name(ref)} is of Uniswap v3: v4 has no call for it.")
    return ref


def manager_of(ref: PositionRef, network: Network) -> Address:
    """The contract that knows whose it is."""
    if is_v3(ref) and network.v3 is not None:
        return network.v3.position_manager
    return network.contracts.position_manager


def position_name(ref: PositionRef) -> str:
    """As commands take it and documents tell it: 12345, or 3:12345 for one of v3."""
    return f"3:{-ref}" if is_v3(ref) else str(ref)


def position_label(ref: PositionRef) -> str:
    """As people read it: #12345, or 3:12345 for one of v3."""
    return position_name(ref) if is_v3(ref) else f"#{ref}"


def read_position_ref(text: str) -> PositionRef | None:
    """The one that is written as 7, #7 or 3:7; None for anything else."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    token_id, of_v3 = int(match["digits"]), bool(match["v3"])
    if token_id >= (_V3_IDS_END if of_v3 else _IDS_END) or (of_v3 and not token_id):
        return None
    return v3_position(token_id) if of_v3 else v4_position(token_id)
