"""Refusals of the gate: something that could be done and is not."""

from __future__ import annotations


class GateRefusedError(Exception):
    """Nothing was signed; the message says why and what to do instead."""
