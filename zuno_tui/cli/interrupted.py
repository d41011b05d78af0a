"""Failures nobody foresaw, after something may have been signed or sent."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from zuno_tui.cli.failures import foreseen
from zuno_tui.gate.applying import InterruptedApplyError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def may_have_sent() -> Iterator[None]:
    """Never let it be said of what fails in here that nothing was sent."""
    try:
        yield
    except Exception as error:
        if foreseen(error) is not None:
            raise
        raise InterruptedApplyError(
            f"Something failed that zuno did not foresee ({type(error).__name__}), and it may "
            "have signed and sent before. See where things stand: zuno outbox"
        ) from error
