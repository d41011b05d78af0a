"""A number as facts keep it: rounded, with a sentence on its source, or None with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.numbers.rounding import significant
from chain.quantity import Unknown

if TYPE_CHECKING:
    from fractions import Fraction

    from chain.quantity import Quantity


def figure(quantity: Quantity[float] | Quantity[Fraction]) -> float | None:
    """The number as every machine writes it, so that whoever computes on starts from the same."""
    return None if isinstance(quantity, Unknown) else significant(float(quantity.value))


def said(quantity: Quantity[object]) -> str:
    """Who says so, and when."""
    if isinstance(quantity, Unknown):
        return f"unknown: {quantity.reason}"
    if quantity.block is not None:
        return f"{quantity.source}, block {quantity.block}"
    if quantity.time is not None:
        return f"{quantity.source}, Unix time {quantity.time:.0f}"
    return quantity.source
