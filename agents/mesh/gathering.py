"""Who plays the roles of a debate, chosen among those who answer."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from agents.bus.envelope import CLI, Role
from agents.bus.replay import version_words
from agents.mesh.endpoint import MeshEndpoint
from agents.mesh.peers import Peer

GATHER_SECONDS = 4.0


class Gathered(Struct, frozen=True):
    routes: dict[Role, Peer]
    here: tuple[Role, ...]
    """The roles that the peer file names nobody for: they are played in this process."""
    second: Peer | None
    """Another Critic or the like: of the role that was asked for twice, of another owner."""
    missing: tuple[str, ...]
    """For each role that nobody plays, why."""

    @property
    def reason(self) -> str:
        return " ".join(self.missing)


async def gather_roles(
    endpoint: MeshEndpoint,
    roles: Iterable[Role],
    *,
    seconds: float | None = None,
    twice: Role | None = None,
) -> Gathered:
    """Greet everybody who plays one of these roles, and choose among those who answer."""
    played = tuple(role for role in roles if role != CLI)
    wanted = tuple(role for role in played if endpoint.book.of_role(role)) or played
    peers = tuple(peer for role in wanted for peer in endpoint.book.of_role(role))
    met = await endpoint.meet(peers, GATHER_SECONDS if seconds is None else seconds)
    fit = [peer for peer in met if endpoint.versions_of(peer) == endpoint.versions]
    routes: dict[Role, Peer] = {}
    missing = []
    for role in wanted:
        chosen = next((peer for peer in fit if peer.role == role), None)
        if chosen is None:
            missing.append(_why(endpoint, role, met))
        else:
            routes[role] = chosen
    here = tuple(role for role in played if role not in wanted)
    return Gathered(routes, here, _second(fit, routes, twice), tuple(missing))


def _second(fit: list[Peer], routes: dict[Role, Peer], role: Role | None) -> Peer | None:
    first = None if role is None else routes.get(role)
    if first is None:
        return None
    return next((peer for peer in fit if peer.role == role and peer.owner != first.owner), None)


def _why(endpoint: MeshEndpoint, role: Role, met: tuple[Peer, ...]) -> str:
    there = next((peer for peer in met if peer.role == role), None)
    if there is not None:
        theirs = version_words(endpoint.versions_of(there))
        return (
            f"{there.name} runs {theirs}, and this is {version_words(endpoint.versions)}: "
            "bring both to one version."
        )
    if not endpoint.book.of_role(role):
        return f"The peer file names nobody who plays {role}."
    return f"{role} does not answer."
