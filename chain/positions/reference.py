"""How a position is named, since two protocols number theirs alike.

Inside, a position is one whole number: that of Uniswap v4 as it is, that of v3 below zero. So the
two never meet in a table, a file or an alert. No contract takes a number below zero for a token
id, so no call of v4 can be built for a position of v3 by mistake.
"""

import re

_WRITTEN = re.compile(r"(?:(?P<v3>3:)|#)?(?P<digits>[0-9]{1,78})", re.ASCII)
_IDS_END = 2**256
_V3_IDS_END = 2**176
"""The v3 position manager counts in 176 bits."""


def v3_number(token_id: int) -> int:
    return -token_id


def is_v3(number: int) -> bool:
    return number < 0


def token_id_of(number: int) -> int:
    """As the contract of its protocol knows it."""
    return abs(number)


def position_name(number: int) -> str:
    """As commands take it and documents tell it: 12345, or 3:12345 for one of v3."""
    return f"3:{-number}" if is_v3(number) else str(number)


def position_label(number: int) -> str:
    """As people read it: #12345, or 3:12345 for one of v3."""
    return position_name(number) if is_v3(number) else f"#{number}"


def read_position_number(text: str) -> int | None:
    """The number that is written as 7, #7 or 3:7; None for anything else."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    token_id, of_v3 = int(match["digits"]), bool(match["v3"])
    if token_id >= (_V3_IDS_END if of_v3 else _IDS_END) or (of_v3 and not token_id):
        return None
    return v3_number(token_id) if of_v3 else token_id
