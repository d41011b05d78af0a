"""What a desk is opened with."""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from zuno_tui.session import Session
    from zuno_tui.settings import Flags


def _new_request_id() -> str:
    return f"req_{secrets.token_hex(8)}"


@dataclass(frozen=True, slots=True)
class DeskOpening:
    session: Session
    demo: bool = False
    """Whether the guide speaks and the market can be paused."""
    deterministic: bool = False
    """Whether the rules speak alone, key or no key."""
    flags: Flags | None = None
    """What the monitor watches by, beside the settings; None for this network and wallet alone."""
    clock: Callable[[], float] = time.time
    new_request_id: Callable[[], str] = _new_request_id
    # It may hold keys, and so is part of no repr.
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
