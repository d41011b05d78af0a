"""Scout's eyes: one consistent set of facts, read from the chain at one block."""

from agents.observing.errors import (
    ChainUnreadableError,
    GasUnknownError,
    NoFittingPoolError,
    NoSuchPositionError,
    ObservationError,
)
from agents.observing.observer import ChainObserver

__all__ = [
    "ChainObserver",
    "ChainUnreadableError",
    "GasUnknownError",
    "NoFittingPoolError",
    "NoSuchPositionError",
    "ObservationError",
]
