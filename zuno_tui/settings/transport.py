"""Where the person wants the agents of a debate to run."""

from __future__ import annotations

from enum import StrEnum


class TransportChoice(StrEnum):
    AUTO = "auto"
    """On the mesh where all of it answers, else in this process, with the reason."""
    MESH = "mesh"
    LOCAL = "local"
