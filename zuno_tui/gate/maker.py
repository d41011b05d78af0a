"""How a command says what is to be built and approved."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from chain.positions.overview import Sources
    from zuno_tui.gate.actions.action import Action

ActionMaker: TypeAlias = "Callable[[Sources], Awaitable[Action]]"
"""Makes an action of the chain as it is when it is read."""
