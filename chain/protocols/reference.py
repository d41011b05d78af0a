"""How a position is named: by its protocol and the token id that its manager knows it by.

People write and read a name, `#28` or `3:4`. It holds no address, and neither does what travels or
is kept on disk: a manager is asked of the network, so that no file and no peer can send a call to a
contract of its own. Only a position of a manager that the network does not pin carries its address.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from chain.contracts.networks import Address
from chain.protocols.rows import PROTOCOLS, row_named

V4: Final = "v4"
V3: Final = "v3"

_BY_PREFIX = {row.prefix: row for row in PROTOCOLS}
_WRITTEN = re.compile(
    rf"(?:(?P<prefix>{'|'.join(filter(None, _BY_PREFIX))})|#)?(?P<digits>[0-9]{{1,78}})", re.ASCII
)
_STORED = re.compile(r"(?P<name>[^@]+)(?:@(?P<manager>0x[0-9a-f]{40}))?", re.ASCII)
_OLDER = re.compile(r"^-")


# Hashed once: a monitor keeps thousands of them in its tables and asks for each on every poll.
class PositionRef(Struct, frozen=True, order=True, cache_hash=True, gc=False):
    protocol: str
    token_id: int
    """As the contract of its protocol knows it."""
    manager: Address = ""
    """Who numbers it; empty for the contract that the network pins for this protocol."""

    def __str__(self) -> str:
        return position_name(self)


def v4_position(token_id: int) -> PositionRef:
    if token_id < 0:
        raise ValueError(f"No contract knows a token by {token_id}.")
    return PositionRef(V4, token_id)


def v3_position(token_id: int) -> PositionRef:
    if token_id <= 0:
        raise ValueError(f"The v3 position manager knows no token by {token_id}.")
    return PositionRef(V3, token_id)


def v3_in_bytes(token_id: int) -> PositionRef:
    """As bytes name it, whether there can be such a one or not."""
    return PositionRef(V3, token_id)


def stored_position(text: str) -> PositionRef:
    """The one that a file or a table keeps under this name, as `str` of it or by an older zuno.

    Those kept a number, and of v3 the number below zero.
    """
    match = _STORED.fullmatch(text)
    if match is None or (ref := read_position_ref(_OLDER.sub("3:", match["name"]))) is None:
        raise ValueError(f"{text!r} is not a position's name.")
    return PositionRef(ref.protocol, ref.token_id, match["manager"] or "")


def older_name(ref: PositionRef) -> str:
    """As a zuno kept it for which a position was a number."""
    return f"-{ref.token_id}" if ref.protocol == V3 else str(ref.token_id)


def v4_token_id(ref: PositionRef) -> int:
    """The token id for a call of v4's pinned manager, which is never about another's position."""
    if ref.protocol != V4 or ref.manager:
        raise ValueError(f"Position {ref} is not v4's: its manager has no call for it.")
    return ref.token_id


def position_name(ref: PositionRef) -> str:
    """As commands take it and documents tell it: 12345, or 3:12345 for one of v3."""
    name = f"{row_named(ref.protocol).prefix}{ref.token_id}"
    return f"{name}@{ref.manager}" if ref.manager else name


def position_label(ref: PositionRef) -> str:
    """As people read it: #12345, or 3:12345 for one of v3."""
    return position_name(ref) if row_named(ref.protocol).prefix else f"#{ref}"


def read_position_ref(text: str) -> PositionRef | None:
    """The one that is written as 7, #7 or 3:7; None for anything else."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    row, token_id = _BY_PREFIX[match["prefix"] or ""], int(match["digits"])
    known = row.first_id <= token_id < 1 << row.id_bits
    return PositionRef(row.name, token_id) if known else None
