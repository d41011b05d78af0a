"""Kitty's graphics protocol: a PNG in pieces, drawn into so many cells from the cursor on."""

from __future__ import annotations

from base64 import standard_b64encode

_PIECE = 4096
_IMAGE = 7_341
_QUIET = "q=2"
"""The terminal answers nothing, which the desk would read as typed."""

FORGET = f"\x1b_Ga=d,d=I,i={_IMAGE},{_QUIET}\x1b\\"
"""Takes the picture away."""


def kitty_picture(png: bytes, columns: int, rows: int) -> str:
    text = standard_b64encode(png).decode("ascii")
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    first = f"a=T,f=100,i={_IMAGE},c={columns},r={rows},C=1,{_QUIET},"
    last = len(pieces) - 1
    return "".join(
        f"\x1b_G{'' if place else first}m={int(place < last)};{piece}\x1b\\"
        for place, piece in enumerate(pieces)
    )
