"""`zuno mesh`: every peer of the peer file, whether it answers, how fast, and what it runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agents.bus.record import running_versions
from agents.bus.replay import version_words
from agents.lp.debate import LP_FLOW
from agents.mesh.joining import joined
from chain.base.locks import locked_if_free
from zuno_tui.app.agents_elsewhere import DESK_LOCK, mesh_folder
from zuno_tui.present.answer import CommandAnswer
from zuno_tui.present.exit_codes import DONE, FAILED, NETWORK

if TYPE_CHECKING:
    from agents.mesh.endpoint import MeshEndpoint, PeerSight
    from agents.mesh.peers import Member, Peer
    from zuno_tui.app.session import Session
    from zuno_tui.present.output import Json

_SECONDS = 3.0
_GREETINGS = 5
_PAUSE = 0.1
_ANSWER_SECONDS = 2.0


async def mesh_status(session: Session) -> CommandAnswer:
    folder = mesh_folder(session.home)
    if not (folder / "member.json").exists():
        return CommandAnswer(
            (
                "No mesh is set up: the agents run in this process.",
                "To run them as programs of their own: zuno mesh init",
            ),
            {"engine": None, "peers": []},
            code=DONE,
        )
    with locked_if_free(folder / DESK_LOCK) as free:
        if not free:
            return CommandAnswer(
                ("A debate of this home is on the mesh just now. Ask again when it is over.",),
                {"engine": None, "peers": [], "busy": True},
                code=FAILED,
            )
        endpoint, me, member = joined(folder, running_versions(LP_FLOW.package))
        async with endpoint:
            others = tuple(peer for peer in endpoint.book.peers if peer != me)
            await _look(endpoint, others)
            return _answer(endpoint, member, tuple(endpoint.sight(peer) for peer in others))


async def _look(endpoint: MeshEndpoint, peers: tuple[Peer, ...]) -> None:
    """Greet everybody some times, so that one lost answer is not taken for nobody there."""
    met = await endpoint.met(peers, _SECONDS)
    for _ in range(_GREETINGS):
        for peer in met:
            endpoint.greet(peer)
        await asyncio.sleep(_PAUSE)
    await endpoint.answered(met, _ANSWER_SECONDS)


def _answer(endpoint: MeshEndpoint, member: Member, sights: tuple[PeerSight, ...]) -> CommandAnswer:
    there = sum(sight.visible for sight in sights)
    lines = [
        f"Over {member.engine}: {there} of {len(sights)} peers answer.",
        *(_line(sight, endpoint.versions) for sight in sights),
    ]
    if endpoint.trouble:
        lines.append(endpoint.trouble)
    dropped = {str(cause): count for cause, count in endpoint.dropped.items()}
    if dropped:
        told = ", ".join(f"{count} {cause}" for cause, count in sorted(dropped.items()))
        lines.append(f"Dropped: {told}.")
    document: Json = {
        "engine": str(member.engine),
        "trouble": endpoint.trouble or None,
        "dropped": {**dropped},
        "versions": {**endpoint.versions},
        "peers": [_document(sight, endpoint.versions) for sight in sights],
    }
    return CommandAnswer(tuple(lines), document, code=DONE if there else NETWORK)


def _line(sight: PeerSight, ours: dict[str, str]) -> str:
    peer = sight.peer
    start = f"  {peer.name:12} {peer.key[:8]}  "
    if not sight.visible:
        return f"{start}does not answer"
    if sight.introduction.versions != ours:
        theirs = version_words(sight.introduction.versions)
        return f"{start}runs {theirs}, this is {version_words(ours)}"
    trip = "unknown" if sight.round_trip is None else f"{sight.round_trip * 1000:.0f} ms"
    model = f", asks {sight.introduction.asks}" if sight.introduction.asks else ""
    return f"{start}round trip {trip}, {sight.lost:.0%} lost{model}"


def _document(sight: PeerSight, ours: dict[str, str]) -> Json:
    return {
        "name": sight.peer.name,
        "role": sight.peer.role,
        "key": sight.peer.key,
        "model": sight.introduction.asks or None,
        "owner": sight.peer.owner or None,
        "visible": sight.visible,
        "roundTripSeconds": sight.round_trip,
        "lost": sight.lost,
        "ageSeconds": sight.age,
        "versions": {**sight.introduction.versions},
        "sameVersion": sight.introduction.versions == ours if sight.visible else None,
    }
