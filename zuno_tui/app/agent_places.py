"""Where the agents of a debate are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from agents.bus.run import RemoteAgents

LOCAL = "local"


class AgentPlaces(Struct, frozen=True):
    """Where a debate runs, and who speaks from where."""

    transport: str = LOCAL
    """local, axl or nats."""
    peers: Mapping[str, str] = field(default_factory=dict)
    """By role the peer who plays it, by name and key."""
    here: tuple[str, ...] = ()
    """The roles that this process plays beside them."""
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
        here = f"; {', '.join(self.here)} in this process" if self.here else ""
        return f"over {self.transport}: {told}{here}"


class SecondCritic(Struct, frozen=True):
    """Another Critic, of another owner than the first."""

    name: str
    gather: Callable[[], RemoteAgents]
    """The way to it, once the debate is over."""


class Gathering(Struct, frozen=True):
    remote: RemoteAgents | None
    places: AgentPlaces
    second: SecondCritic | None = None
