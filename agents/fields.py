"""The numbers payloads are made of: units as decimal text, measures with six digits."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, PlainSerializer

from agents.numbers.rounding import significant

# A uint256 has at most 78 digits; a sign is for deltas.
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]{0,77})")


def _whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _DECIMAL.fullmatch(value) and value != "-0":
        return int(value)
    raise ValueError("a whole number, written as decimal text")


Units = Annotated[int, BeforeValidator(_whole), PlainSerializer(str, return_type=str)]
"""A whole number that may pass 2^53, so it travels as text."""

Measure = Annotated[float, AfterValidator(significant)]
"""A measured or modelled number: rounded where it enters, so that every machine writes it alike."""
