"""Where a debate's agents run: on the mesh, where one is set up and all answer, or here."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from msgspec import Struct, field

from agents.bus.run import RemoteAgents
from chain.base.errors import Failure, ZunoError
from chain.base.home import Home
from zuno_tui.app.session import Session
from zuno_tui.catalog.feature import features
from zuno_tui.settings.load import TransportChoice

LOCAL = "local"


class MeshUnavailableError(ZunoError):
    """The mesh was asked for and cannot be used; the message says why."""

    failure = Failure.NETWORK


class AgentPlaces(Struct, frozen=True):
    """Where a debate runs, and who speaks from where."""

    transport: str = LOCAL
    """local, axl or nats."""
    peers: Mapping[str, str] = field(default_factory=dict)
    """By role the peer who plays it, by name and key."""
    reason: str = ""
    """Why it is not the mesh; empty where it is, or where there is none."""

    @property
    def summary(self) -> str:
        """For the status line: which way, and who by name; empty where there is no mesh."""
        if self.transport != LOCAL:
            return f"{self.transport}: {', '.join(peer.split()[0] for peer in self.peers.values())}"
        return "mesh away" if self.reason else ""

    @property
    def words(self) -> str:
        if self.transport == LOCAL:
            return f"in this process. {self.reason}" if self.reason else "in this process"
        told = ", ".join(
            peer if peer.startswith(role) else f"{role} by {peer}"
            for role, peer in self.peers.items()
        )
        return f"over {self.transport}: {told}"


class SecondCritic(Struct, frozen=True):
    """Another Critic, of another owner than the first."""

    name: str
    gather: Callable[[], RemoteAgents]
    """The way to it, once the debate is over."""


class Gathering(Struct, frozen=True):
    remote: RemoteAgents | None
    places: AgentPlaces
    second: SecondCritic | None = None


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
