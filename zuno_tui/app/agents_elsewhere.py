"""Where a debate's agents run: on the mesh, where one is set up and all answer, or here."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chain.base.errors import Failure, ZunoError
from chain.base.home import Home
from zuno_tui.app.agent_places import AgentPlaces, Gathering
from zuno_tui.app.feature import features
from zuno_tui.app.session import Session
from zuno_tui.settings.load import TransportChoice


class MeshUnavailableError(ZunoError):
    """The mesh was asked for and cannot be used; the message says why."""

    failure = Failure.NETWORK


@asynccontextmanager
async def gathered_agents(session: Session, choice: TransportChoice) -> AsyncIterator[Gathering]:
    """The agents of one debate: all on the mesh, or all here, with the reason."""
    ways = (feature.remote_agents for feature in features())
    gather = next(filter(None, ways), None)
    if choice is TransportChoice.LOCAL or gather is None:
        yield Gathering(None, AgentPlaces())
        return
    async with gather(session) as found:
        if isinstance(found, Gathering):
            yield found
        elif choice is TransportChoice.MESH:
            why = "No mesh is set up. Make one: zuno mesh init"
            raise MeshUnavailableError(f"{found} Look: zuno mesh" if found else why)
        else:
            yield Gathering(None, AgentPlaces(reason=found))


def agents_note(home: Home) -> str:
    """For the status line before anybody was asked; empty where all agents run here."""
    notes = (feature.agents_note for feature in features() if feature.agents_note is not None)
    return next((note(home) for note in notes), "")
