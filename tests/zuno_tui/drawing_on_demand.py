"""Screens that draw what somebody looks at: no terminal gets the updates in between."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from textual._compositor import Compositor


@contextmanager
def drawn_when_looked_at() -> Iterator[None]:
    with patch.object(Compositor, "render_update", _forget_update):
        yield


def _forget_update(compositor: Compositor, **_: object) -> None:
    compositor._dirty_regions.clear()
