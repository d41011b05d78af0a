"""The mesh, as the rest of the app finds it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from zuno_tui.app.feature import Feature

if TYPE_CHECKING:
    from chain.base.home import Home
    from zuno_tui.app.agent_places import Gathering
    from zuno_tui.app.session import Session


def _remote_agents(session: Session) -> AbstractAsyncContextManager[Gathering | str]:
    from zuno_tui.features.mesh.remote_agents import on_the_mesh

    return on_the_mesh(session)


def _agents_note(home: Home) -> str:
    from zuno_tui.features.mesh.remote_agents import mesh_not_asked

    return mesh_not_asked(home)


FEATURE = Feature(name="mesh", remote_agents=_remote_agents, agents_note=_agents_note)
