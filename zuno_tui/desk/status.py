"""The status line: what is always true at a glance, told again only when it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from zuno_tui.desk.events import StatusChanged
from zuno_tui.present.views import JobView, StatusView

if TYPE_CHECKING:
    from collections.abc import Callable

    from zuno_tui.desk.events import Event


_COARSE_SECONDS = 10.0


class StatusBoard:
    def __init__(self, view: StatusView, tell: Callable[[Event], None]) -> None:
        self._view = view
        self._tell = tell
        self._jobs: tuple[JobView, ...] = ()
        self._reading: tuple[JobView, ...] = ()
        tell(StatusChanged(view))

    @property
    def view(self) -> StatusView:
        return self._view

    def seen(self, block: int, at: float) -> None:
        """The chain answered, and so there is no trouble with it."""
        view = self._view
        lately = view.seen_at is not None and at - view.seen_at < _COARSE_SECONDS
        if lately and view.block == block and view.trouble is None:
            return
        self._show(replace(self._view, block=block, seen_at=at, trouble=None))

    def troubled(self, words: str) -> None:
        self._show(replace(self._view, trouble=words))

    def working(self, jobs: tuple[JobView, ...]) -> None:
        self._jobs = jobs
        self._show(replace(self._view, jobs=(*self._jobs, *self._reading)))

    def reading(self, words: str | None) -> None:
        """The desk's own reading, which nobody asked for and nobody can cancel."""
        view = JobView("positions", words or "", cancellable=False)
        self._reading = () if words is None else (view,)
        self._show(replace(self._view, jobs=(*self._jobs, *self._reading)))

    def trading(self, words: str | None, *, paused: bool) -> None:
        self._show(replace(self._view, market=words, market_paused=paused))

    def subscribed(self, state: Literal["live", "lost"]) -> None:
        self._show(replace(self._view, subscription=state))

    def thinking(self, words: str) -> None:
        self._show(replace(self._view, model=words))

    def meshed(self, words: str, at: float | None) -> None:
        """How the mesh was found, and when it was asked; nothing where there is none."""
        self._show(replace(self._view, mesh=words, mesh_at=at if words else None))

    def _show(self, view: StatusView) -> None:
        if view != self._view:
            self._view = view
            self._tell(StatusChanged(view))
