"""Scout's eyes: one consistent set of facts, read from the chain at one block."""

from agents.lp.observe.observer import (
    ChainObserver,
    ChainUnreadableError,
    GasUnknownError,
    NoFittingPoolError,
    NoSuchPositionError,
    ObservationError,
)

__all__ = [
    "ChainObserver",
    "ChainUnreadableError",
    "GasUnknownError",
    "NoFittingPoolError",
    "NoSuchPositionError",
    "ObservationError",
]
