"""Scout's eyes: one consistent set of facts, read from the chain at one block."""

from agents.lp.observe.errors import (
    ChainUnreadableError,
    GasUnknownError,
    NoFittingPoolError,
    NoSuchPositionError,
    ObservationError,
)
from agents.lp.observe.observer import ChainObserver

__all__ = [
    "ChainObserver",
    "ChainUnreadableError",
    "GasUnknownError",
    "NoFittingPoolError",
    "NoSuchPositionError",
    "ObservationError",
]
