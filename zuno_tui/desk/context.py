"""What every part of the desk works with while it is open on one network and wallet."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from chain.base.clean_text import SecretStruct
from zuno_tui.app.last_block import old_block_words
from zuno_tui.desk.events import Event, Said, StatusChanged, ViewAsked
from zuno_tui.present.views import JobView, StatusView, ViewName

if TYPE_CHECKING:
    from chain.contracts.networks import Address
    from chain.positions.overview import Sources
    from chain.rpc.errors import StaleHead
    from zuno_tui.app.session import Session
    from zuno_tui.desk.jobs import Jobs
    from zuno_tui.settings import Flags

Tell = Callable[[Event], None]
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

    def show_block(self, block: int, at: float) -> None:
        """The chain answered, and so there is no trouble with it."""
        view = self._view
        lately = view.seen_at is not None and at - view.seen_at < _COARSE_SECONDS
        if lately and view.block == block and view.trouble is None:
            return
        self._show(replace(self._view, block=block, seen_at=at, trouble=None))

    def show_trouble(self, words: str) -> None:
        self._show(replace(self._view, trouble=words))

    def show_jobs(self, jobs: tuple[JobView, ...]) -> None:
        self._jobs = jobs
        self._show(replace(self._view, jobs=(*self._jobs, *self._reading)))

    def show_reading(self, words: str | None) -> None:
        """The desk's own reading, which nobody asked for and nobody can cancel."""
        view = JobView("positions", words or "", cancellable=False)
        self._reading = () if words is None else (view,)
        self._show(replace(self._view, jobs=(*self._jobs, *self._reading)))

    def show_market(self, words: str | None, *, paused: bool) -> None:
        self._show(replace(self._view, market=words, market_paused=paused))

    def show_subscription(self, state: Literal["live", "lost"]) -> None:
        self._show(replace(self._view, subscription=state))

    def show_model(self, words: str) -> None:
        self._show(replace(self._view, model=words))

    def show_mesh(self, words: str, at: float | None) -> None:
        """How the mesh was found, and when it was asked; nothing where there is none."""
        self._show(replace(self._view, mesh=words, mesh_at=at if words else None))

    def _show(self, view: StatusView) -> None:
        if view != self._view:
            self._view = view
            self._tell(StatusChanged(view))


def _new_request_id() -> str:
    return f"req_{secrets.token_hex(8)}"


class DeskOpening(SecretStruct, frozen=True):
    session: Session
    demo: bool = False
    """Whether the guide speaks and the market can be paused."""
    looks_only: bool = False
    """Whether it is a window: it shows, and does nothing that it is asked to do."""
    deterministic: bool = False
    """Whether the rules speak alone, key or no key."""
    transport: str | None = None
    """Where the agents are wanted for this run; None leaves it to the settings."""
    flags: Flags | None = None
    """What the monitor watches by, beside the settings; None for this network and wallet alone."""
    clock: Callable[[], float] = time.time
    new_request_id: Callable[[], str] = _new_request_id
    # It may hold keys, and so is part of no repr.
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def by_flags(self) -> dict[str, str]:
        """By its place what of the settings this run was told otherwise."""
        told = {"debate.transport": self.transport} if self.transport is not None else {}
        return {**told, "debate.deterministic": "true"} if self.deterministic else told


_STILL_WAITING = 2.0


class DeskContext(Struct, frozen=True):
    opening: DeskOpening
    session: Session
    wallet: Address
    sources: Sources
    tell: Tell
    jobs: Jobs
    status: StatusBoard

    def bring(self, view: ViewName, asked_at: float) -> None:
        """Bring what was asked for to the front, for whoever is still waiting for it.

        Later they may be typing, and a pane that jumps to the front would take the keys.
        """
        if self.clock() - asked_at < _STILL_WAITING:
            self.tell(ViewAsked(view))

    @property
    def display_sources(self) -> Sources:
        """For what is only shown: of the last block where there is no new one, which is said."""
        return self.sources.at_last_block(self.tell_stale)

    def tell_stale(self, error: StaleHead) -> None:
        self.tell(Said(old_block_words(error), "warn"))

    @property
    def clock(self) -> Callable[[], float]:
        return self.opening.clock
